"""What the store keeps in memory is bounded, and nothing is lost by that."""

from contextlib import closing
from pathlib import Path

import pytest

from sidecar.adapters.sqlite_store.rows import entry_row
from sidecar.adapters.sqlite_store.schema import connect, migrate
from sidecar.adapters.sqlite_store.tables import KNOWN_MAX, Tables
from sidecar.testing import PlainCodec
from tests.edges import heap
from tests.edges.stores import FLUSH_S, entry, numbers, rows, sqlite_store
from tests.edges.test_sqlite_store import NEVER_S

HEAP_BYTES_MAX = 4 * 1024 * 1024
"""Of which SQLite's pages may take half."""


@pytest.mark.skipif(not heap.is_known(), reason="the C library is not glibc")
def test_commits_of_ever_other_sizes_leave_no_statements_in_memory(tmp_path: Path) -> None:
    sizes = range(2, 130)
    with sqlite_store(tmp_path / "store.db", commit_interval_s=NEVER_S) as store:
        store.append(entry("run", 1))
        assert store.flush(FLUSH_S)
        before = heap.used_bytes()
        last = 1
        for size in sizes:
            for number in range(last + 1, last + 1 + size):
                store.append(entry("run", number))
            last += size
            assert store.flush(FLUSH_S)
        grown = heap.used_bytes() - before
    assert grown < HEAP_BYTES_MAX


def test_more_sessions_than_are_remembered_keep_their_journals(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with sqlite_store(path, sessions_max=2 * KNOWN_MAX) as store:
        for number in (1, 2):
            for session in range(KNOWN_MAX + 10):
                store.append(entry(f"{session}", number))
        assert store.flush(FLUSH_S)
        assert numbers(store, "0") == numbers(store, f"{KNOWN_MAX + 9}") == [1, 2]
        assert rows(path, "SELECT count(*) FROM session") == [(KNOWN_MAX + 10,)]


def test_sessions_that_are_forgotten_keep_their_place_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(connect(str(path))) as connection:
        migrate(connection)
        tables = Tables(connection, known_max=2)
        for number in (1, 2):
            for name in "abc":
                tables.write([entry_row(entry(name, number), PlainCodec())], [], [], now_s=0)
                assert len(tables._known) <= 2
        found = connection.execute(
            "SELECT session_id, number FROM journal JOIN session ON key = session ORDER BY 1, 2"
        )
        assert found.fetchall() == [(name, number) for name in "abc" for number in (1, 2)]
