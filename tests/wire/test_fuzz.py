"""Bytes that no client sends: the stream lives, or ends with a status of docs/protocol.md, and the
next legal turn on a new stream is answered."""

import asyncio
import json
import logging
import time
from dataclasses import replace
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.adapters.calls.cohort import Cohort
from sidecar.adapters.calls.large_turns import read_turn
from sidecar.adapters.convert import TurnReader
from sidecar.core.turn import Turn
from sidecar.ports import Rejected
from sidecar.presets import preset
from sidecar.refusal import Reason
from sidecar.testing.recorder import WasRefused
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from sidecar.v1 import session_service_pb2 as admin_pb
from tests.wire.served import (
    ANSWER_WITHIN_S,
    KEY,
    Agent,
    Served,
    closing,
    detail_of,
    heartbeat,
    looping,
    opening,
    turning,
)

OBSERVE = "/sidecar.v1.ConvergenceService/Observe"
REASONS = {reason.value for reason in Reason} - {"INTERNAL"}
FUZZ = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
READER = TurnReader(key=KEY, lens=preset("default").lens)

strange = st.text(st.sampled_from("a1 :/\\\"'`[]{}(),.<>|\n\r\t\0\x1b=-_é漢\u0344"), max_size=60)
SEEDS = [
    opening(labels={"a": "b"}, limits=run_pb2.Limits(max_turns=5)),
    looping(1),
    turning(2, text="I am stuck. " * 30, failures=[run_pb2.Failure(message="line 3: no")]),
    turning(1, usage=run_pb2.Usage(input_tokens=5, cost_usd=0.1), id="t", approach="again"),
    heartbeat(
        give_ups=[run_pb2.GiveUp(reason="timeout", count=3)],
    ),
    closing(reason="over"),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A message that a client sends, with some of its bytes changed, cut or doubled."""
    raw = bytearray(draw(st.sampled_from(SEEDS)).SerializeToString())
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, max(0, len(raw) - 1)))
        match draw(st.sampled_from(("set", "cut", "double"))):
            case "set":
                raw[at : at + 1] = bytes([draw(st.integers(0, 255))])
            case "cut":
                del raw[at : at + draw(st.integers(1, 9))]
            case "double":
                raw[at:at] = raw[at : at + draw(st.integers(1, 30))]
    return bytes(raw)


hostile = st.one_of(mutated(), mutated(), st.binary(max_size=80))


async def end_of(call: Any, heard: list[bytes]) -> tuple[grpc.StatusCode, str]:
    """Read what comes until the stream ends; its status and reason."""
    try:
        while (raw := await call.read()) is not grpc.aio.EOF:
            heard.append(raw)
    except grpc.aio.AioRpcError:
        pass
    info = detail_of(await call.trailing_metadata(), error_details_pb2.ErrorInfo)
    return await call.code(), info.reason


async def next_legal_turn_is_answered(server: Served) -> None:
    agent = Agent(server)
    opened = (await agent.ask(opening(""))).opened
    assert opened.last_sequence == 0
    assert (await agent.ask(turning(1))).decision.sequence == 1
    await agent.half_close()
    assert await agent.ended() is grpc.StatusCode.OK


@FUZZ
@given(messages=st.lists(hostile, max_size=6), begins=st.booleans())
async def test_any_bytes_on_a_stream_end_it_by_the_error_table_or_not_at_all(
    server: Served, messages: list[bytes], begins: bool
) -> None:
    call: Any = server.agent.stream_stream(OBSERVE)(timeout=ANSWER_WITHIN_S)
    heard: list[bytes] = []
    try:
        for raw in [opening("").SerializeToString()] * begins + messages:
            await call.write(raw)
        await call.done_writing()
        wrote = True
    except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
        wrote = False  # it has ended already, and grpc.aio hides why behind the failed write
    code, reason = await end_of(call, heard)

    assert not wrote or code is grpc.StatusCode.OK or reason in REASONS, code
    assert {refused.reason for refused in server.world.recorder.of(WasRefused)} <= REASONS
    for raw in heard:
        assert pb.ObserveResponse.FromString(raw).WhichOneof("message")
    await next_legal_turn_is_answered(server)
    assert server.service.streams == 0


@FUZZ
@given(fields=st.lists(st.tuples(strange, strange, strange), max_size=5), said=strange)
async def test_any_content_of_a_turn_is_answered(
    server: Served, fields: list[tuple[str, str, str]], said: str
) -> None:
    calls = [
        run_pb2.ToolCall(
            name=name, arguments_json=arguments, result_text=result, outcome=run_pb2.OUTCOME_ERROR
        )
        for name, arguments, result in fields
    ] + [
        run_pb2.ToolCall(name="bash", arguments_json=json.dumps({"command": text}))
        for text, _, _ in fields
    ]
    agent = Agent(server)
    await agent.ask(opening(""))
    answer = await agent.ask(turning(1, tool_calls=calls, text=said, approach=said, id=said))

    assert answer.decision.sequence == 1
    assert not answer.decision.HasField("rejection")
    await agent.half_close()
    assert await agent.ended() is grpc.StatusCode.OK


@FUZZ
@given(raw=st.one_of(mutated(), st.binary(max_size=80)))
async def test_any_record_turn_that_is_a_message_is_answered_or_refused_by_the_error_table(
    server: Served, raw: bytes
) -> None:
    request = pb.RecordTurnRequest()
    try:
        said = pb.ObserveRequest.FromString(raw)
    except Exception:  # noqa: BLE001 - whatever protobuf calls bytes that are no message
        said = turning(0)
    request.open.CopyFrom(said.open)
    request.turn.CopyFrom(said.turn)
    try:
        answer = await server.convergence.RecordTurn(request)
    except grpc.aio.AioRpcError as error:
        info = detail_of(error.trailing_metadata(), error_details_pb2.ErrorInfo)
        assert info.reason in REASONS
    else:
        assert answer.decision.sequence or answer.decision.rejection.reason or said.open.mode
    await next_legal_turn_is_answered(server)


@pytest.mark.parametrize("raw", [b"\xff\xff", b"\x12\x03\x12\x01\xff", b"\x12\x7f"])
async def test_what_is_no_message_ends_the_stream_without_a_trace_in_the_log(
    server: Served, raw: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    call: Any = server.agent.stream_stream(OBSERVE)(timeout=ANSWER_WITHIN_S)
    await call.write(opening().SerializeToString())
    await call.read()
    await call.write(raw)

    assert await end_of(call, []) == (grpc.StatusCode.INVALID_ARGUMENT, "REQUEST_INVALID")
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    await next_legal_turn_is_answered(server)


UNENDED = '\\"' * 14_000
SLOW: dict[str, dict[str, Any]] = {
    "an unended string among brackets": {"arguments_json": "[" * 101 + UNENDED},
    "an unended string in a command": {"arguments_json": json.dumps({"command": "ls; " + UNENDED})},
    "an unended string in a raw command": {"arguments_json": "ls; " + UNENDED},
}


@pytest.mark.parametrize("why", SLOW)
def test_reading_takes_time_that_grows_with_the_text_and_not_with_its_square(why: str) -> None:
    wire = run_pb2.Turn(tool_calls=[run_pb2.ToolCall(name="bash", **SLOW[why])])
    began_s = time.process_time()
    READER.read(wire)

    # A linear read takes 3 ms, the squared one 2.5 s and more.
    assert time.process_time() - began_s < 0.5


def large(**facts: Any) -> run_pb2.Turn:
    """A turn that takes more than a moment to read."""
    text = "src/a.py:3: error: no such name\n" * 20
    calls = [
        run_pb2.ToolCall(
            name=f"tool{number % 7}",
            id=str(number),
            arguments_json=json.dumps({"command": f"ls {number}"}),
            result_text=f"{text}{number}",
            outcome=number % 4,  # type: ignore[arg-type]  # of every kind
        )
        for number in range(100)
    ]
    return run_pb2.Turn(sequence=3, text=text, tool_calls=calls, **facts)


@pytest.mark.parametrize(
    "wire",
    [
        large(id="t", output_lines=4, usage=run_pb2.Usage(input_tokens=7)),
        large(failures=[run_pb2.Failure(kind="E", message=f"line {n}: no") for n in range(30)]),
        large(failures=[run_pb2.Failure(message="no")] * 257),
        run_pb2.Turn(sequence=1, text="a phrase of its own. " * 4000),
    ],
    ids=["calls", "failures", "too many failures", "text"],
)
async def test_a_large_turn_is_read_as_it_would_be_at_once(wire: run_pb2.Turn) -> None:
    at_once = READER.read(wire)
    assert await read_turn(READER, wire, [], cohort=Cohort(), at_once_s=0) == at_once


async def test_a_large_turn_has_the_score_of_its_latest_result() -> None:
    reader = TurnReader(key=KEY, lens=replace(READER.lens, score="run {number}"))
    wire = large()
    for number, call in enumerate(wire.tool_calls):
        call.result_text += f" of run {number}"

    read = await read_turn(reader, wire, [], cohort=Cohort(), at_once_s=0)
    assert isinstance(read, Turn)
    assert read.reward == len(wire.tool_calls) - 1


async def turns_of_the_loop(wire: run_pb2.Turn) -> int:
    """How often others come to their turn while this one is read, if reading is slow."""
    reading = asyncio.ensure_future(read_turn(READER, wire, [], cohort=Cohort(), at_once_s=0))
    turns = 0
    while not reading.done():
        await asyncio.sleep(0)
        turns += 1
    return turns


async def test_while_a_large_turn_is_read_others_are_answered() -> None:
    wire = large()
    assert await turns_of_the_loop(wire) >= 2 * len(wire.tool_calls)


async def test_while_a_large_turn_is_read_others_do_not_wait_for_one_another() -> None:
    cohort, others = Cohort(), list[str]()

    async def somebody_else_came_first() -> bool:
        asyncio.get_running_loop().call_soon(others.append, "somebody")
        with cohort, cohort:
            await cohort.abreast()
        return bool(others)

    reading = asyncio.create_task(read_turn(READER, large(), [], cohort=cohort, at_once_s=0))
    await asyncio.sleep(0)
    assert not await somebody_else_came_first()
    await reading
    assert await somebody_else_came_first()


async def test_while_errors_are_read_others_are_answered() -> None:
    error = "line 7: 10:04:31 (12:5) 0x1f 1.5 12345 'x' @abcdef1 [::1] ::1 /tmp/a a.py:1:2 "
    wire = run_pb2.Turn(failures=[run_pb2.Failure(message=error * 700)] * 40)
    assert await turns_of_the_loop(wire) > 20


async def test_of_a_rejected_turn_nothing_is_kept_beyond_the_bound() -> None:
    most = READER.bounds.tool_calls_max
    calls, failures = [run_pb2.ToolCall()] * (most + 9), [run_pb2.Failure()] * (most + 9)
    wire = run_pb2.Turn(sequence=2, tool_calls=calls, failures=failures)

    assert isinstance(await read_turn(READER, wire, [], cohort=Cohort()), Rejected)
    assert (len(wire.tool_calls), len(wire.failures)) == (most, most)


async def test_one_turn_recorded_by_many_calls_at_once_is_one_turn(server: Served) -> None:
    turn = large(id="t1")
    turn.sequence = 0
    request = pb.RecordTurnRequest(open=run_pb2.Open(session_id="s"), turn=turn)
    answers = await asyncio.gather(*(server.convergence.RecordTurn(request) for _ in range(5)))

    assert {answer.decision.decision_id for answer in answers} == {answers[0].decision.decision_id}
    assert server.sessions.get("s").last_sequence == 1


@pytest.mark.parametrize(
    ("field", "facts"),
    [
        ("session_id", {"session_id": "é" * 65}),
        ("previous_session_id", {"previous_session_id": "p" * 129}),
        ("first_available_sequence", {"first_available_sequence": 2**31 + 1}),
    ],
)
async def test_an_opening_beyond_its_bounds_is_refused(
    server: Served, field: str, facts: dict[str, Any]
) -> None:
    agent = Agent(server)
    await agent.say(pb.ObserveRequest(open=run_pb2.Open(**facts)))
    code, info = await agent.refused()

    assert (code, info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "OPEN_INVALID"), field
    assert list(server.sessions.held()) == []


async def test_a_client_name_and_a_closing_reason_are_kept_cut(server: Served) -> None:
    long = "n" * 1_000_000
    totals = [run_pb2.GiveUp(reason="timeout", count=1)]
    agent = Agent(server)
    await agent.ask(opening(client_instance=long, give_ups=totals))
    await agent.say(closing(reason=long))
    await agent.half_close()
    await agent.ended()
    closed = server.sessions.get("s").closing

    assert closed is not None
    assert len(closed.reason) == 128
    assert max(map(len, server.calls.turns._give_ups._counted)) == 128


async def test_totals_beyond_what_the_wire_counts_are_shown_at_its_end(server: Served) -> None:
    most = 2**53
    usage = run_pb2.Usage(input_tokens=most, output_tokens=most)
    progress = run_pb2.Progress(files_changed=most)
    agent = Agent(server)
    await agent.ask(opening())
    for sequence in range(1, 1026):
        await agent.say(turning(sequence, usage=usage, progress=progress))
        await agent.hear()
    shown = await server.control.GetSession(admin_pb.GetSessionRequest(session_id="s"))

    assert shown.session.totals.input_tokens == 2**63 - 1
    assert shown.session.totals.files_changed == 2**63 - 1
