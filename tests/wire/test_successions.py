"""Sessions that follow others, and sessions that are met again after a restart, over the wire."""

from typing import Any

import grpc
import pytest

from sidecar.v1 import run_pb2
from sidecar.v1 import session_service_pb2 as admin_pb
from tests.wire.served import Agent, Served, World, looping, opening, reason_of, served
from tests.wire.test_record_turn import recording


async def shown(server: Served, session_id: str) -> admin_pb.Session:
    answer = await server.control.GetSession(admin_pb.GetSessionRequest(session_id=session_id))
    session: admin_pb.Session = answer.session
    return session


async def test_a_session_goes_on_in_recovery_with_what_another_spent(server: Served) -> None:
    before = Agent(server)
    await before.ask(opening("before", limits=run_pb2.Limits(max_turns=8)))
    for sequence in range(1, 6):
        await before.ask(looping(sequence))
    after = Agent(server)
    opened = (await after.ask(opening("after", previous_session_id="before"))).opened
    decision = (await after.ask(looping(1))).decision

    assert not opened.previous_missing
    assert decision.state == run_pb2.STATE_RECOVERY
    assert not (await shown(server, "after")).previous_missing
    assert (await shown(server, "after")).totals.turns == 6


async def test_an_agent_is_told_that_the_session_to_go_on_from_is_not_held(
    server: Served,
) -> None:
    agent = Agent(server)
    opened = (await agent.ask(opening("s", previous_session_id="nobody"))).opened
    decision = (await agent.ask(looping(1))).decision
    resumed = (await Agent(server).ask(opening("s"))).opened

    assert opened.previous_missing
    assert resumed.previous_missing
    assert decision.state == run_pb2.STATE_HEALTHY
    assert (await shown(server, "s")).previous_missing
    assert (await shown(server, "s")).previous_session_id == "nobody"


async def test_a_caller_without_a_stream_is_told_so_too(server: Served) -> None:
    answer = await server.convergence.RecordTurn(
        recording(opened={"previous_session_id": "nobody"})
    )

    assert answer.opened.previous_missing
    assert answer.decision.sequence == 1


async def test_a_retry_of_a_turn_that_was_not_counted_is_not_another_turn(server: Served) -> None:
    calls = [run_pb2.ToolCall(name="tool")] * 257
    first = await server.convergence.RecordTurn(recording(id="t1", tool_calls=calls))
    again = await server.convergence.RecordTurn(recording(id="t1", tool_calls=calls))

    assert first.decision.rejection.reason == "TOOL_CALLS_MAX"
    assert again.decision == first.decision
    assert again.opened.last_sequence == 1


async def test_a_turn_is_read_by_the_session_s_policy_whatever_the_default_is_by_now(
    world: World,
) -> None:
    """`autonomous` takes a missing module for another missing one; `default` does not."""

    def missing(module: str) -> Any:
        message = f"ModuleNotFoundError: No module named '{module}'"
        return recording(failures=[run_pb2.Failure(message=message)])

    world.default_policy = "autonomous"
    async with served(world) as server:
        for module in ("a", "b"):
            await server.convergence.RecordTurn(missing(module))
    world.default_policy = "default"
    async with served(world) as server:
        answer = await server.convergence.RecordTurn(missing("c"))

    assert answer.opened.policy == "autonomous"
    assert [reading.signal for reading in answer.decision.readings] == ["spin"]


@pytest.mark.parametrize(
    ("field", "facts"),
    [("reason", {"reason": "r" * 1025}), ("request_id", {"reason": "r", "request_id": "i" * 129})],
)
async def test_a_command_with_too_long_a_text_is_refused_with_its_field(
    server: Served, field: str, facts: dict[str, str]
) -> None:
    await Agent(server).ask(opening())
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await server.control.ResetSession(admin_pb.ResetSessionRequest(session_id="s", **facts))

    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert reason_of(refused.value).reason == "REQUEST_INVALID"
    assert f"bytes of {field}" in (refused.value.details() or "")


async def test_a_request_repeated_after_a_restart_does_nothing_more(world: World) -> None:
    request = admin_pb.ContinueSessionRequest(
        session_id="s", reason="go on", extra_turns=5, request_id="r1"
    )
    async with served(world) as server:
        await Agent(server).ask(opening(limits=run_pb2.Limits(max_turns=10)))
        await server.control.ContinueSession(request)
    world.store.break_snapshot("s")
    async with served(world) as server:
        again = await server.control.ContinueSession(request)

    assert again.session.limits.max_turns == 15
