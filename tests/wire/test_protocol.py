"""Rules 1 to 5 of Observe: how a stream opens and what it answers; and what it refuses."""

import asyncio
from collections import Counter
from dataclasses import replace
from typing import Any

import grpc

from sidecar.adapters.calls.turns import GIVE_UPS_MAX
from sidecar.testing.recorder import GaveUp, WasLost, WasRefused, WereMissing
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


async def test_rule_4_what_was_said_while_nobody_listened_follows_opened(server: Served) -> None:
    from sidecar.v1 import session_service_pb2 as admin_pb

    agent = Agent(server)
    await agent.ask(opening())
    await agent.ask(turning(1))
    await agent.half_close()
    await agent.ended()
    await server.control.ContinueSession(
        admin_pb.ContinueSessionRequest(session_id="s", reason="a person said so")
    )
    back = Agent(server)
    assert (await back.ask(opening())).opened.last_sequence == 1
    decision = (await back.hear()).decision

    assert (decision.cause, decision.sequence) == (run_pb2.CAUSE_OPERATOR, 1)
    assert (await back.ask(turning(2))).decision.cause == run_pb2.CAUSE_TURN


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


async def test_a_gap_inside_a_stream_names_the_turn_expected(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    await agent.ask(turning(1))
    await agent.say(turning(3))
    code, info = await agent.refused()

    assert (code, info.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "SEQUENCE_GAP")
    assert info.metadata["expected"] == "2"


async def test_an_unknown_policy_is_refused(server: Served) -> None:
    agent = Agent(server)
    await agent.say(opening(policy="nonesuch"))
    code, info = await agent.refused()

    assert (code, info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "POLICY_UNKNOWN")


async def test_of_2000_streams_opened_at_once_each_beyond_the_bound_is_told_why(
    world: World,
) -> None:
    """gRPC by itself resets some of more than 1,000 that wait to be looked at."""
    world.stream_bounds = replace(world.stream_bounds, streams_max=5)
    async with served(world) as server:
        calls = [server.convergence.Observe(timeout=60) for _ in range(2000)]
        first = await asyncio.gather(
            *(_first_word(call, opening(f"s{number}")) for number, call in enumerate(calls))
        )
        for call in calls:
            call.cancel()

    assert Counter(first) == {"opened": 5, "RESOURCE_EXHAUSTED": 1995}
    assert world.recorder.of(WasRefused) == [WasRefused(reason="STREAMS_MAX")] * 1995


async def _first_word(call: Any, request: pb.ObserveRequest) -> str:
    try:
        await call.write(request)
        response = await call.read()
    except (grpc.RpcError, asyncio.InvalidStateError):
        response = grpc.aio.EOF
    if response is grpc.aio.EOF:
        return str((await call.code()).name)
    return str(response.WhichOneof("message"))


async def test_the_stream_after_the_last_allowed_one_is_refused_and_counted(
    world: World,
) -> None:
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
    await agent.ask(opening(agent_name="coder", client_instance="c", give_ups=[timeouts]))
    await agent.say(heartbeat(give_ups=[timeouts]))
    await agent.say(heartbeat(give_ups=[run_pb2.GiveUp(reason="timeout", count=5)]))
    await agent.ask(turning(1))

    assert server.world.recorder.of(GaveUp) == [
        GaveUp(agent="coder", reason="timeout", count=3),
        GaveUp(agent="coder", reason="timeout", count=2),
    ]


async def test_a_total_of_give_ups_beyond_its_bound_is_no_measurement(server: Served) -> None:
    bad = run_pb2.GiveUp(reason="timeout", count=GIVE_UPS_MAX + 1)
    good = run_pb2.GiveUp(reason="stream", count=GIVE_UPS_MAX)
    await Agent(server).ask(opening(client_instance="c", give_ups=[bad, good]))
    recorder = server.world.recorder

    assert recorder.of(GaveUp) == [GaveUp(agent="", reason="stream", count=GIVE_UPS_MAX)]
    assert recorder.of(WasLost) == [WasLost(what="measurement", reason="too_large", count=1)]
