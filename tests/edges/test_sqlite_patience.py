"""What the store on disk holds on to: what it has not written yet, and a -wal that was deleted."""

import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sidecar.adapters.sqlite_store.tables import Tables
from sidecar.adapters.sqlite_store.writer import RETRY_MAX_S
from sidecar.testing import FakeClock, Losses
from tests.edges.stores import FLUSH_S, entry, numbers, rows, sqlite_store


def test_a_store_that_closes_goes_on_trying_a_file_that_another_process_is_writing(
    tmp_path: Path,
) -> None:
    path, losses = tmp_path / "store.db", Losses()
    with (
        sqlite_store(path, lost=losses, journal_queue_max=1) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
        ThreadPoolExecutor(1) as beside,
    ):
        other.execute("BEGIN IMMEDIATE")
        store.append(entry("run", 1))
        closed = beside.submit(store.close, FLUSH_S)
        while ("journal", "closed") not in losses.counts:
            store.append(entry("late", 1))
        for _ in range(2):
            assert not store.flush(FLUSH_S)
        other.execute("ROLLBACK")
        assert closed.result(FLUSH_S) == 0
    assert rows(path, "SELECT number FROM journal") == [(1,)]


def test_a_store_that_closes_is_done_when_its_time_is_over(tmp_path: Path) -> None:
    path, losses = tmp_path / "store.db", Losses()
    with (
        sqlite_store(path, lost=losses) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        store.append(entry("run", 1))
        assert store.close(0.01) == 1
        assert losses.counts == {("journal", "closing"): 1}


def test_a_deleted_wal_file_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with sqlite_store(path) as store:
        for number in (1, 2):
            store.append(entry("run", number))
            store.flush(FLUSH_S)
        path.with_name("store.db-wal").unlink()
        store.append(entry("run", 3))
        store.flush(FLUSH_S)  # which meets the fault, or what was written after it
        assert store.flush(FLUSH_S)
        assert "-wal" in store.status().last_fault
        assert numbers(store, "run") == [1, 2, 3]
        # As it is found by who comes after a SIGKILL.
        killed = tmp_path / "killed"
        killed.mkdir()
        for part in ("store.db", "store.db-wal"):
            shutil.copy(tmp_path / part, killed)
    assert rows(killed / "store.db", "SELECT number FROM journal") == [(1,), (2,), (3,)]


def test_a_deleted_wal_file_that_somebody_reads_loses_nothing(tmp_path: Path) -> None:
    path, clock = tmp_path / "store.db", FakeClock()
    with sqlite_store(path, clock=clock) as store:
        store.append(entry("run", 1))
        assert store.flush(FLUSH_S)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM journal").fetchall()
            store.append(entry("run", 2))
            assert store.flush(FLUSH_S)
            path.with_name("store.db-wal").unlink()
            for number in (3, 4):
                store.append(entry("run", number))
                assert store.flush(FLUSH_S)
            assert numbers(store, "run") == [1, 2, 3, 4]
            assert store.status().faults == 0
        clock.advance(RETRY_MAX_S)
        store.append(entry("run", 5))
        store.flush(FLUSH_S)
        assert store.flush(FLUSH_S)
        assert (store.status().state, store.status().faults) == ("ok", 1)
        assert numbers(store, "run") == [1, 2, 3, 4, 5]
    assert len(rows(path, "SELECT number FROM journal")) == 5


def test_a_deleted_wal_file_of_a_full_disk_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL

    def write(*_: Any, **__: Any) -> None:
        raise full

    path, clock = tmp_path / "store.db", FakeClock()
    with sqlite_store(path, clock=clock) as store:
        store.append(entry("run", 1))
        assert store.flush(FLUSH_S)
        path.with_name("store.db-wal").unlink()
        with monkeypatch.context() as patched:
            patched.setattr(Tables, "write", write)
            patched.setattr(Tables, "checkpoint_whole", write)
            store.append(entry("run", 2))
            assert not store.flush(FLUSH_S)
        clock.advance(RETRY_MAX_S)
        store.flush(FLUSH_S)
        assert store.flush(FLUSH_S)
        assert numbers(store, "run") == [1, 2]
    assert rows(path, "SELECT number FROM journal") == [(1,), (2,)]
