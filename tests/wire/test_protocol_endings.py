"""Rules 6 to 8 of Observe: how a stream ends, and how its session goes on."""

from typing import Any, cast

import grpc
import pytest

from sidecar.v1 import run_pb2
from tests.wire.served import (
    Agent,
    Served,
    closing,
    heartbeat,
    opening,
    turning,
)


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


class GoneWhileWrittenTo:
    """What gRPC gives to a servicer, of an agent that goes before it has read an answer."""

    def __init__(self) -> None:
        self.requests = [opening(), turning(1)]

    def invocation_metadata(self) -> tuple[()]:
        return ()

    def peer(self) -> str:
        return "unix:"

    async def read(self) -> Any:
        return self.requests.pop(0)

    async def write(self, response: Any) -> None:
        if response.HasField("decision"):
            raise grpc.aio.InternalError


async def test_rule_7_an_agent_that_goes_while_it_is_written_to_only_detaches(
    server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    await server.service.Observe(None, cast("Any", GoneWhileWrittenTo()))

    assert caplog.messages == []
    assert server.service.streams == 0
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
