"""P4: at each bound it works; beyond it there is the documented answer, and its counter moves by
one. A key that ends in `_max` without a row here fails the last test."""

import json
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2

from sidecar.adapters.convert import TurnBounds, TurnReader
from sidecar.adapters.grpc.readable import received_bytes_max
from sidecar.config.keys import Config, bounds
from sidecar.core.digests import digest
from sidecar.presets import preset
from sidecar.sessions.sessions import SessionBounds
from sidecar.testing.recorder import WasDetached, WasLost, WasRefused, WasRejected
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from sidecar.v1 import session_service_pb2 as admin_pb
from tests.wire.served import (
    ANSWER_WITHIN_S,
    KEY,
    Agent,
    World,
    detail_of,
    opening,
    served,
    turning,
)

TESTS = Path(__file__).parents[1]
ELSEWHERE = {
    "label_values_max": "edges/test_metric_bounds.py::"
    "test_a_thousand_names_make_ten_values_and_other",
    "counter_series_max": "edges/test_series_bound.py::"
    "test_beyond_the_bound_names_from_outside_are_other_and_at_last_every_value_is",
    "span_queue_max": "edges/test_span_queue.py::test_a_full_queue_admits_no_more_and_counts_each",
    "journal_bytes_max": "edges/test_sqlite_retention.py::"
    "test_a_journal_at_its_bound_is_kept_and_an_entry_more_prunes_the_oldest",
    "journal_queue_max": "edges/test_sqlite_faults.py::"
    "test_what_waited_is_written_when_the_directory_can_be_reached",
    "snapshot_bytes_max": "edges/test_stores.py::"
    "test_a_snapshot_at_the_bound_is_kept_and_a_byte_more_is_not",
    "watchers_max": "wire/test_admin.py::test_the_watcher_after_the_last_allowed_one_is_refused",
    "streams_max": "wire/test_protocol.py::"
    "test_the_stream_after_the_last_allowed_one_is_refused_and_counted",
    "client_instances_max": "edges/test_give_ups.py::"
    "test_so_many_clients_are_remembered_and_the_one_heard_of_longest_ago_counts_again",
    "loop_files_max": "edges/test_loop_files.py::"
    "test_the_oldest_files_are_removed_beyond_the_bound",
    "labels_max": "wire/test_bad_input.py::test_labels_beyond_the_bound_are_left_out_and_counted",
    "decisions_kept_max": "wire/test_protocol.py::"
    "test_rule_5_a_repeat_that_is_too_old_is_rejected_without_ending_the_stream",
    **dict.fromkeys(
        (
            "model_calls_max",
            "model_tokens_max",
            "model_cost_usd_max",
            "session_model_calls_max",
            "session_model_tokens_max",
            "session_model_cost_usd_max",
        ),
        "wire/test_model_bounds.py::test_at_a_bound_of_the_day_calls_are_refused_until_midnight",
    ),
    "model_concurrency_max": "wire/test_model_bounds.py::"
    "test_more_calls_at_a_time_than_allowed_are_refused",
    "judge.cost_usd_max": "edges/test_purse.py::"
    "test_the_judge_has_an_allowance_of_its_own_within_that_of_all",
    "texts_kept_bytes_max": "edges/test_kept_texts.py::"
    "test_exactly_the_room_that_there_is_can_be_filled_and_a_byte_more_drops_the_oldest",
    "model_output_tokens_max": "process/test_answers.py::"
    "test_a_key_file_a_base_url_a_model_and_its_output_can_be_configured",
}
"""Bounds whose rows are beside what they bound."""

HERE = ("sessions_max", "message_bytes_max", "tool_calls_max", "text_bytes_max")
"""Bounds whose tests below begin with their keys."""


async def test_sessions_max_evicts_the_longest_idle_session_first(world: World) -> None:
    world.bounds = SessionBounds(sessions_max=2)
    async with served(world) as server:
        for name in ("a", "b"):
            agent = Agent(server)
            await agent.ask(opening(name))
            await agent.ask(turning(1))
            await agent.half_close()
            await agent.ended()
        await Agent(server).ask(opening("c"))

        assert [session.id for session in server.sessions.held()] == ["c", "b"]
        detached = world.recorder.of(WasDetached)
        assert [(gone.session.opening.session_id, gone.reason) for gone in detached] == [
            ("a", "evicted")
        ]
        assert (await Agent(server).ask(opening("a"))).opened.last_sequence == 1


async def test_sessions_max_refuses_when_every_session_is_attached(world: World) -> None:
    world.bounds = SessionBounds(sessions_max=2)
    async with served(world) as server:
        for name in ("a", "b"):
            await Agent(server).ask(opening(name))
        third = server.convergence.Observe(timeout=ANSWER_WITHIN_S)
        await third.write(opening("c"))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await third.read()

        metadata = refused.value.trailing_metadata()
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert detail_of(metadata, error_details_pb2.ErrorInfo).reason == "SESSIONS_MAX"
        assert detail_of(metadata, error_details_pb2.RetryInfo).retry_delay.seconds == 1
        assert world.recorder.of(WasRefused) == [WasRefused(reason="SESSIONS_MAX")]


def fill(message: Message, turn: run_pb2.Turn, *, size_bytes: int) -> None:
    """Give the message's turn the text that makes the message so large."""
    turn.text = "x" * size_bytes
    turn.text = "x" * (2 * size_bytes - message.ByteSize())
    assert message.ByteSize() == size_bytes


def turn_of_size(sequence: int, size_bytes: int) -> pb.ObserveRequest:
    request = turning(sequence)
    fill(request, request.turn, size_bytes=size_bytes)
    return request


def expect_message_bytes_max(refused: grpc.aio.AioRpcError) -> None:
    metadata = refused.trailing_metadata()
    error_info = detail_of(metadata, error_details_pb2.ErrorInfo)
    assert refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (error_info.reason, error_info.domain) == ("MESSAGE_BYTES_MAX", "sidecar")
    assert dict(error_info.metadata) == {"message_bytes_max": "10000"}
    assert detail_of(metadata, error_details_pb2.RetryInfo).retry_delay.seconds == 1


async def test_message_bytes_max_ends_only_the_stream_that_went_beyond(world: World) -> None:
    world.message_bounds = replace(world.message_bounds, message_bytes_max=10_000)
    async with served(world) as server:
        other, agent = Agent(server), Agent(server)
        await other.ask(opening("other"))
        opened = (await agent.ask(opening("s"))).opened
        assert opened.turn_bytes_max == 10_000
        assert (await agent.ask(turn_of_size(1, 10_000))).decision.sequence == 1
        await agent.say(turn_of_size(2, 10_001))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await agent.ended()

        expect_message_bytes_max(refused.value)
        assert world.recorder.of(WasRefused) == [WasRefused(reason="MESSAGE_BYTES_MAX")]
        assert (await other.ask(turning(1))).decision.sequence == 1
        assert (await Agent(server).ask(opening("s"))).opened.last_sequence == 1


async def test_message_bytes_max_holds_for_the_first_message_of_a_stream(world: World) -> None:
    world.message_bounds = replace(world.message_bounds, message_bytes_max=10_000)
    async with served(world) as server:
        agent = Agent(server)
        await agent.say(opening("s", agent_name="x" * 10_000))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await agent.ended()

        expect_message_bytes_max(refused.value)


async def test_message_bytes_max_holds_for_calls_of_one_message(world: World) -> None:
    world.message_bounds = replace(world.message_bounds, message_bytes_max=10_000)
    async with served(world) as server:
        request = pb.RecordTurnRequest(turn=run_pb2.Turn(sequence=1, output_lines=1))
        request.open.session_id = "s"
        fill(request, request.turn, size_bytes=10_000)
        assert (await server.convergence.RecordTurn(request)).decision.sequence == 1
        fill(request, request.turn, size_bytes=10_001)
        name = "x" * 10_000
        for call in (
            server.convergence.RecordTurn(request),
            server.control.GetSession(admin_pb.GetSessionRequest(session_id=name)),
            server.control.WatchSession(admin_pb.WatchSessionRequest(session_id=name)).read(),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call
            expect_message_bytes_max(refused.value)

        assert world.recorder.of(WasRefused) == [WasRefused(reason="MESSAGE_BYTES_MAX")] * 3


async def test_message_bytes_max_is_grpc_s_own_beyond_what_is_let_in(world: World) -> None:
    world.message_bounds = replace(world.message_bounds, message_bytes_max=10_000)
    most = received_bytes_max(10_000)
    async with served(world) as server:
        for size_bytes, reason in ((most, "MESSAGE_BYTES_MAX"), (most + 1, "")):
            agent = Agent(server)
            await agent.ask(opening(f"s{size_bytes}"))
            await agent.say(turn_of_size(1, size_bytes))
            code, error_info = await agent.refused()

            assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert error_info.reason == reason


async def test_tool_calls_max_rejects_the_turn(world: World) -> None:
    world.turn_bounds = TurnBounds(tool_calls_max=2)
    async with served(world) as server:
        agent = Agent(server)
        await agent.ask(opening())
        call = run_pb2.ToolCall(name="tool", arguments_json="{}")
        at = (await agent.ask(turning(1, tool_calls=[call] * 2))).decision
        beyond = (await agent.ask(turning(2, tool_calls=[call] * 3))).decision

        assert not at.HasField("rejection")
        assert beyond.rejection.reason == "TOOL_CALLS_MAX"
        rejected = [one.rejected.rejection.reason for one in world.recorder.of(WasRejected)]
        assert rejected == ["TOOL_CALLS_MAX"]


@pytest.mark.parametrize(("length", "alike"), [(1000, False), (1001, True)])
async def test_text_bytes_max_reads_so_much_and_no_more(
    world: World, length: int, alike: bool
) -> None:
    world.turn_bounds = TurnBounds(text_bytes_max=1000)
    half, rest = "y" * 500, "y" * (length - 501)
    async with served(world) as server:
        agent = Agent(server)
        await agent.ask(opening())
        for sequence in range(1, 5):
            text = f"{half}{sequence}{rest}"
            call = run_pb2.ToolCall(name="t", arguments_json="{}", result_text=text)
            answer = await agent.ask(turning(sequence, tool_calls=[call]))

        assert bool(answer.decision.readings) is alike
        cut = WasLost(what="text", reason="text_bytes_max", count=1)
        assert world.recorder.of(WasLost) == ([cut] * 4 if alike else [])


def saying(place: str, text: str) -> run_pb2.Turn:
    """A turn with the text in that place."""
    failed = run_pb2.OUTCOME_ERROR
    match place:
        case "text":
            return run_pb2.Turn(sequence=1, text=text)
        case "failure":
            return run_pb2.Turn(sequence=1, failures=[run_pb2.Failure(message=text)])
        case "arguments":
            call = run_pb2.ToolCall(name="t", arguments_json=text)
        case "result":
            call = run_pb2.ToolCall(name="t", arguments_json="{}", result_text=text)
        case _:
            call = run_pb2.ToolCall(name="t", arguments_json="{}", result_text=text, outcome=failed)
    return run_pb2.Turn(sequence=1, tool_calls=[call])


THOUSAND = TurnReader(key=KEY, lens=preset("default").lens, bounds=TurnBounds(text_bytes_max=1000))
ERROR = "\nerror: no\n"


@pytest.mark.parametrize("place", ["text", "failure", "result", "error"])
@pytest.mark.parametrize(("length", "alike"), [(1000, False), (1001, True)])
def test_of_a_text_above_text_bytes_max_the_middle_is_not_read(
    place: str, length: int, alike: bool
) -> None:
    begin, end = f"{'y' * 489}{ERROR}"[-500:], f"{ERROR}{'y' * 499}"[: length - 501]
    first, second = (THOUSAND.read(saying(place, f"{begin}{odd}{end}")) for odd in "zx")

    assert (first == second) is alike


@pytest.mark.parametrize("place", ["text", "failure", "arguments", "result", "error"])
def test_texts_above_text_bytes_max_that_differ_at_their_ends_differ(place: str) -> None:
    texts = (f"{'y' * 2000}{ERROR}{last}" for last in ("so", "not so"))
    first, second = (THOUSAND.read(saying(place, text)) for text in texts)

    assert first != second


@pytest.mark.parametrize("length", [65_536, 65_537, 200_000])
@pytest.mark.parametrize("last", ["a", "b"])
def test_a_text_of_any_length_has_the_digest_that_a_client_makes_of_it(
    length: int, last: str
) -> None:
    text = ("word " * (length // 5 + 1))[: length - 1] + last
    arguments = json.dumps({"content": text})
    reader = TurnReader(key=KEY, lens=preset("default").lens)
    read = reader.read(
        run_pb2.Turn(
            sequence=1,
            text=text,
            tool_calls=[run_pb2.ToolCall(name="t", arguments_json=arguments, result_text=text)],
        )
    )
    digested = reader.read(
        run_pb2.Turn(
            sequence=1,
            text_digest=digest.text_digest(text),
            text_length=len(text),
            text_repeats=digest.text_repeats(text),
            tool_calls=[
                run_pb2.ToolCall(
                    name="t",
                    arguments_digest=digest.arguments_digest(arguments),
                    result_digest=digest.result_digest(text),
                )
            ],
        )
    )

    assert read == digested


async def test_texts_that_are_cut_are_counted_once_each(world: World) -> None:
    world.turn_bounds = TurnBounds(text_bytes_max=10, tool_calls_max=2)
    long = "y" * 11
    call = run_pb2.ToolCall(name="t", arguments_json=long, result_text=long)
    call.outcome = run_pb2.OUTCOME_ERROR
    failure = run_pb2.Failure(message=long)
    async with served(world) as server:
        agent = Agent(server)
        await agent.ask(opening())
        turn = turning(1, text=long, tool_calls=[call, call], failures=[failure])
        await agent.ask(turn)
        await agent.ask(turn)
        await agent.ask(turning(2, text=long, tool_calls=[call] * 3))

    assert world.recorder.of(WasLost) == [WasLost(what="text", reason="text_bytes_max", count=4)]


@pytest.mark.parametrize("bound", sorted(bounds(Config())))
def test_every_bound_has_a_row(bound: str) -> None:
    here = f"wire/{Path(__file__).name}::test_{bound}_"
    path, _, test = (here if bound in HERE else ELSEWHERE[bound]).partition("::")
    assert f"def {test}" in (TESTS / path).read_text()
