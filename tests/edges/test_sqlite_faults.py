"""What the store on disk does when its file is damaged, foreign, in use or out of reach."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sidecar.adapters.sqlite_store import SqliteStore
from sidecar.adapters.sqlite_store.file import SET_ASIDE_MAX
from sidecar.adapters.sqlite_store.schema import (
    MIGRATIONS,
    NewerSchemaError,
    SchemaError,
    connect,
    migrate,
)
from sidecar.testing import FakeClock, Losses
from tests.edges.stores import FLUSH_S, GatedCodec, entry, numbers, rows, saved, sqlite_store

AT = "20260101T000000Z"
"""FakeClock's start in the names of files that are set aside."""


def fill(path: Path, *, entries: int = 200) -> None:
    """A sound file with some pages, and nothing left in its -wal."""
    with sqlite_store(path) as store:
        for number in range(1, entries + 1):
            store.append(entry("run", number, text="x" * 500))
        store.save(saved("run", number=entries))


def overwrite_pages(path: Path, *, first: int) -> None:
    """Garbage in place of the pages from this one on; page 1 holds header and schema."""
    ((page_bytes,),) = rows(path, "PRAGMA page_size")
    with path.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek((first - 1) * page_bytes)
        file.write(b"\xa5" * (size - file.tell()))


def expect_replaced(path: Path, store: SqliteStore, losses: Losses, *, reason: str) -> Path:
    """The file was set aside, counted, and another one works."""
    assert losses.wait_for("store", reason, count=1)
    store.append(entry("new", 1))
    assert store.flush(FLUSH_S)
    assert numbers(store, "new") == [1]
    assert losses.counts["store", reason] == 1
    assert store.status().state == "ok"
    aside = path.with_name(f"{path.name}.{reason}-{AT}")
    assert aside.exists()
    return aside


@pytest.mark.parametrize(
    "content", [b"not a database at all", b"SQLite format 3\x00" + b"z" * 5000]
)
def test_a_file_that_is_no_database_is_set_aside(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path, losses = tmp_path / "store.db", Losses()
    path.write_bytes(content)
    path.with_name("store.db-wal").write_bytes(b"wal")
    with sqlite_store(path, lost=losses) as store:
        aside = expect_replaced(path, store, losses, reason="corrupt")
        assert losses.counts == {("store", "corrupt"): 1}
    assert aside.read_bytes() == content
    (line,) = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
    assert str(path) in line and str(aside) in line


def test_malformed_pages_found_by_a_reader_set_the_file_aside(tmp_path: Path) -> None:
    path, losses = tmp_path / "store.db", Losses()
    fill(path)
    with sqlite_store(path, lost=losses) as store:
        ((root,),) = rows(path, "SELECT rootpage FROM sqlite_master WHERE name = 'journal'")
        overwrite_pages(path, first=root)
        assert numbers(store, "run") == []
        expect_replaced(path, store, losses, reason="corrupt")
        assert losses.counts == {("store", "corrupt"): 1}


def test_malformed_pages_found_by_the_writer_set_the_file_aside_and_lose_no_entry(
    tmp_path: Path,
) -> None:
    path, losses = tmp_path / "store.db", Losses()
    fill(path)
    with sqlite_store(path, lost=losses) as store:
        overwrite_pages(path, first=2)
        store.append(entry("run", 201))
        store.save(saved("run", number=201))
        expect_replaced(path, store, losses, reason="corrupt")
        assert numbers(store, "run") == [201]
        assert store.load("run") == saved("run", number=201)
        assert losses.counts == {("store", "corrupt"): 1}


def test_a_damaged_file_takes_its_wal_along(tmp_path: Path) -> None:
    path, losses = tmp_path / "store.db", Losses()
    fill(path)
    with (
        sqlite_store(path, lost=losses) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        # As long as somebody else reads, SQLite cannot remove the -wal when it closes the file.
        other.execute("BEGIN")
        other.execute("SELECT * FROM sqlite_master").fetchall()
        overwrite_pages(path, first=2)
        store.append(entry("run", 201))
        aside = expect_replaced(path, store, losses, reason="corrupt")
        assert {f"{aside.name}-wal", f"{aside.name}-shm"} <= {
            part.name for part in tmp_path.iterdir()
        }


def test_only_the_newest_damaged_files_are_kept(tmp_path: Path) -> None:
    path, clock = tmp_path / "store.db", FakeClock()
    for number in range(SET_ASIDE_MAX + 2):
        path.write_bytes(f"damaged {number}".encode())
        losses = Losses()
        with sqlite_store(path, lost=losses, clock=clock):
            assert losses.wait_for("store", "corrupt", count=1)
        if number:
            clock.advance(1)
    kept = sorted(part for part in tmp_path.glob("*.corrupt-*") if part.name[-4] != "-")
    assert [part.read_bytes() for part in kept] == [
        f"damaged {number}".encode() for number in range(2, SET_ASIDE_MAX + 2)
    ]


def test_a_file_of_a_later_version_is_set_aside_whole(tmp_path: Path) -> None:
    path, losses = tmp_path / "store.db", Losses()
    fill(path, entries=3)
    rows(path, f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with sqlite_store(path, lost=losses) as store:
        assert list(store.read("run")) == []
        aside = expect_replaced(path, store, losses, reason="newer")
    assert rows(aside, "SELECT number FROM journal") == [(1,), (2,), (3,)]


@pytest.mark.parametrize("table", ["journal", "note"])
@pytest.mark.parametrize("version", [0, len(MIGRATIONS)])
def test_a_database_of_somebody_else_is_set_aside_whole(
    tmp_path: Path, table: str, version: int
) -> None:
    path, losses = tmp_path / "store.db", Losses()
    rows(path, f"CREATE TABLE {table} (theirs)")
    rows(path, f"PRAGMA user_version = {version}")
    with sqlite_store(path, lost=losses) as store:
        aside = expect_replaced(path, store, losses, reason="foreign")
    assert rows(aside, "SELECT name FROM sqlite_master") == [(table,)]


def test_a_database_without_tables_is_brought_up(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    rows(path, "VACUUM")
    assert rows(path, "PRAGMA user_version") == [(0,)]
    with sqlite_store(path) as store:
        store.append(entry("run", 1))
        assert numbers(store, "run") == [1]
    assert rows(path, "PRAGMA user_version") == [(len(MIGRATIONS),)]


def test_each_missing_step_is_applied_once_and_keeps_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    fill(path, entries=2)
    later = (*MIGRATIONS, ("ALTER TABLE session ADD COLUMN note TEXT DEFAULT 'new'",))
    for _ in range(2):
        with closing(connect(str(path))) as connection:
            migrate(connection, later)
    assert rows(path, "PRAGMA user_version") == [(len(later),)]
    assert rows(path, "SELECT session_id, note FROM session") == [("run", "new")]
    assert rows(path, "SELECT number FROM journal") == [(1,), (2,)]


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    fill(path, entries=2)
    before = rows(path, "SELECT name, sql FROM sqlite_master")
    broken = (*MIGRATIONS, ("CREATE TABLE extra (x)", "ALTER TABLE nowhere ADD COLUMN y"))
    with closing(connect(str(path))) as connection:
        with pytest.raises(SchemaError, match="nowhere"):
            migrate(connection, broken)
        assert not connection.in_transaction
    assert rows(path, "SELECT name, sql FROM sqlite_master") == before
    with closing(connect(str(path))) as connection:
        migrate(connection)
        with pytest.raises(NewerSchemaError):
            migrate(connection, ())


def test_an_unreachable_directory_is_named_and_nothing_raises(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    losses = Losses()
    (tmp_path / "state").write_text("a file where a directory should be")
    path = tmp_path / "state" / "store.db"
    with sqlite_store(path, lost=losses) as store:
        assert store.status().state == "permanent"
        assert str(tmp_path / "state") in store.status().detail
        store.append(entry("run", 1))
        store.save(saved("run"))
        assert not store.flush(FLUSH_S)
        assert (list(store.read("run")), store.load("run")) == ([], None)
        assert losses.counts == {("store", "read_early"): 2, ("store", "unreadable"): 2}
        assert store.close(FLUSH_S) == 2
    assert losses.counts["journal", "closing"] == losses.counts["snapshot", "closing"] == 1
    assert len([one for one in caplog.records if one.levelname == "WARNING"]) == 1


def test_what_waited_is_written_when_the_directory_can_be_reached(tmp_path: Path) -> None:
    losses, clock = Losses(), FakeClock()
    blocker = tmp_path / "state"
    blocker.write_text("a file where a directory should be")
    with sqlite_store(blocker / "store.db", lost=losses, clock=clock, journal_queue_max=3) as store:
        since_s = store.status().since_s
        clock.advance(5)
        for number in range(1, 5):
            store.append(entry("run", number))
        store.save(saved("run"))
        assert not store.flush(FLUSH_S)
        blocker.unlink()
        (blocker / "store.db").mkdir(parents=True)
        detail = store.status().detail
        assert not store.flush(FLUSH_S)
        assert (store.status().state, store.status().since_s) == ("permanent", since_s)
        assert store.status().detail != detail
        (blocker / "store.db").rmdir()
        assert store.flush(FLUSH_S)
        assert (store.status().state, store.status().since_s) == ("ok", since_s + 5)
        assert numbers(store, "run") == [1, 2, 3]
        assert store.load("run") == saved("run")
        assert losses.counts == {("journal", "queue_full"): 1}


def test_recovery_needs_nobody(tmp_path: Path) -> None:
    blocker, codec = tmp_path / "state", GatedCodec()
    blocker.write_text("a file where a directory should be")
    with sqlite_store(blocker / "store.db", codec=codec) as store:
        store.append(entry("run", 1))
        assert store.status().state == "permanent"
        blocker.unlink()
        assert codec.used.wait(FLUSH_S)
        assert store.flush(FLUSH_S)
        assert numbers(store, "run") == [1]


def test_a_file_that_another_process_is_writing_is_tried_again(tmp_path: Path) -> None:
    path, losses = tmp_path / "store.db", Losses()
    with (
        sqlite_store(path, lost=losses) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        store.append(entry("run", 1))
        assert store.flush(FLUSH_S)
        other.execute("BEGIN IMMEDIATE")
        store.append(entry("run", 2))
        assert not store.flush(FLUSH_S)
        assert store.status().state == "recoverable"
        assert "locked" in store.status().detail
        assert numbers(store, "run") == [1]
        assert losses.counts == {("store", "read_early"): 1}
        other.execute("ROLLBACK")
        assert store.flush(FLUSH_S)
        assert numbers(store, "run") == [1, 2]


def test_a_fault_that_is_over_is_remembered(tmp_path: Path) -> None:
    path, losses = tmp_path / "store.db", Losses()
    path.write_bytes(b"not a database at all")
    with sqlite_store(path, lost=losses) as store:
        expect_replaced(path, store, losses, reason="corrupt")
        assert (store.status().faults, store.status().last_fault) == (1, "file is not a database")


def test_a_damaged_snapshot_that_cannot_be_moved_yet_is_counted_once(tmp_path: Path) -> None:
    path, losses = tmp_path / "store.db", Losses()
    with (
        sqlite_store(path, lost=losses) as store,
        closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        store.save(saved("run"))
        assert store.flush(FLUSH_S)
        other.execute("UPDATE snapshot SET version = 0")
        other.execute("BEGIN IMMEDIATE")
        assert store.load("run") is None
        assert not store.flush(FLUSH_S)
        assert store.load("run") is None
        assert losses.counts["snapshot", "corrupt"] == 1
        other.execute("ROLLBACK")
        assert store.flush(FLUSH_S)
        assert rows(path, "SELECT session_id FROM quarantine") == [("run",)]


def test_a_second_store_on_a_file_waits_for_the_first(tmp_path: Path) -> None:
    path, losses = tmp_path / "store.db", Losses()
    with sqlite_store(path) as first:
        first.append(entry("run", 1))
        with sqlite_store(path, lost=losses) as second:
            assert second.status().state == "recoverable"
            assert second.status().detail == f"in use by process {os.getpid()}"
            second.append(entry("run", 2))
            assert not second.flush(FLUSH_S)
            first.append(entry("other", 1))
            assert first.close(FLUSH_S) == 0
            assert second.flush(FLUSH_S)
            assert numbers(second, "run") == [1, 2]
            assert numbers(second, "other") == [1]


def test_a_second_store_reads_what_the_first_keeps_and_counts_what_it_replaces(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, losses = tmp_path / "store.db", Losses()
    with sqlite_store(path) as first:
        for number in (1, 2):
            first.append(entry("run", number))
        first.save(saved("run", number=2))
        assert first.flush(FLUSH_S)
        with sqlite_store(path, lost=losses) as second:
            assert numbers(second, "run") == [1, 2]
            assert second.load("run") == saved("run", number=2)
            second.append(entry("run", 3, text="second"))
            first.append(entry("run", 3))
            first.append(entry("run", 4))
            assert first.close(FLUSH_S) == 0
            assert second.flush(FLUSH_S)
            assert second.read("run", after=2) == [entry("run", 3, text="second")]
            assert losses.counts == {("journal", "replaced"): 2}
    assert "replaced 2 journal entries" in caplog.text


def test_a_damaged_file_is_left_to_the_store_that_has_it(tmp_path: Path) -> None:
    path, losses = tmp_path / "store.db", Losses()
    fill(path)
    with sqlite_store(path, lost=Losses()), sqlite_store(path, lost=losses) as second:
        overwrite_pages(path, first=1)
        second.append(entry("run", 1))
        assert not second.flush(FLUSH_S)
        assert second.status().detail.startswith("in use")
        assert losses.counts == {}
        assert list(tmp_path.glob("*.corrupt-*")) == []


@pytest.mark.parametrize(
    "removed",
    [
        lambda path: [part.unlink() for part in path.parent.iterdir()],
        lambda path: path.unlink(),
        lambda path: path.parent.rename(path.parent.with_name("elsewhere")),
    ],
    ids=["all files", "the database", "the directory"],
)
def test_a_file_that_is_removed_is_made_anew(
    tmp_path: Path, removed: Callable[[Path], object]
) -> None:
    path, losses = tmp_path / "state" / "store.db", Losses()
    with sqlite_store(path, lost=losses) as store:
        store.append(entry("run", 1))
        assert store.flush(FLUSH_S)
        removed(path)
        store.append(entry("run", 2))
        assert losses.wait_for("store", "gone", count=1)
        assert store.flush(FLUSH_S)
        assert numbers(store, "run") == [2]
        assert losses.counts == {("store", "gone"): 1}
    with sqlite_store(path) as store:
        assert numbers(store, "run") == [2]


def test_a_reader_does_not_wait_for_what_other_sessions_have_to_write(tmp_path: Path) -> None:
    codec = GatedCodec()
    with sqlite_store(tmp_path / "store.db", codec=codec, read_wait_s=FLUSH_S) as store:
        store.append(entry("old", 1))
        store.save(saved("old"))
        assert store.flush(FLUSH_S)
        codec.gate.clear()
        store.append(entry("busy", 1))
        # With the writer held, whoever waited for it would find that it has read too early.
        assert numbers(store, "old") == [1]
        assert store.load("old") == saved("old")
        assert store.load("new") is None
        codec.gate.set()
        assert numbers(store, "busy") == [1]
