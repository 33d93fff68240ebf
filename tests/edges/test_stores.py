"""What a journal and snapshot store does, whether it is the one on disk or the one for tests."""

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.adapters.sqlite_store import SqliteStore
from sidecar.core.breaker import State
from sidecar.core.directive import Cause, Decision, Rejection, Rotate
from sidecar.core.opening import Closing, Continue, Opening, RunOutcome, Succession
from sidecar.core.reading import Reading, Severity
from sidecar.core.turn import ToolCall, Turn
from sidecar.ports import Entry, Event, Rejected, Saved
from sidecar.testing import FakeClock, Losses, MemoryStore, PlainCodec
from sidecar.testing.clock import START_S
from tests.edges.stores import entry, saved, sqlite_store

SNAPSHOT_BYTES_MAX = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A store under test."""

    store: MemoryStore | SqliteStore
    losses: Losses
    break_snapshot: Callable[[str], None]

    def numbers(self, session_id: str) -> list[int]:
        """The numbers of the session's entries."""
        return [found.number for found in self.store.read(session_id)]


@pytest.fixture(params=["memory", "sqlite"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    losses = Losses()
    if request.param == "memory":
        memory = MemoryStore(lost=losses, snapshot_bytes_max=SNAPSHOT_BYTES_MAX)
        yield Kept(store=memory, losses=losses, break_snapshot=memory.break_snapshot)
        return
    path = tmp_path / "store.db"
    with sqlite_store(path, lost=losses, snapshot_bytes_max=SNAPSHOT_BYTES_MAX) as store:

        def break_snapshot(session_id: str) -> None:
            assert store.flush(10)
            with sqlite3.connect(path) as connection:
                connection.execute(
                    """UPDATE snapshot SET body = substr(body, 1, length(body) / 2)
                    WHERE session = (SELECT key FROM session WHERE session_id = ?)""",
                    (session_id,),
                )
            connection.close()

        yield Kept(store=store, losses=losses, break_snapshot=break_snapshot)


EVENTS: list[Event] = [
    Opening(session_id="run", agent_name="builder", labels=(("team", "core"),)),
    Turn(sequence=1, tool_calls=(ToolCall(name="Grep", call=b"\x00\xff234567", result=b"8" * 8),)),
    Rejected(sequence=2, id="t2", rejection=Rejection(reason="USAGE_NEGATIVE", field="usage")),
    Continue(reason="go on", extra_turns=5, request_id="r1"),
    Succession(opening=Opening(session_id="run", previous_session_id="before"), inherited="{}"),
    Closing(outcome=RunOutcome.SUCCEEDED, has_final_answer=True),
]

DECISION = Decision(
    decision_id="0123456789abcdef",
    sequence=1,
    cause=Cause.TURN,
    state=State.WARNING,
    state_before=State.HEALTHY,
    readings=(Reading(severity=Severity.WARNING, value=3, threshold=3, signal="loop"),),
    below=(Reading(severity=Severity.NONE, value=2, threshold=8, signal="stall"),),
    directive=Rotate(instruction="try another way", suggestions=("a", "b")),
    signal="loop",
)


def test_every_kind_of_entry_is_read_as_it_was_appended(kept: Kept) -> None:
    entries = [
        Entry(
            session_id="run",
            number=number,
            time_s=1_767_225_600.25 + number,
            event=event,
            decision=DECISION if number == 2 else None,
            content=b"\x00\x01\x02\x03\xff\xfe\xfd\xfc" if number == 2 else b"",
        )
        for number, event in enumerate(EVENTS, start=1)
    ]
    for one in entries:
        kept.store.append(one)
    assert list(kept.store.read("run")) == entries


@pytest.mark.parametrize(
    ("selection", "numbers"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"after": 3}, [4, 5]),
        ({"after": 5}, []),
        ({"after": -7}, [1, 2, 3, 4, 5]),
        ({"last": 2}, [4, 5]),
        ({"last": 0}, []),
        ({"last": -1}, []),
        ({"last": 2**70}, [1, 2, 3, 4, 5]),
        ({"after": 2**70}, []),
        ({"after": 1, "last": 3}, [3, 4, 5]),
        ({"after": 3, "last": 3}, [4, 5]),
    ],
)
def test_reading_selects_by_number_and_takes_the_latest(
    kept: Kept, selection: dict[str, int], numbers: list[int]
) -> None:
    for number in range(1, 6):
        kept.store.append(entry("run", number))
    assert [found.number for found in kept.store.read("run", **selection)] == numbers


def test_sessions_have_journals_of_their_own(kept: Kept) -> None:
    for number in range(1, 4):
        kept.store.append(entry("left", number))
        kept.store.append(entry("right", number + 10))
    assert kept.numbers("left") == [1, 2, 3]
    assert kept.numbers("right") == [11, 12, 13]


def test_what_is_not_there_is_empty_or_none(kept: Kept) -> None:
    assert list(kept.store.read("nobody")) == []
    assert kept.store.load("nobody") is None
    assert list(kept.store.recent(5)) == []


def test_an_entry_replaces_what_stood_at_its_number_and_after(kept: Kept) -> None:
    for number in range(1, 6):
        kept.store.append(entry("run", number, text="first"))
    assert kept.numbers("run") == [1, 2, 3, 4, 5]
    for number in range(3, 5):
        kept.store.append(entry("run", number, text="second"))
    found = kept.store.read("run")
    assert found == [entry("run", number, text="first") for number in (1, 2)] + [
        entry("run", number, text="second") for number in (3, 4)
    ]
    assert kept.losses.counts == {("journal", "replaced"): 3}


@pytest.mark.parametrize(("number", "kept_snapshot"), [(3, False), (4, False), (5, True)])
def test_a_snapshot_of_a_replaced_history_is_dropped(
    kept: Kept, number: int, kept_snapshot: bool
) -> None:
    for each in range(1, 6):
        kept.store.append(entry("run", each))
    kept.store.save(saved("run", number=4))
    kept.store.append(entry("run", number))
    assert (kept.store.load("run") is not None) is kept_snapshot


def test_a_snapshot_whose_entries_were_lost_is_dropped_with_them(kept: Kept) -> None:
    kept.store.save(saved("run", number=4))
    assert kept.store.load("run") is not None
    kept.store.append(entry("run", 4))
    assert kept.store.load("run") is None


def test_a_hole_in_a_journal_stays_visible(kept: Kept) -> None:
    for number in (1, 2, 5, 6):
        kept.store.append(entry("run", number))
    assert kept.numbers("run") == [1, 2, 5, 6]


def test_the_latest_snapshot_is_loaded_as_it_was_saved(kept: Kept) -> None:
    kept.store.save(saved("run", number=3))
    latest = saved(
        "run",
        number=7,
        active_s=1_767_225_600.125,
        closed=True,
        text='"\\ \u2028 é 🙂 \ud800',
        numbers=[0, -1, 2**63, 1.5, 1e300],
        nothing=None,
        nested={"": [[], {}]},
    )
    kept.store.save(latest)
    assert kept.store.load("run") == latest


def test_a_loaded_snapshot_is_the_callers_own(kept: Kept) -> None:
    kept.store.save(saved("run", turns=[1, 2]))
    first = kept.store.load("run")
    assert first is not None
    first.session["turns"].append(3)
    assert kept.store.load("run") == saved("run", turns=[1, 2])


def test_a_snapshot_at_the_bound_is_kept_and_a_byte_more_is_not(kept: Kept) -> None:
    at_bound = saved("run", number=1, text="x" * (SNAPSHOT_BYTES_MAX - len('{"text":""}')))
    kept.store.save(at_bound)
    assert kept.store.load("run") == at_bound
    assert kept.losses.counts == {}
    over = saved("run", number=2, text="x" * (SNAPSHOT_BYTES_MAX - len('{"text":""}') + 1))
    kept.store.save(over)
    assert kept.store.load("run") == at_bound
    assert kept.losses.counts == {("snapshot", "too_large"): 1}


def test_a_snapshot_that_is_not_json_is_counted(kept: Kept) -> None:
    kept.store.save(saved("run", what=b"bytes"))
    assert kept.store.load("run") is None
    assert kept.losses.counts == {("snapshot", "encoding"): 1}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(0, ""), (-1, ""), (1, "c"), (3, "cad"), (9, "cadb"), (2**70, "cadb")],
)
def test_the_latest_active_sessions_come_first(kept: Kept, limit: int, expected: str) -> None:
    for session_id, active_s in (("a", 30.0), ("b", 10.0), ("c", 5.0), ("d", 20.0)):
        kept.store.save(saved(session_id, active_s=START_S + active_s, closed=session_id == "a"))
    kept.store.save(saved("c", active_s=START_S + 40.0))
    assert [found.session_id for found in kept.store.recent(limit)] == list(expected)


def test_a_broken_snapshot_is_counted_once_and_gone(kept: Kept) -> None:
    for session_id in ("run", "other"):
        kept.store.append(entry(session_id, 1))
        kept.store.save(saved(session_id, text="x" * 50))
    kept.break_snapshot("run")
    assert kept.store.load("run") is None
    assert kept.store.load("run") is None
    assert kept.losses.counts == {("snapshot", "corrupt"): 1}
    assert [found.session_id for found in kept.store.recent(5)] == ["other"]
    assert kept.numbers("run") == [1]
    kept.store.save(saved("run", number=2))
    assert kept.store.load("run") == saved("run", number=2)


def test_a_broken_snapshot_is_left_out_of_the_recent_ones(kept: Kept) -> None:
    for session_id in ("run", "other"):
        kept.store.save(saved(session_id, text="x" * 50))
    kept.break_snapshot("run")
    assert [found.session_id for found in kept.store.recent(5)] == ["other"]
    assert kept.losses.counts == {("snapshot", "corrupt"): 1}


@pytest.mark.parametrize(
    "session_id", ["", " ", "é🙂", "a\x00b", "'; DROP TABLE journal --", "%", "x" * 10_000]
)
def test_any_text_names_a_session(kept: Kept, session_id: str) -> None:
    kept.store.append(entry(session_id, 1))
    kept.store.save(saved(session_id, active_s=START_S + 3.0))
    kept.store.append(entry("another", 2))
    assert kept.numbers(session_id) == [1]
    assert kept.store.load(session_id) == saved(session_id, active_s=START_S + 3.0)


IDS = st.sampled_from(["a", "b"])
WRITES = st.lists(
    st.one_of(
        st.builds(entry, IDS, st.integers(1, 6), text=st.sampled_from("xyz")),
        st.builds(saved, IDS, number=st.integers(0, 6), active_s=st.floats(START_S, START_S + 9)),
    ),
    max_size=30,
)


@settings(deadline=None, max_examples=50)  # each opens a database
@given(writes=WRITES, looks=st.sets(st.integers(0, 30), max_size=4))
def test_both_stores_hold_the_same_after_any_writes(
    writes: list[Entry | Saved], looks: set[int]
) -> None:
    memory = MemoryStore(lost=Losses())
    with (
        tempfile.TemporaryDirectory() as directory,
        sqlite_store(Path(directory) / "store.db", lost=Losses()) as disk,
    ):
        for place in range(len(writes) + 1):
            if place in looks or place == len(writes):
                for session_id in "ab":
                    assert list(disk.read(session_id)) == list(memory.read(session_id))
                    latest = memory.load(session_id)
                    allowed = [latest] if latest else standing(writes[:place], session_id)
                    assert disk.load(session_id) in allowed
            if place < len(writes):
                write(memory, writes[place])
                write(disk, writes[place])


def write(store: MemoryStore | SqliteStore, what: Entry | Saved) -> None:
    match what:
        case Entry():
            store.append(what)
        case Saved():
            store.save(what)


def standing(writes: list[Entry | Saved], session_id: str) -> list[Saved | None]:
    """Snapshots of a history that was not replaced since: when the latest is void, the store on
    disk may still have one of them, or have replaced it with what is void now."""
    snapshots: list[Saved] = []
    for what in writes:
        if what.session_id != session_id:
            continue
        match what:
            case Entry():
                snapshots = [one for one in snapshots if one.number < what.number]
            case Saved():
                snapshots.append(what)
    return [None, *snapshots]


def test_a_crash_takes_the_newest_writes_of_the_memory_store() -> None:
    store = MemoryStore(lost=Losses())
    for number in range(1, 5):
        store.append(entry("run", number))
        store.save(saved("run", number=number))
    left = store.after_crash(writes_lost=3)
    assert [found.number for found in left.read("run")] == [1, 2, 3]
    found = left.load("run")
    assert found is not None and found.number == 2
    assert list(store.after_crash(writes_lost=99).read("run")) == []


def test_the_plain_codec_refuses_what_it_did_not_write() -> None:
    codec = PlainCodec()
    kind, line, decision = codec.encode(entry("run", 1))
    facts: dict[str, Any] = {"session_id": "run", "number": 1, "time_s": 1.0, "content": b""}
    with pytest.raises(ValueError, match="kind"):
        codec.decode(kind="Opening", line=line, decision=decision, **facts)
    with pytest.raises(ValueError, match="Expecting"):
        codec.decode(kind=kind, line=line[:-1], decision=decision, **facts)


def test_a_fake_clock_moves_when_told() -> None:
    clock = FakeClock(now_s=100.0, monotonic_s=5.0)
    clock.advance(2.5)
    assert (clock.now_s(), clock.monotonic_s()) == (102.5, 7.5)
    clock.set_now_s(50.0)
    assert (clock.now_s(), clock.monotonic_s()) == (50.0, 7.5)
    with pytest.raises(ValueError, match="cannot pass by -1"):
        clock.advance(-1)
