"""What the journal keeps of an entry, and what it kept before."""

import json
from pathlib import Path

import msgspec
import pytest

from sidecar.adapters.convert import EntryBytes
from sidecar.core.breaker import State
from sidecar.core.directive import Cause, Decision, Rejection, decision_id
from sidecar.core.limits import Limits
from sidecar.core.opening import (
    Beginning,
    Closing,
    Continue,
    Idle,
    Opening,
    Reset,
    Succession,
    Verdict,
)
from sidecar.core.turn import Failure, Progress, ToolCall, Turn, Usage
from sidecar.ports import Entry, Event, Rejected

FULL_MAPS = Path("tests/data/journal_of_full_maps.json")
"""Entries as they were written until 2026-11: each field by name, those at their defaults too."""

TURN = Turn(
    sequence=1,
    usage=Usage(input_tokens=5),
    tool_calls=(ToolCall(name="read", tool=b"t" * 8, call=b"c" * 8),),
    failures=(Failure(fingerprint=b"f" * 8, strict=b"s" * 8),),
    progress=Progress(files_changed=1),
)
EVENTS: tuple[Event, ...] = (
    Opening(session_id="s"),
    Succession(opening=Opening(session_id="s"), inherited="{}"),
    TURN,
    Turn(sequence=1),
    Turn(sequence=0, tool_calls=(ToolCall(name="read", call=b"c" * 8),)),
    Rejected(sequence=1, rejection=Rejection(reason="TOOL_CALLS_MAX")),
    Closing(),
    Continue(),
    Reset(),
    Idle(),
    Verdict(stuck=False),
)
LATER_EVENTS: tuple[Event, ...] = (
    Beginning(opening=Opening(session_id="s"), limits=Limits(max_turns=3, cost_usd_max=0.5)),
)
"""Those that no file of before has."""


def decided(event: Event) -> Decision | None:
    if not isinstance(event, Turn):
        return None
    revision = "r" if event.sequence else ""
    return Decision(
        decision_id=decision_id("s", event.sequence, Cause.TURN, revision),
        sequence=event.sequence,
        cause=Cause.TURN,
        state=State.HEALTHY,
        state_before=State.HEALTHY,
        policy_revision=revision,
    )


def entry(event: Event) -> Entry:
    return Entry(session_id="s", number=1, time_s=0.0, event=event, decision=decided(event))


@pytest.mark.parametrize("place", range(len(EVENTS)))
def test_an_entry_with_its_defaults_written_out_is_read_as_one_without(place: int) -> None:
    before = json.loads(FULL_MAPS.read_text())[place]
    codec = EntryBytes()
    full = before["kind"], bytes.fromhex(before["line"]), bytes.fromhex(before["decision"])
    expected = entry(EVENTS[place])

    assert codec.decode("s", 1, 0.0, *full, b"") == expected
    assert codec.decode("s", 1, 0.0, *codec.encode(expected), b"") == expected


@pytest.mark.parametrize("event", LATER_EVENTS)
def test_an_entry_is_read_as_it_was_written(event: Event) -> None:
    codec, expected = EntryBytes(), entry(event)

    assert codec.decode("s", 1, 0.0, *codec.encode(expected), b"") == expected


def test_what_a_turn_does_not_say_takes_no_room() -> None:
    _, line, decision = EntryBytes().encode(entry(Turn(sequence=1)))

    assert msgspec.msgpack.decode(line) == {"sequence": 1}
    assert set(msgspec.msgpack.decode(decision)) == {"state_before", "sequence", "policy_revision"}
