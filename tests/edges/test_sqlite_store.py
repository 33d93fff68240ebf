"""What is particular to the store on disk: its pace, its bounds, its end."""

import threading
from pathlib import Path
from typing import Any

import pytest

from sidecar.adapters.sqlite_store.queue import COMMIT_ITEMS
from sidecar.adapters.sqlite_store.rows import SNAPSHOT_VERSION
from sidecar.adapters.sqlite_store.tables import QUARANTINE_MAX
from sidecar.adapters.sqlite_store.writer import CHECKPOINT_S, ENTRIES_AT_ONCE
from sidecar.core.turn import Turn
from sidecar.ports import Entry
from sidecar.testing import FakeClock, Losses, PlainCodec
from tests.edges.stores import FLUSH_S, GatedCodec, entry, numbers, rows, saved, sqlite_store

NEVER_S = 3_600.0


def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "state" / "store.db"
    with sqlite_store(path) as store:
        for number in (1, 2):
            store.append(entry("run", number))
        store.save(saved("run", number=2, turns=2))
    lost = Losses()
    with sqlite_store(path, lost=lost) as store:
        assert numbers(store, "run") == [1, 2]
        assert store.load("run") == saved("run", number=2, turns=2)
        store.append(entry("run", 2, text="again"))
        assert store.read("run") == [entry("run", 1), entry("run", 2, text="again")]
        assert store.load("run") is None
        assert lost.counts == {("journal", "replaced"): 1}
    assert rows(path, "SELECT session_id, number FROM quarantine") == [("run", 2)]


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    path = tmp_path / "state" / "store.db"
    with sqlite_store(path) as store:
        store.append(entry("run", 1))
        assert store.flush(FLUSH_S)
        modes = {part.name: part.stat().st_mode & 0o777 for part in path.parent.iterdir()}
        assert modes == dict.fromkeys(
            ("store.db", "store.db-wal", "store.db-shm", "store.db.lock"), 0o600
        )
        assert path.parent.stat().st_mode & 0o777 == 0o700


def test_an_entry_is_committed_without_being_asked_for(tmp_path: Path) -> None:
    codec = GatedCodec()
    with sqlite_store(tmp_path / "store.db", codec=codec) as store:
        store.append(entry("run", 1))
        assert codec.used.wait(FLUSH_S)


def test_a_full_commit_does_not_wait_for_the_interval(tmp_path: Path) -> None:
    codec, path = GatedCodec(), tmp_path / "store.db"
    with sqlite_store(path, codec=codec, commit_interval_s=NEVER_S) as store:
        for number in range(1, COMMIT_ITEMS):
            store.append(entry("run", number))
        assert store.pending() == COMMIT_ITEMS - 1
        assert rows(path, "SELECT count(*) FROM journal") == [(0,)]
        assert not codec.used.is_set()
        store.append(entry("run", COMMIT_ITEMS))
        assert codec.used.wait(FLUSH_S)


def test_the_queue_takes_its_bound_and_counts_each_entry_more(tmp_path: Path) -> None:
    lost = Losses()
    path = tmp_path / "store.db"
    with sqlite_store(path, lost=lost, commit_interval_s=NEVER_S, journal_queue_max=10) as store:
        for number in range(1, 11):
            store.append(entry("run", number))
        assert lost.counts == {}
        store.append(entry("run", 11))
        assert lost.counts == {("journal", "queue_full"): 1}
        assert store.flush(FLUSH_S)
        assert numbers(store, "run") == list(range(1, 11))
        store.append(entry("run", 12))
        assert numbers(store, "run")[-1] == 12


def test_what_is_being_written_counts_towards_the_bound(tmp_path: Path) -> None:
    lost, codec = Losses(), GatedCodec()
    with sqlite_store(tmp_path / "store.db", lost=lost, codec=codec, journal_queue_max=3) as store:
        codec.gate.clear()
        store.append(entry("run", 1))
        assert codec.used.wait(FLUSH_S)
        for number in (2, 3, 4):
            store.append(entry("run", number))
        assert lost.counts == {("journal", "queue_full"): 1}
        assert store.pending() == 3
        codec.gate.set()
        assert numbers(store, "run") == [1, 2, 3]


def test_snapshots_that_wait_are_bounded_by_session(tmp_path: Path) -> None:
    lost = Losses()
    with sqlite_store(
        tmp_path / "store.db", lost=lost, commit_interval_s=NEVER_S, sessions_max=2
    ) as store:
        for number in range(1, 5):
            store.save(saved("first", number=number))
            store.save(saved("second", number=number))
        assert store.pending() == 2
        store.save(saved("third"))
        assert lost.counts == {("snapshot", "queue_full"): 1}
        assert store.load("first") == saved("first", number=4)


def test_a_burst_beyond_one_transaction_arrives_whole(tmp_path: Path) -> None:
    count = 2 * ENTRIES_AT_ONCE + 7
    with sqlite_store(tmp_path / "store.db") as store:
        for number in range(1, count + 1):
            store.append(entry("run", number))
        store.save(saved("run", number=count))
        assert store.flush(FLUSH_S)
        assert store.pending() == 0
        assert rows(tmp_path / "store.db", "SELECT count(*), max(number) FROM journal") == [
            (count, count)
        ]
        assert store.load("run") == saved("run", number=count)


def test_several_threads_may_append(tmp_path: Path) -> None:
    with sqlite_store(tmp_path / "store.db") as store:

        def work(session_id: str) -> None:
            for number in range(1, 301):
                store.append(entry(session_id, number))

        threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name in "abcd":
            assert numbers(store, name) == list(range(1, 301))


def test_a_reader_waits_for_the_writer_only_so_long(tmp_path: Path) -> None:
    lost, codec = Losses(), GatedCodec()
    with sqlite_store(tmp_path / "store.db", lost=lost, codec=codec, read_wait_s=0.01) as store:
        store.append(entry("run", 1))
        assert store.flush(FLUSH_S)
        codec.gate.clear()
        store.append(entry("run", 2))
        assert numbers(store, "run") == [1]
        assert lost.counts == {("store", "read_early"): 1}
        assert not store.flush(0.01)
        codec.gate.set()
        assert store.flush(FLUSH_S)
        assert numbers(store, "run") == [1, 2]


def test_closing_writes_what_is_pending_and_refuses_the_rest(tmp_path: Path) -> None:
    lost = Losses()
    path = tmp_path / "store.db"
    with sqlite_store(path, lost=lost, commit_interval_s=NEVER_S) as store:
        store.append(entry("run", 1))
        store.save(saved("run"))
        assert store.close(FLUSH_S) == 0
        assert lost.counts == {}
        store.append(entry("run", 2))
        store.save(saved("run", number=2))
        assert lost.counts == {("journal", "closed"): 1, ("snapshot", "closed"): 1}
        assert (store.status().state, store.status().detail) == ("permanent", "closed")
        assert store.close(FLUSH_S) == 0
    with sqlite_store(path) as store:
        assert numbers(store, "run") == [1]
        assert store.load("run") == saved("run")


def test_closing_ends_in_time_and_says_what_it_lost(tmp_path: Path) -> None:
    lost, codec = Losses(), GatedCodec()
    codec.gate.clear()
    with sqlite_store(tmp_path / "store.db", lost=lost, codec=codec) as store:
        store.append(entry("run", 1))
        assert codec.used.wait(FLUSH_S)
        store.append(entry("run", 2))
        store.save(saved("run", number=2))
        assert store.close(0.01) == 3
        assert lost.counts == {("journal", "closing"): 2, ("snapshot", "closing"): 1}
        assert store.pending() == 0
        codec.gate.set()


def test_a_new_store_waits_for_its_file_only_so_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StoppedClock(FakeClock):
        def now_s(self) -> float:
            if threading.current_thread() is not threading.main_thread():
                assert gate.wait(FLUSH_S)
            return super().now_s()

    gate = threading.Event()
    monkeypatch.setattr("sidecar.adapters.sqlite_store.store.OPEN_WAIT_S", 0.01)
    with sqlite_store(tmp_path / "store.db", clock=StoppedClock()) as store:
        assert store.status().detail == "not open yet"
        gate.set()
        store.append(entry("run", 1))
        assert store.flush(FLUSH_S)
        assert store.status().state == "ok"


class PickyCodec(PlainCodec):
    """Refuses one number and stumbles over two."""

    def encode(self, entry: Entry) -> tuple[str, bytes, bytes]:
        """As the plain codec."""
        match entry.number:
            case 13:
                raise ValueError("13")
            case 666:
                raise RuntimeError("666")
            case 667:
                return None, b"", b""  # type: ignore[return-value]  # that is the fault
        return super().encode(entry)


def test_an_entry_that_cannot_be_written_is_counted_and_no_other_is_lost(tmp_path: Path) -> None:
    lost = Losses()
    with sqlite_store(
        tmp_path / "store.db", lost=lost, codec=PickyCodec(), commit_interval_s=NEVER_S
    ) as store:
        for number in (12, 13, 14):
            store.append(entry("run", number))
        assert not store.flush(FLUSH_S)
        assert lost.counts == {("journal", "encoding"): 1}
        assert numbers(store, "run") == [12, 14]
        assert store.flush(FLUSH_S)


@pytest.mark.parametrize(
    "unwritable", [entry("run", 2**63), entry("run", -1), entry("lone \ud800 surrogate", 1)]
)
def test_what_sqlite_cannot_hold_is_counted(tmp_path: Path, unwritable: Entry) -> None:
    lost = Losses()
    with sqlite_store(tmp_path / "store.db", lost=lost) as store:
        store.append(unwritable)
        store.save(saved(unwritable.session_id, number=unwritable.number))
        store.append(entry("another", 1))
        assert not store.flush(FLUSH_S)
        assert lost.counts == {("journal", "encoding"): 1, ("snapshot", "encoding"): 1}
        assert numbers(store, "another") == [1]
        assert list(store.read("lone \ud800 surrogate")) == []
        assert store.load("lone \ud800 surrogate") is None


@pytest.mark.parametrize("number", [666, 667])
def test_a_fault_of_the_program_costs_one_batch_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    lost = Losses()
    with sqlite_store(
        tmp_path / "store.db", lost=lost, codec=PickyCodec(), commit_interval_s=NEVER_S
    ) as store:
        store.append(entry("run", 665))
        store.append(entry("run", number))
        assert not store.flush(FLUSH_S)
        assert lost.counts == {("journal", "fault"): 2}
        assert [(line.levelname, line.exc_info is None) for line in caplog.records][:1] == [
            ("ERROR", False)
        ]
        store.append(entry("run", 668))
        assert store.flush(FLUSH_S)
        assert numbers(store, "run") == [668]


@pytest.mark.parametrize(
    "damage",
    [
        "line = '{'",
        "line = CAST(x'ff' AS TEXT)",
        "line = 7",
        "kind = CAST(x'ff' AS TEXT)",
        "kind = x'ff'",
        "time_s = 'text'",
    ],
)
def test_an_entry_that_cannot_be_read_is_counted_and_left_out(tmp_path: Path, damage: str) -> None:
    lost = Losses()
    path = tmp_path / "store.db"
    with sqlite_store(path, lost=lost) as store:
        for number in (1, 2, 3):
            store.append(entry("run", number))
        assert store.flush(FLUSH_S)
        rows(path, f"UPDATE journal SET {damage} WHERE number = 2")  # noqa: S608
        assert numbers(store, "run") == [1, 3]
        assert lost.counts == {("journal", "undecodable"): 1}


@pytest.mark.parametrize(
    "damage",
    [
        "body = substr(body, 1, 10)",
        "body = 'text'",
        "checksum = zeroblob(32)",
        "checksum = 'text'",
        "version = 2",
        "version = 'one'",
        "number = number + 1",
        "closed = 1",
        "active_s = active_s + 1",
        "active_s = 'text'",
    ],
)
def test_a_damaged_snapshot_is_put_into_quarantine(tmp_path: Path, damage: str) -> None:
    lost = Losses()
    path = tmp_path / "store.db"
    with sqlite_store(path, lost=lost) as store:
        store.save(saved("run", text="x" * 20))
        assert store.flush(FLUSH_S)
        rows(path, f"UPDATE snapshot SET {damage}")  # noqa: S608
        before = rows(path, "SELECT number, closed, version, checksum, body FROM snapshot")
        assert store.load("run") is None
        assert lost.counts == {("snapshot", "corrupt"): 1}
        assert store.flush(FLUSH_S)
        assert rows(path, "SELECT * FROM snapshot") == []
        assert before == rows(
            path, "SELECT number, closed, version, checksum, body FROM quarantine"
        )


def test_a_snapshot_of_a_later_program_is_put_into_quarantine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = Losses()
    with sqlite_store(tmp_path / "store.db", lost=lost) as store:
        with monkeypatch.context() as later:
            later.setattr(
                "sidecar.adapters.sqlite_store.rows.SNAPSHOT_VERSION", SNAPSHOT_VERSION + 1
            )
            store.save(saved("run"))
            assert store.flush(FLUSH_S)
        assert store.load("run") is None
        assert lost.counts == {("snapshot", "corrupt"): 1}


def test_the_quarantine_keeps_the_newest(tmp_path: Path) -> None:
    lost = Losses()
    path = tmp_path / "store.db"
    with sqlite_store(path, lost=lost) as store:
        for number in range(QUARANTINE_MAX + 2):
            store.save(saved(f"run-{number}"))
        assert store.flush(FLUSH_S)
        rows(path, "UPDATE snapshot SET version = 0")
        for number in range(QUARANTINE_MAX + 2):
            assert store.load(f"run-{number}") is None
        assert store.flush(FLUSH_S)
        kept = rows(path, "SELECT session_id FROM quarantine ORDER BY place")
        assert kept == [(f"run-{number}",) for number in range(2, QUARANTINE_MAX + 2)]


def test_a_checkpoint_is_made_when_its_time_has_come(tmp_path: Path) -> None:
    clock, path = FakeClock(), tmp_path / "store.db"

    def size_after(seconds: float) -> int:
        clock.advance(seconds)
        for session_id in ("first", "second"):  # a pass keeps house before the next one begins
            store.append(entry(session_id, 1, text="x" * 100_000))
            assert store.flush(FLUSH_S)
        return path.stat().st_size

    with sqlite_store(path, clock=clock, lost=Losses()) as store:
        empty = path.stat().st_size
        assert size_after(CHECKPOINT_S - 1) == empty
        assert size_after(1) > empty + 100_000


def test_the_codec_is_given_what_it_returned(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    class Recording(PlainCodec):
        def encode(self, entry: Entry) -> tuple[str, bytes, bytes]:
            return "kind", b"\x00line", b""

        def decode(self, **facts: Any) -> Entry:
            seen.append(facts)
            return Entry(session_id="run", number=1, time_s=0, event=Turn(sequence=1))

    with sqlite_store(tmp_path / "store.db", codec=Recording()) as store:
        store.append(entry("run", 7))
        store.read("run")
    one = entry("run", 7)
    assert seen == [
        {
            "session_id": "run",
            "number": 7,
            "time_s": one.time_s,
            "kind": "kind",
            "line": b"\x00line",
            "decision": b"",
            "content": one.content,
        }
    ]
