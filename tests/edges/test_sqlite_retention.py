"""What the store on disk keeps, and what goes first."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.adapters.sqlite_store import SqliteStore
from sidecar.adapters.sqlite_store.retention import (
    ENTRIES_AT_ONCE,
    EXPIRY_S,
    PRUNE_TO,
    SESSIONS_AT_ONCE,
)
from sidecar.adapters.sqlite_store.tables import ROW_BYTES
from sidecar.testing import FakeClock, Losses, PlainCodec
from tests.edges.stores import FLUSH_S, entry, numbers, rows, saved, sqlite_store

DAY_S = 24 * 3_600.0
TTL_S = 3_600.0


def row_bytes() -> int:
    """What the bound counts for one of this module's entries."""
    _, line, decision = PlainCodec().encode(entry("run", 1, text="x" * 100))
    return len(line) + len(decision) + ROW_BYTES


def fill(store: SqliteStore, clock: FakeClock, session_id: str, numbers: range) -> None:
    """Entries of one session, now."""
    for number in numbers:
        assert number < 10  # one digit each, so that all have the same size
        store.append(entry(session_id, number, time_s=clock.now_s(), text="x" * 100))
    assert store.flush(FLUSH_S)


def keep_house(store: SqliteStore, clock: FakeClock) -> None:
    """Have the writer look after its bounds: a pass does so before the next begins."""
    for _ in range(2):
        store.save(saved("bystander", number=0, active_s=clock.now_s()))
        assert store.flush(FLUSH_S)


@pytest.mark.parametrize("closed", [False, True])
def test_a_session_is_kept_for_its_time_and_then_goes_without_a_loss(
    tmp_path: Path, closed: bool
) -> None:
    clock, path = FakeClock(), tmp_path / "store.db"
    with sqlite_store(path, clock=clock, retention_s=DAY_S) as store:
        fill(store, clock, "run", range(1, 4))
        store.save(saved("run", number=3, active_s=clock.now_s(), closed=closed))
        clock.advance(DAY_S)
        keep_house(store, clock)
        assert numbers(store, "run") == [1, 2, 3]
        clock.advance(EXPIRY_S)
        keep_house(store, clock)
        assert (numbers(store, "run"), store.load("run")) == ([], None)
        assert rows(path, "SELECT session_id FROM session") == [("bystander",)]


def test_a_sign_of_life_keeps_a_session(tmp_path: Path) -> None:
    clock = FakeClock()
    with sqlite_store(tmp_path / "store.db", clock=clock, retention_s=DAY_S) as store:
        fill(store, clock, "run", range(1, 3))
        clock.advance(DAY_S)
        store.save(saved("run", number=2, active_s=clock.now_s()))
        clock.advance(DAY_S)
        keep_house(store, clock)
        assert numbers(store, "run") == [1, 2]


def test_many_expired_sessions_go_portion_by_portion(tmp_path: Path) -> None:
    clock, path = FakeClock(), tmp_path / "store.db"
    with sqlite_store(path, clock=clock, retention_s=DAY_S) as store:
        for number in range(1, 2 * ENTRIES_AT_ONCE + 2):
            store.append(entry("long", number))
        for number in range(2 * SESSIONS_AT_ONCE + 1):
            store.append(entry(f"short {number}", 1))
        assert store.flush(FLUSH_S)
        clock.advance(DAY_S + 1)
        for _ in range(20):
            keep_house(store, clock)
        assert rows(path, "SELECT count(*) FROM journal") == [(0,)]
        assert rows(path, "SELECT session_id FROM session") == [("bystander",)]


def test_sessions_beyond_the_bound_go_closed_ones_first_then_the_longest_idle(
    tmp_path: Path,
) -> None:
    clock, losses = FakeClock(), Losses()
    path = tmp_path / "store.db"
    with sqlite_store(path, clock=clock, lost=losses, sessions_max=3) as store:
        for session_id in ("oldest", "older", "closed"):
            fill(store, clock, session_id, range(1, 3))
            is_closed = session_id == "closed"
            store.save(saved(session_id, number=2, active_s=clock.now_s(), closed=is_closed))
            clock.advance(1)
        keep_house(store, clock)
        keep_house(store, clock)
        assert rows(path, "SELECT session_id FROM session ORDER BY key") == [
            ("oldest",),
            ("older",),
            ("bystander",),
        ]
        assert losses.counts == {("journal", "pruned"): 2, ("snapshot", "pruned"): 1}
        clock.advance(1)
        fill(store, clock, "newest", range(1, 2))
        keep_house(store, clock)
        assert (numbers(store, "oldest"), store.load("oldest")) == ([], None)
        assert numbers(store, "older") == [1, 2]
        assert losses.counts == {("journal", "pruned"): 4, ("snapshot", "pruned"): 2}


def test_a_session_that_comes_back_counts_again(tmp_path: Path) -> None:
    clock, path = FakeClock(), tmp_path / "store.db"
    with sqlite_store(path, clock=clock, lost=Losses(), sessions_max=2) as store:
        for session_id in ("bystander", "a", "b", "a"):
            fill(store, clock, session_id, range(1, 2))
            clock.advance(1)
            keep_house(store, clock)
        assert rows(path, "SELECT session_id FROM session ORDER BY key") == [
            ("bystander",),
            ("a",),
        ]


def test_a_journal_at_its_bound_is_kept_and_an_entry_more_prunes_the_oldest(
    tmp_path: Path,
) -> None:
    clock, losses = FakeClock(), Losses()
    bound = 9 * row_bytes()
    with sqlite_store(
        tmp_path / "store.db", clock=clock, lost=losses, journal_bytes_max=bound
    ) as store:
        fill(store, clock, "run", range(1, 10))
        keep_house(store, clock)
        assert losses.counts == {}
        fill(store, clock, "other", range(1, 2))
        assert losses.wait_for("journal", "pruned", count=2)
        keep_house(store, clock)
        assert losses.counts == {("journal", "pruned"): 2}
        assert 9 * PRUNE_TO >= len(numbers(store, "run") + numbers(store, "other")) == 8
        assert numbers(store, "run") == list(range(3, 10))


def test_pruning_goes_on_until_there_is_room_again(tmp_path: Path) -> None:
    clock, losses = FakeClock(), Losses()
    path, bound = tmp_path / "store.db", 2 * ENTRIES_AT_ONCE * row_bytes()
    with sqlite_store(path, clock=clock, lost=losses, journal_bytes_max=bound) as store:
        # One portion leads below the bound, but not yet to what is left of it.
        for number in range(1, round((1 + PRUNE_TO) * ENTRIES_AT_ONCE) + ENTRIES_AT_ONCE):
            store.append(entry("run", number, text="x" * 100))
        assert losses.wait_for("journal", "pruned", count=ENTRIES_AT_ONCE + 1)
        keep_house(store, clock)
        ((left,),) = rows(path, "SELECT sum(bytes) FROM session")
        assert left <= PRUNE_TO * bound


def idle(store: SqliteStore, clock: FakeClock) -> None:
    fill(store, clock, "first", range(1, 6))
    clock.advance(TTL_S + 1)


def closed(store: SqliteStore, clock: FakeClock) -> None:
    fill(store, clock, "first", range(1, 6))
    store.save(saved("first", number=5, active_s=clock.now_s(), closed=True))


def rested(store: SqliteStore, clock: FakeClock) -> None:
    fill(store, clock, "first", range(1, 6))
    store.save(saved("first", number=5, active_s=clock.now_s()))


@pytest.mark.parametrize("first", [idle, closed, rested])
def test_what_an_open_session_is_resumed_from_goes_last(
    tmp_path: Path, first: Callable[[SqliteStore, FakeClock], None]
) -> None:
    clock, losses = FakeClock(), Losses()
    with sqlite_store(
        tmp_path / "store.db",
        clock=clock,
        lost=losses,
        journal_bytes_max=10 * row_bytes(),
        session_ttl_s=TTL_S,
    ) as store:
        # Not resumable from a snapshot, so all of it is needed; and older than the others' entries
        # unless idleness is what makes the difference.
        needed = "needed"
        if first is not idle:
            fill(store, clock, needed, range(1, 6))
            clock.advance(1)
        first(store, clock)
        if first is idle:
            fill(store, clock, needed, range(1, 6))
        clock.advance(1)
        fill(store, clock, "newest", range(1, 2))
        assert losses.wait_for("journal", "pruned", count=2)
        keep_house(store, clock)
        assert numbers(store, needed) == [1, 2, 3, 4, 5]
        assert numbers(store, "first") == [3, 4, 5]
        assert losses.counts == {("journal", "pruned"): 2}


def test_closed_and_idle_sessions_go_before_what_open_snapshots_hold(tmp_path: Path) -> None:
    clock, losses = FakeClock(), Losses()
    with sqlite_store(
        tmp_path / "store.db", clock=clock, lost=losses, journal_bytes_max=10 * row_bytes()
    ) as store:
        fill(store, clock, "open", range(1, 6))
        store.save(saved("open", number=5, active_s=clock.now_s()))
        clock.advance(1)
        fill(store, clock, "closed", range(1, 6))
        store.save(saved("closed", number=5, active_s=clock.now_s(), closed=True))
        fill(store, clock, "newest", range(1, 2))
        assert losses.wait_for("journal", "pruned", count=2)
        assert numbers(store, "open") == [1, 2, 3, 4, 5]
        assert numbers(store, "closed") == [3, 4, 5]


def test_the_bound_holds_even_where_everything_is_needed(tmp_path: Path) -> None:
    clock, losses = FakeClock(), Losses()
    path = tmp_path / "store.db"
    with sqlite_store(path, clock=clock, lost=losses, journal_bytes_max=10 * row_bytes()) as store:
        for session in range(4):
            fill(store, clock, f"run {session}", range(1, 9))
            keep_house(store, clock)
            keep_house(store, clock)
            assert rows(path, "SELECT sum(length(line) + length(decision) + ?) FROM journal",
                        ROW_BYTES)[0][0] <= 10 * row_bytes()  # fmt: skip
        assert losses.counts == {("journal", "pruned"): 4 * 8 - 9}
        assert numbers(store, "run 3") == list(range(1, 9))


def test_the_bound_knows_what_was_there_before_and_what_was_replaced(tmp_path: Path) -> None:
    clock, path = FakeClock(), tmp_path / "store.db"
    bound = 9 * row_bytes()
    with sqlite_store(path, clock=clock, lost=Losses(), journal_bytes_max=bound) as store:
        for _ in range(3):
            fill(store, clock, "run", range(1, 10))
        keep_house(store, clock)
        assert numbers(store, "run") == list(range(1, 10))
        assert rows(path, "SELECT bytes FROM session WHERE session_id = 'run'") == [(bound,)]
    losses = Losses()
    with sqlite_store(path, clock=clock, lost=losses, journal_bytes_max=bound) as store:
        fill(store, clock, "other", range(1, 2))
        assert losses.wait_for("journal", "pruned", count=2)


def test_space_is_used_again(tmp_path: Path) -> None:
    clock, losses = FakeClock(), Losses()
    path = tmp_path / "store.db"
    with sqlite_store(
        path, clock=clock, lost=losses, journal_bytes_max=200_000, session_ttl_s=0
    ) as store:
        sizes = []
        for session in range(40):
            for number in range(1, 201):
                store.append(entry(f"{session}", number, time_s=clock.now_s(), text="x" * 200))
            clock.advance(60)
            keep_house(store, clock)
            sizes.append(path.stat().st_size)
        assert losses.counts["journal", "pruned"] > 5_000
        assert max(sizes) < 3 * 200_000
