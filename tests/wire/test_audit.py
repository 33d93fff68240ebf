"""P10: every decision can be explained afterwards, and P15: versions can differ."""

import random
from dataclasses import replace
from typing import Any

import pytest

from sidecar.core.directive import Proceed
from sidecar.core.turn import Turn
from sidecar.presets import PRESETS, preset
from sidecar.testing.recorder import WasDecided
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from tests.wire.served import Agent, Served, looping, opening, turning


async def test_each_directive_is_in_the_reply_the_journal_and_the_record_once_under_one_id(
    server: Served,
) -> None:
    draw = random.Random(7)
    agent = Agent(server)
    await agent.ask(opening())
    replies = []
    for sequence in range(1, 501):
        request = looping(sequence) if draw.random() < 0.6 else turning(sequence)
        replies.append((await agent.ask(request)).decision)
    told = [reply.decision_id for reply in replies if reply.WhichOneof("directive") != "proceed"]
    journalled = [
        entry.decision.decision_id
        for entry in server.world.store.read("s")
        if entry.decision is not None and not isinstance(entry.decision.directive, Proceed)
    ]
    recorded = [
        record.decision.decision_id
        for record in server.world.recorder.of(WasDecided)
        if not isinstance(record.decision.directive, Proceed)
    ]

    assert len(told) > 10
    assert len(set(told)) == len(told)
    assert told == journalled == recorded


async def test_the_journal_has_readings_thresholds_and_the_states_before_and_after(
    server: Served,
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    for sequence in range(1, 4):
        await agent.ask(looping(sequence))
    entry = server.world.store.read("s", last=1)[0]
    decision = entry.decision

    assert isinstance(entry.event, Turn)
    assert decision is not None
    assert decision.readings[0].value >= decision.readings[0].threshold > 0
    assert (decision.state_before.value, decision.state.value) == ("healthy", "warning")
    assert decision.policy_revision == preset("default").revision


@pytest.mark.parametrize("name", PRESETS)
def test_a_revision_changes_when_a_threshold_does_and_not_otherwise(name: str) -> None:
    base = preset(name)
    same = replace(base, name="renamed", revision="")
    calmer = replace(base.staging, repeat_after=7)
    other = replace(base, staging=calmer, revision="")

    assert same.revision == base.revision
    assert other.revision != base.revision


def later(message: Any, extra: bytes = b"\xfa\xff\x7f\x03new") -> Any:
    """The message as a later version would send it, with a field that this one does not know."""
    return type(message).FromString(message.SerializeToString() + extra)


async def test_fields_of_a_later_version_are_passed_over(server: Served) -> None:
    agent = Agent(server)
    opened = later(run_pb2.Open(session_id="s"))
    turn = later(run_pb2.Turn(sequence=1, output_lines=1))
    await agent.ask(pb.ObserveRequest(open=opened))
    decision = (await agent.ask(later(pb.ObserveRequest(turn=turn)))).decision

    assert decision.sequence == 1
    assert not decision.HasField("rejection")


async def test_a_message_of_a_later_version_is_a_sign_of_life(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    await agent.say(later(pb.ObserveRequest()))

    assert (await agent.ask(turning(1))).decision.sequence == 1


async def test_a_mode_and_an_outcome_of_a_later_version_are_unset(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening(mode=99))
    decision = (await agent.ask(turning(1))).decision
    goodbye = run_pb2.Close.FromString(b"\x08\x63")
    await agent.say(pb.ObserveRequest(close=goodbye))
    await agent.half_close()
    await agent.ended()

    assert decision.sequence == 1
    closing = server.sessions.get("s").closing
    assert closing is not None
    assert closing.outcome.value == "unspecified"
