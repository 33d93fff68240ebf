"""The eight rules of Observe, one test or more each, in their order."""

from typing import Any

import grpc
import pytest

from sidecar.testing.recorder import GaveUp, WasRefused, WereMissing
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from tests.wire.served import (
    Agent,
    Served,
    World,
    closing,
    heartbeat,
    looping,
    opening,
    served,
    turning,
)


async def test_rule_1_nothing_but_open_may_come_first(server: Served) -> None:
    for first in (turning(1), heartbeat(), closing(), pb.ObserveRequest()):
        agent = Agent(server)
        await agent.say(first)
        code, info = await agent.refused()

        assert (code, info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "OPEN_REQUIRED")
        assert info.domain == "sidecar"


async def test_rule_1_a_second_open_ends_the_stream(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    await agent.say(opening())
    code, info = await agent.refused()

    assert (code, info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "ALREADY_OPEN")


async def test_rule_2_a_new_session_is_opened_at_zero(server: Served) -> None:
    opened = (await Agent(server).ask(opening())).opened

    assert opened.session_id == "s"
    assert opened.last_sequence == 0
    assert opened.missing == 0
    assert opened.idle_ttl.seconds == 3600
    assert opened.policy == "default"
    assert len(opened.policy_revision) == 12
    assert opened.turn_bytes_max == 4 * 1024 * 1024


async def test_rule_2_a_session_without_a_name_gets_one(server: Served) -> None:
    first = (await Agent(server).ask(opening(""))).opened.session_id
    second = (await Agent(server).ask(opening(""))).opened.session_id

    assert len(first) == 36
    assert first != second


async def test_rule_2_a_resumed_session_is_opened_at_its_last_turn(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    for sequence in (1, 2, 3):
        await agent.ask(turning(sequence))
    await agent.half_close()
    await agent.ended()

    again = Agent(server)
    assert (await again.ask(opening())).opened.last_sequence == 3
    assert (await again.ask(turning(4))).decision.sequence == 4


async def test_rule_2_turns_that_neither_side_has_are_skipped_and_counted(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    await agent.ask(turning(1))
    await agent.half_close()
    await agent.ended()

    again = Agent(server)
    opened = (await again.ask(opening(first_available_sequence=5))).opened

    assert (opened.last_sequence, opened.missing) == (4, 3)
    assert (await again.ask(turning(5))).decision.sequence == 5
    assert server.world.recorder.of(WereMissing) == [WereMissing(count=3)]


async def test_rule_2_what_needs_consecutive_turns_starts_again_after_a_gap(
    server: Served,
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    for sequence in (1, 2):
        await agent.ask(looping(sequence))
    agent.vanish()
    again = Agent(server)
    await again.ask(opening(first_available_sequence=4))

    assert (await again.ask(looping(4))).decision.state == run_pb2.STATE_HEALTHY


async def test_rule_3_every_turn_is_answered_by_one_decision_in_order(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    for sequence in range(1, 51):
        await agent.say(turning(sequence))
    decisions = [(await agent.hear()).decision for _ in range(50)]

    assert [decision.sequence for decision in decisions] == list(range(1, 51))
    assert {decision.cause for decision in decisions} == {run_pb2.CAUSE_TURN}
    assert len({decision.decision_id for decision in decisions}) == 50


async def test_rule_3_an_observed_run_is_never_answered(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening(mode=run_pb2.MODE_OBSERVE))
    for sequence in range(1, 9):
        await agent.say(looping(sequence))
    await agent.half_close()

    assert await agent.ended() is grpc.StatusCode.OK
    session = server.sessions.get("s")
    assert session.last_sequence == 8
    assert session.run.state.breaker.state.value == "tripped"


async def test_rule_4_an_operator_s_decision_repeats_the_last_sequence(server: Served) -> None:
    from sidecar.v1 import session_service_pb2 as admin_pb

    agent = Agent(server)
    await agent.ask(opening())
    await agent.ask(turning(1))
    await server.control.ContinueSession(
        admin_pb.ContinueSessionRequest(session_id="s", reason="a person said so")
    )
    decision = (await agent.hear()).decision

    assert decision.cause == run_pb2.CAUSE_OPERATOR
    assert decision.sequence == 1


async def test_rule_5_a_turn_sent_twice_gets_the_same_decision(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    first = [await agent.ask(looping(sequence)) for sequence in range(1, 5)]
    again = [await agent.ask(looping(sequence)) for sequence in range(1, 5)]

    assert again == first
    assert (await agent.ask(turning(5))).decision.sequence == 5


async def test_rule_5_what_the_agent_has_heard_since_makes_no_other_turn(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    first = await agent.ask(turning(1, directive_seen=0))

    assert await agent.ask(turning(1, directive_seen=1)) == first


async def test_rule_5_a_turn_sent_twice_with_other_content_ends_the_stream(
    server: Served,
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    await agent.ask(turning(1))
    await agent.say(turning(1, output_lines=99))
    code, info = await agent.refused()

    assert (code, info.reason) == (grpc.StatusCode.ABORTED, "SEQUENCE_CONFLICT")


async def test_rule_5_a_repeat_that_is_too_old_is_rejected_without_ending_the_stream(
    server: Served,
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    for sequence in range(1, 258):
        await agent.ask(turning(sequence))

    kept = (await agent.ask(turning(2))).decision
    too_old = (await agent.ask(turning(1))).decision

    assert not kept.HasField("rejection")
    assert too_old.rejection.reason == "DUPLICATE_TOO_OLD"
    assert (await agent.ask(turning(258))).decision.sequence == 258


async def test_rule_6_close_ends_the_session_and_the_stream_with_ok(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    await agent.ask(turning(1))
    await agent.say(closing(outcome=run_pb2.RUN_OUTCOME_SUCCEEDED, final_answer="42"))
    await agent.half_close()
    assert await agent.ended() is grpc.StatusCode.OK

    again = Agent(server)
    await again.say(opening())
    code, info = await again.refused()
    assert (code, info.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_CLOSED")


async def test_rule_6_a_turn_after_close_is_refused(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    await agent.say(closing())
    await agent.say(turning(1))
    code, info = await agent.refused()

    assert (code, info.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_CLOSED")


@pytest.mark.parametrize("breaks", [True, False])
async def test_rule_7_a_stream_that_ends_without_close_only_detaches(
    server: Served, breaks: bool
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    await agent.ask(turning(1))
    if breaks:
        agent.vanish()
    else:
        await agent.half_close()
        assert await agent.ended() is grpc.StatusCode.OK

    assert (await Agent(server).ask(opening())).opened.last_sequence == 1


async def test_rule_7_an_idle_session_can_be_resumed_until_its_time_is_over(
    server: Served,
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    await agent.half_close()
    await agent.ended()

    server.world.clock.advance(3599)
    server.sessions.sweep()
    resumed = Agent(server)
    await resumed.ask(opening())
    await resumed.half_close()
    await resumed.ended()
    server.world.clock.advance(3600)
    server.sessions.sweep()
    late = Agent(server)
    await late.say(opening())
    code, info = await late.refused()

    assert (code, info.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_CLOSED")


async def test_rule_7_an_attached_session_never_expires(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    server.world.clock.advance(36_000)
    server.sessions.sweep()

    assert (await agent.ask(turning(1))).decision.sequence == 1


async def test_rule_7_a_second_stream_takes_the_session_over(server: Served) -> None:
    first = Agent(server)
    await first.ask(opening())
    await first.ask(turning(1))
    second = Agent(server)
    opened = (await second.ask(opening())).opened
    code, info = await first.refused()

    assert (code, info.reason) == (grpc.StatusCode.ABORTED, "SESSION_TAKEN_OVER")
    assert opened.last_sequence == 1
    assert (await second.ask(turning(2))).decision.sequence == 2


async def test_rule_7_many_take_overs_leave_one_stream(server: Served) -> None:
    agents = [Agent(server) for _ in range(10)]
    for agent in agents:
        await agent.ask(opening())
    last = Agent(server)
    await last.ask(opening())
    endings = [await agent.refused() for agent in agents]

    assert {info.reason for _, info in endings} == {"SESSION_TAKEN_OVER"}
    assert server.service.streams == 1
    assert (await last.ask(turning(1))).decision.sequence == 1


@pytest.mark.parametrize(
    ("field", "changed"),
    [
        ("policy", {"policy": "debug"}),
        ("limits", {"limits": run_pb2.Limits(max_turns=3)}),
        ("mode", {"mode": run_pb2.MODE_OBSERVE}),
    ],
)
async def test_rule_7_a_resume_with_another_open_is_refused(
    server: Served, field: str, changed: dict[str, Any]
) -> None:
    await Agent(server).ask(opening())
    again = Agent(server)
    await again.say(opening(**changed))
    code, info = await again.refused()

    assert (code, info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "OPEN_MISMATCH")


async def test_rule_7_naming_the_default_policy_is_no_other_open(server: Served) -> None:
    await Agent(server).ask(opening())

    assert (await Agent(server).ask(opening(policy="default"))).opened.session_id == "s"


async def test_rule_8_draining_is_said_on_every_stream_and_new_ones_are_refused(
    server: Served,
) -> None:
    agents = [Agent(server) for _ in range(3)]
    for number, agent in enumerate(agents):
        await agent.ask(opening(f"s{number}"))
    server.sessions.drain()
    for agent in agents:
        assert (await agent.hear()).HasField("draining")
        await agent.half_close()
        assert await agent.ended() is grpc.StatusCode.OK

    late = Agent(server)
    await late.say(opening("late"))
    code, info = await late.refused()
    assert (code, info.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")


async def test_rule_8_a_turn_sent_before_the_half_close_is_still_decided(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    server.sessions.drain()
    await agent.say(turning(1))
    await agent.half_close()
    heard = [await agent.hear(), await agent.hear()]

    assert {response.WhichOneof("message") for response in heard} == {"draining", "decision"}


async def test_rule_8_a_heartbeat_is_never_answered_and_renews_the_idle_time(
    server: Served,
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    server.world.clock.advance(3000)
    await agent.say(heartbeat())
    # The answer to the turn says that the heartbeat before it was read, and not answered.
    assert (await agent.ask(turning(1))).decision.sequence == 1
    await agent.half_close()
    await agent.ended()
    server.world.clock.advance(3000)
    server.sessions.sweep()

    assert (await Agent(server).ask(opening())).opened.last_sequence == 1


async def test_a_gap_inside_a_stream_names_the_turn_expected(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    await agent.ask(turning(1))
    await agent.say(turning(3))
    code, info = await agent.refused()

    assert (code, info.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SEQUENCE_GAP")
    assert info.metadata["expected"] == "2"


async def test_an_unknown_policy_is_refused_with_the_known_ones(server: Served) -> None:
    agent = Agent(server)
    await agent.say(opening(policy="nonesuch"))
    code, info = await agent.refused()

    assert (code, info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "POLICY_UNKNOWN")


async def test_the_stream_after_the_last_allowed_one_is_refused_and_counted(
    world: World,
) -> None:
    from dataclasses import replace

    world.stream_bounds = replace(world.stream_bounds, streams_max=2)
    async with served(world) as server:
        for name in ("a", "b"):
            await Agent(server).ask(opening(name))
        third = Agent(server)
        await third.say(opening("c"))
        code, info = await third.refused()

        assert (code, info.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "STREAMS_MAX")
        assert world.recorder.of(WasRefused) == [WasRefused(reason="STREAMS_MAX")]


async def test_give_ups_reported_twice_count_once(server: Served) -> None:
    agent = Agent(server)
    timeouts = run_pb2.GiveUp(reason="timeout", count=3)
    await agent.ask(opening(client_instance="c", give_ups=[timeouts]))
    await agent.say(heartbeat(give_ups=[timeouts]))
    await agent.say(heartbeat(give_ups=[run_pb2.GiveUp(reason="timeout", count=5)]))
    await agent.ask(turning(1))

    assert server.world.recorder.of(GaveUp) == [
        GaveUp(reason="timeout", count=3),
        GaveUp(reason="timeout", count=2),
    ]
