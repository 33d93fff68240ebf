"""Sessions that go on from others: what they inherit is in their journal, and in a run file."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from sidecar.adapters.convert import (
    EntryBytes,
    TurnReader,
    content_of,
    decision_out,
    line_out,
    session_out,
)
from sidecar.adapters.run_file import read_lines, write_line
from sidecar.core.breaker import State
from sidecar.core.opening import Continue, Mode, Opening, Reset
from sidecar.nowhere import NoKeeper
from sidecar.policies import Policies
from sidecar.ports import Entry
from sidecar.presets import PRESETS, preset
from sidecar.replaying.recorded import Replay
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import SessionBounds, Sessions
from sidecar.testing import FakeClock, MemoryRecorder, MemoryStore
from sidecar.testing.recorder import WasLost
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

KEY = b"the key of one sidecar"
POLICIES = Policies(by_name={name: preset(name) for name in PRESETS})
AUTONOMOUS = preset("autonomous")
ERROR = run_pb2.Failure(kind="TypeError", message="cannot read 'id' of None, line 3")
OTHER = run_pb2.Failure(kind="OSError", message="no space left on device")


def sessions_over(store: MemoryStore, recorder: MemoryRecorder) -> Sessions:
    return Sessions(
        policies=POLICIES,
        bounds=SessionBounds(),
        clock=FakeClock(),
        journal=store,
        snapshots=store,
        recorder=recorder,
        keeper=NoKeeper(),
    )


@pytest.fixture
def recorder() -> MemoryRecorder:
    return MemoryRecorder()


@pytest.fixture
def store(recorder: MemoryRecorder) -> MemoryStore:
    return MemoryStore(lost=recorder.lost)


@pytest.fixture
def sessions(store: MemoryStore, recorder: MemoryRecorder) -> Sessions:
    return sessions_over(store, recorder)


def take(sessions: Sessions, session: Session, **facts: Any) -> None:
    """The session's next turn, read off the wire."""
    wire = run_pb2.Turn(sequence=session.last_sequence + 1, **facts)
    reader = TurnReader(key=KEY, lens=session.facts.policy.lens)
    sessions.turn(session, reader.read(wire), content_of(wire))


def tripped(sessions: Sessions) -> Session:
    """A run that was told to commit over one error."""
    before, _ = sessions.open(Opening(session_id="before", policy="autonomous"), None)
    for _ in range(5):
        take(sessions, before, failures=[ERROR], approach="patch it", output_lines=5)
    assert before.run.state.breaker.state is State.TRIPPED
    return before


def followed(sessions: Sessions, **facts: Any) -> Session:
    """Its successor, which meets the same error, another, and an operator."""
    tripped(sessions)
    opening = Opening(session_id="after", policy="autonomous", previous_session_id="before")
    after, _ = sessions.open(opening, None)
    take(sessions, after, output_lines=5, **facts)
    sessions.command(after, Continue(reason="go on", request_id="r1"))
    for failure in (ERROR, ERROR, OTHER, ERROR, ERROR, ERROR):
        take(sessions, after, failures=[failure], approach="rewrite it", output_lines=5)
    sessions.command(after, Reset(reason="fresh", request_id="r2"))
    take(sessions, after, output_lines=5)
    return after


def exported(entries: Iterable[Entry], path: Path) -> Path:
    """The entries as `sidecar journal` writes them, read from the store's bytes."""
    codec, lines = EntryBytes(), []
    for entry in entries:
        kind, line, decision = codec.encode(entry)
        kept = codec.decode(
            entry.session_id, entry.number, 0.0, kind, line, decision, entry.content
        )
        lines.append(write_line(line_out(kept, after_sequence=0)) + "\n")
    path.write_text("".join(lines))
    return path


def replayed(path: Path, policies: Policies = POLICIES) -> tuple[Replay, list[Any]]:
    replay = Replay(str(path), policies)
    return replay, list(replay.run(read_lines(str(path))))


def decided(entries: Iterable[Entry]) -> list[bytes]:
    return [
        decision_out(entry.decision).SerializeToString(deterministic=True)
        for entry in entries
        if entry.decision is not None
    ]


def test_a_successor_s_journal_replays_byte_for_byte(
    sessions: Sessions, store: MemoryStore, tmp_path: Path
) -> None:
    after = followed(sessions)
    entries = store.read("after")
    _, answers = replayed(exported(entries, tmp_path / "after.jsonl"))
    decisions = [answer.decision for answer in answers if answer.HasField("decision")]

    assert decisions[0].state == run_pb2.STATE_RECOVERY
    assert any("2 distinct errors" in decision.commit.instruction for decision in decisions)
    assert [decision.SerializeToString(deterministic=True) for decision in decisions] == decided(
        entries
    )
    assert after.run.state.totals.errors_distinct == 2


def test_a_successor_with_lost_turns_replays_byte_for_byte(
    sessions: Sessions, store: MemoryStore, tmp_path: Path
) -> None:
    tripped(sessions)
    opening = Opening(
        session_id="after", policy="autonomous", previous_session_id="before",
        first_available_sequence=4,
    )  # fmt: skip
    after, missing = sessions.open(opening, None)
    take(sessions, after, failures=[ERROR])
    sessions.command(after, Continue(reason="its decision's id has the entry's number in it"))
    entries = store.read("after")
    _, answers = replayed(exported(entries, tmp_path / "after.jsonl"))

    assert missing == answers[0].opened.missing == 3
    assert [
        answer.decision.SerializeToString(deterministic=True) for answer in answers[1:]
    ] == decided(entries)


def test_a_successor_is_restored_from_its_journal_alone(
    sessions: Sessions, store: MemoryStore, recorder: MemoryRecorder
) -> None:
    after = followed(sessions)
    store.break_snapshot("after")
    restored = sessions_over(store, recorder).get("after")

    assert WasLost(what="snapshot", reason="corrupt", count=1) in recorder.records
    assert restored is not after
    assert restored.run == after.run
    assert restored.entries == after.entries
    assert restored.last_directive == after.last_directive


def test_an_observed_successor_is_restored_as_one(
    sessions: Sessions, store: MemoryStore, recorder: MemoryRecorder
) -> None:
    tripped(sessions)
    opening = Opening(session_id="after", previous_session_id="before", mode=Mode.OBSERVE)
    after, _ = sessions.open(opening, None)
    store.break_snapshot("after")
    restored = sessions_over(store, recorder).get("after")

    assert restored.run == after.run
    assert restored.run.observed


def test_a_successor_s_successor_inherits_from_both(
    sessions: Sessions, store: MemoryStore, tmp_path: Path
) -> None:
    followed(sessions)
    opening = Opening(session_id="third", previous_session_id="after")
    third, _ = sessions.open(opening, None)
    replay, _ = replayed(exported(store.read("third"), tmp_path / "third.jsonl"))

    assert third.run.state.story.names == ("patch it", "rewrite it")
    assert replay.session is not None
    assert replay.session.run.state.story == third.run.state.story
    assert replay.session.run.state.totals.turns == third.run.state.totals.turns == 13


def test_a_replay_under_another_policy_keeps_what_was_inherited_and_spent(
    sessions: Sessions, store: MemoryStore, tmp_path: Path
) -> None:
    followed(sessions)
    path = exported(store.read("after"), tmp_path / "after.jsonl")
    replay = Replay(str(path), POLICIES, policy="gaia")
    answers = list(replay.run(read_lines(str(path))))
    opened = answers[0]

    assert isinstance(opened, pb.ObserveResponse)
    assert opened.opened.policy == "gaia"
    assert replay.session is not None
    assert replay.session.run.state.totals.turns == 13
    assert replay.session.run.state.story.names == ("patch it", "rewrite it")


def test_an_exported_run_that_goes_on_from_another_says_what_it_inherited_without_content(
    sessions: Sessions, store: MemoryStore, tmp_path: Path
) -> None:
    followed(sessions)
    text = exported(store.read("after"), tmp_path / "after.jsonl").read_text()
    first = json.loads(text.splitlines()[0])

    assert first["open"]["previous_session_id"] == "before"
    assert "patch it" in first["inherited_json"]
    assert "cannot read" not in text
    assert "no space left" not in text


def test_a_session_that_goes_on_from_none_begins_afresh_and_says_so_also_after_a_restart(
    sessions: Sessions, store: MemoryStore, recorder: MemoryRecorder
) -> None:
    opening = Opening(session_id="s", previous_session_id="nobody")
    begun, _ = sessions.open(opening, None)
    again = sessions_over(store, recorder).get("s")
    store.break_snapshot("s")
    from_journal = sessions_over(store, recorder).get("s")

    assert begun.run.state.breaker.state is State.HEALTHY
    assert begun.facts.previous_missing
    assert again.facts.previous_missing
    assert from_journal.facts.previous_missing
    assert session_out(from_journal).previous_missing


def test_a_session_that_goes_on_from_one_that_is_held_misses_nothing(
    sessions: Sessions, store: MemoryStore, recorder: MemoryRecorder
) -> None:
    after = followed(sessions)
    store.break_snapshot("after")

    assert not after.facts.previous_missing
    assert not sessions_over(store, recorder).get("after").facts.previous_missing


def test_a_replay_without_the_inherited_state_says_that_it_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"open": {"session_id": "s", "previous_session_id": "before"}}\n')
    _, answers = replayed(path)

    assert answers[0].opened.previous_missing
