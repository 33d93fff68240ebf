"""RecordTurn: one turn of a caller that cannot hold a stream."""

from typing import Any

import grpc
import pytest

from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from tests.wire.served import Agent, Served, World, opening, reason_of, served, turning


def recording(
    session_id: str = "s", opened: dict[str, Any] | None = None, **facts: Any
) -> pb.RecordTurnRequest:
    facts.setdefault("output_lines", 1)
    return pb.RecordTurnRequest(
        open=run_pb2.Open(session_id=session_id, **(opened or {})), turn=run_pb2.Turn(**facts)
    )


async def test_the_sidecar_numbers_turns_that_have_no_number(server: Served) -> None:
    answers = [await server.convergence.RecordTurn(recording(output_lines=n)) for n in range(3)]

    assert [answer.decision.sequence for answer in answers] == [1, 2, 3]
    assert [answer.opened.last_sequence for answer in answers] == [1, 2, 3]


async def test_a_retry_with_the_same_id_gets_the_same_decision(server: Served) -> None:
    first = await server.convergence.RecordTurn(recording(id="t1"))
    again = await server.convergence.RecordTurn(recording(id="t1"))
    other = await server.convergence.RecordTurn(recording(id="t2"))

    assert again.decision == first.decision
    assert other.decision.sequence == 2


async def test_a_retry_with_an_id_that_is_kept_cut_gets_the_same_decision(server: Served) -> None:
    first = await server.convergence.RecordTurn(recording(id="t" * 200))
    again = await server.convergence.RecordTurn(recording(id="t" * 200))

    assert again.decision == first.decision


async def test_an_id_used_for_another_turn_is_a_conflict(server: Served) -> None:
    await server.convergence.RecordTurn(recording(id="t1"))
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await server.convergence.RecordTurn(recording(id="t1", output_lines=7))

    assert refused.value.code() is grpc.StatusCode.ABORTED
    assert reason_of(refused.value).reason == "SEQUENCE_CONFLICT"


async def test_a_streaming_session_is_not_taken_over(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await server.convergence.RecordTurn(recording())

    assert refused.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert reason_of(refused.value).reason == "SESSION_STREAMING"
    assert (await agent.ask(turning(1))).decision.sequence == 1


async def test_a_stream_goes_on_where_single_turns_stopped(server: Served) -> None:
    await server.convergence.RecordTurn(recording())

    assert (await Agent(server).ask(opening())).opened.last_sequence == 1


async def test_an_observed_turn_is_not_answered(server: Served) -> None:
    answer = await server.convergence.RecordTurn(recording(opened={"mode": run_pb2.MODE_OBSERVE}))

    assert not answer.HasField("decision")
    assert answer.opened.last_sequence == 1


async def test_a_close_ends_the_session_after_the_turn(server: Served) -> None:
    request = recording()
    request.close.outcome = run_pb2.RUN_OUTCOME_SUCCEEDED
    answer = await server.convergence.RecordTurn(request)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await server.convergence.RecordTurn(recording())

    assert answer.decision.sequence == 1
    assert reason_of(refused.value).reason == "SESSION_CLOSED"


async def test_a_call_that_closed_its_session_gets_the_same_decision_when_it_is_sent_again(
    server: Served,
) -> None:
    for number in range(1, 5):
        await server.convergence.RecordTurn(recording(id=f"t{number}"))
    request = recording(id="last")
    request.close.outcome = run_pb2.RUN_OUTCOME_SUCCEEDED
    first = await server.convergence.RecordTurn(request)
    entries = server.sessions.get("s").entries
    again = await server.convergence.RecordTurn(request)

    assert again == first
    assert server.sessions.get("s").entries == entries


async def test_a_call_that_closed_its_session_gets_the_same_decision_after_a_restart(
    world: World,
) -> None:
    request = recording(id="last")
    request.close.outcome = run_pb2.RUN_OUTCOME_SUCCEEDED
    async with served(world) as server:
        first = await server.convergence.RecordTurn(request)
    async with served(world) as server:
        assert await server.convergence.RecordTurn(request) == first


async def test_a_closed_session_takes_no_other_turn_and_no_other_content(server: Served) -> None:
    request = recording(id="last")
    request.close.outcome = run_pb2.RUN_OUTCOME_SUCCEEDED
    await server.convergence.RecordTurn(request)
    other, changed = pb.RecordTurnRequest(), pb.RecordTurnRequest()
    other.CopyFrom(request)
    other.turn.id = "other"
    changed.CopyFrom(request)
    changed.turn.output_lines = 7
    reasons = []
    for refused in (other, changed, pb.RecordTurnRequest(open=request.open)):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await server.convergence.RecordTurn(refused)
        reasons.append(reason_of(error.value).reason)

    assert reasons == ["SESSION_CLOSED", "SEQUENCE_CONFLICT", "SESSION_CLOSED"]


async def test_a_close_without_a_turn_may_be_said_again(server: Served) -> None:
    await server.convergence.RecordTurn(recording())
    request = pb.RecordTurnRequest(open=run_pb2.Open(session_id="s"), close=run_pb2.Close())
    first = await server.convergence.RecordTurn(request)

    assert await server.convergence.RecordTurn(request) == first


async def test_a_call_without_a_turn_only_opens(server: Served) -> None:
    answer = await server.convergence.RecordTurn(
        pb.RecordTurnRequest(open=run_pb2.Open(session_id="s"))
    )

    assert answer.opened.last_sequence == 0
    assert not answer.HasField("decision")
