"""Turns that say wrong things: measured as far as it makes sense, or not counted, and never the
end of the stream. docs/protocol.md has the table that these tests hold."""

import asyncio
import json
import math
from typing import Any

import pytest

from sidecar.adapters.convert.numbers import END_BEFORE_START, times
from sidecar.testing.recorder import WasLost, WasRejected
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from tests.wire.served import ANSWER_WITHIN_S, Agent, Served, opening, turning

DEEP = "[" * 10_000 + "]" * 10_000


def call(**facts: Any) -> run_pb2.ToolCall:
    return run_pb2.ToolCall(name="tool", **facts)


@pytest.mark.parametrize(
    ("why", "facts"),
    [
        ("NaN is no measurement", {"confidence": math.nan, "reward": math.inf}),
        ("a count below zero", {"output_lines": -5}),
        ("a count beyond any", {"output_lines": 2**62}),
        ("tokens below zero", {"usage": run_pb2.Usage(input_tokens=-1, cost_usd=math.nan)}),
        ("coverage beyond one", {"progress": run_pb2.Progress(test_coverage_ratio=80)}),
        ("arguments that are not JSON", {"tool_calls": [call(arguments_json="{not json")]}),
        ("arguments nested 10,000 deep", {"tool_calls": [call(arguments_json=DEEP)]}),
        ("an array for arguments", {"tool_calls": [call(arguments_json="[1, 2]")]}),
        ("a megabyte of text", {"text": " ".join(map(chr, range(0x4E00, 0x9000))) * 16}),
        ("a megabyte of result", {"tool_calls": [call(result_text="x" * 1_000_000)]}),
        ("a megabyte of one error", {"failures": [run_pb2.Failure(message="e1 " * 300_000)]}),
        ("enum values of a later version", {"tool_calls": [call(outcome=99, result_kind=77)]}),
        ("a clock that goes back",
         {"start_time": {"seconds": 2_000_000_000}, "end_time": {"seconds": 1_000_000_000}}),
        ("a time beyond any calendar", {"end_time": {"seconds": 2**60}}),
        ("a duration below zero", {"tool_calls": [call(duration={"seconds": -5})]}),
        ("a duration that overflows", {"tool_calls": [call(duration={"seconds": 2**62})]}),
        ("a traceparent that is none", {"traceparent": "x" * 10_000}),
        ("a name of a megabyte", {"tool_calls": [run_pb2.ToolCall(name="n" * 1_000_000)]}),
        ("an actor of a megabyte", {"actor": "a" * 1_000_000}),
        ("a call without a name", {"tool_calls": [run_pb2.ToolCall()]}),
        ("zeros and other control characters", {"text": "\0\1\2" * 100, "approach": "\0"}),
        ("a decision seen that was never made", {"directive_seen": 4_000_000_000}),
        ("nothing at all", {}),
    ],
)  # fmt: skip
async def test_what_makes_no_sense_is_taken_as_not_said(
    server: Served, why: str, facts: dict[str, Any]
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    decision = (await agent.ask(pb.ObserveRequest(turn=run_pb2.Turn(sequence=1, **facts)))).decision

    assert decision.sequence == 1, why
    assert not decision.HasField("rejection"), why
    assert decision.state == run_pb2.STATE_HEALTHY, why
    assert (await agent.ask(turning(2))).decision.sequence == 2, why


@pytest.mark.parametrize(
    ("field", "facts", "reason"),
    [
        ("tool_calls", {"tool_calls": [call()] * 257}, "TOOL_CALLS_MAX"),
        ("failures", {"failures": [run_pb2.Failure(message="no")] * 257}, "FAILURES_MAX"),
    ],
)
async def test_a_turn_beyond_its_bounds_is_not_counted_and_the_stream_goes_on(
    server: Served, field: str, facts: dict[str, Any], reason: str
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    request = pb.ObserveRequest(turn=run_pb2.Turn(sequence=1, **facts))
    decision = (await agent.ask(request)).decision
    again = (await agent.ask(request)).decision

    assert decision.rejection.reason == reason
    assert decision.rejection.field == field
    assert "256" in decision.rejection.description
    assert decision.HasField("proceed")
    assert again == decision
    assert (await agent.ask(turning(2))).decision.sequence == 2
    assert server.sessions.get("s").run.state.totals.turns == 1


async def test_failures_that_say_nothing_are_not_one_and_the_same(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    said = [
        (await agent.ask(turning(number, failures=[run_pb2.Failure()]))).decision
        for number in range(1, 7)
    ]

    assert {decision.WhichOneof("directive") for decision in said} == {"proceed"}
    assert [reading for decision in said for reading in decision.readings] == []


async def test_where_all_failures_say_nothing_the_results_of_failed_calls_tell_of_errors(
    server: Served,
) -> None:
    """As where none are reported: the journal has it so, and what it says has to be the same."""
    said = {}
    for name, failures in (("none", []), ("empty", [run_pb2.Failure()])):
        agent = Agent(server)
        await agent.ask(opening(name))
        said[name] = [
            (
                await agent.ask(
                    turning(
                        number,
                        failures=failures,
                        tool_calls=[
                            call(
                                arguments_json=json.dumps({"n": number}),
                                outcome=run_pb2.OUTCOME_ERROR,
                                result_text="Error: no such table x",
                            )
                        ],
                    )
                )
            ).decision.WhichOneof("directive")
            for number in range(1, 6)
        ]

    assert "rotate" in said["none"]
    assert said["empty"] == said["none"]


async def test_a_turn_without_a_sequence_is_told_where_sequences_begin(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    first = (await agent.ask(turning(0))).decision
    await agent.ask(turning(1))
    later = (await agent.ask(turning(0))).decision

    for decision in (first, later):
        assert (decision.sequence, decision.rejection.reason) == (0, "SEQUENCE_INVALID")
        assert decision.rejection.field == "turn.sequence"
        assert "sequence 1" in decision.rejection.description
    assert [record.rejected.sequence for record in server.world.recorder.of(WasRejected)] == [0, 0]
    assert (await agent.ask(turning(2))).decision.sequence == 2


async def test_a_turn_at_its_bound_is_counted(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    calls = [call(arguments_json=json.dumps({"n": number})) for number in range(256)]
    request = pb.ObserveRequest(turn=run_pb2.Turn(sequence=1, tool_calls=calls))

    assert not (await agent.ask(request)).decision.HasField("rejection")


async def test_an_absurd_turn_of_one_agent_does_not_touch_another(server: Served) -> None:
    good, bad = Agent(server), Agent(server)
    await good.ask(opening("good"))
    await bad.ask(opening("bad"))
    await bad.say(pb.ObserveRequest(turn=run_pb2.Turn(sequence=1, text="a1 " * 300_000)))
    answers = await asyncio.gather(good.ask(turning(1)), bad.hear())

    assert [answer.decision.sequence for answer in answers] == [1, 1]


async def test_labels_beyond_the_bound_are_left_out_and_counted(server: Served) -> None:
    labels = {f"key{number:02}": "v" * 1000 for number in range(40)}
    await Agent(server).ask(opening(labels=labels))
    kept = server.sessions.get("s").facts.opening.labels

    assert [key for key, _ in kept] == [f"key{number:02}" for number in range(16)]
    assert {len(value) for _, value in kept} == {128}
    lost = server.world.recorder.of(WasLost)
    assert lost == [WasLost(what="label", reason="labels_max", count=24)]


async def test_labels_of_an_open_that_resumes_are_not_used_and_not_counted(server: Served) -> None:
    labels = {f"key{number:02}": "v" for number in range(20)}
    opened = run_pb2.Open(session_id="s", labels=labels)
    for _ in range(3):
        await server.convergence.RecordTurn(
            pb.RecordTurnRequest(open=opened, turn=run_pb2.Turn()), timeout=ANSWER_WITHIN_S
        )
    await Agent(server).ask(opening(labels=labels))

    lost = server.world.recorder.of(WasLost)
    assert lost == [WasLost(what="label", reason="labels_max", count=4)]


@pytest.mark.parametrize(
    ("facts", "counted"),
    [
        ({"confidence": math.nan, "reward": math.inf}, {"not_a_number": 1, "too_large": 1}),
        ({"reward": -math.inf}, {"too_small": 1}),
        ({"output_lines": -5}, {"too_small": 1}),
        ({"output_lines": 2**53}, {}),
        ({"output_lines": 2**53 + 1}, {"too_large": 1}),
        (
            {"text_digest": "5f", "text_length": -1, "text_repeats": 2**60},
            {"too_small": 1, "too_large": 1},
        ),
        (
            {
                "usage": run_pb2.Usage(
                    input_tokens=-1,
                    output_tokens=-1,
                    cache_read_input_tokens=-1,
                    cache_write_input_tokens=-1,
                    context_tokens=-1,
                    context_window=-1,
                    cost_usd=math.nan,
                )
            },
            {"too_small": 6, "not_a_number": 1},
        ),
        (
            {
                "progress": run_pb2.Progress(
                    files_changed=2**60,
                    files_changed_outside_plan=2**60,
                    tasks_completed=2**60,
                    tasks_aligned=2**60,
                    tests_passed=2**60,
                    tests_failed=2**60,
                    test_coverage_ratio=80,
                )
            },
            {"too_large": 7},
        ),
        (
            {"start_time": {"seconds": 2_000}, "end_time": {"seconds": 1_000}},
            {"end_before_start": 1},
        ),
        ({"end_time": {"seconds": 2**60}, "start_time": {"seconds": -1}},
         {"too_large": 1, "too_small": 1}),
        ({"start_time": {"seconds": 253_402_300_799, "nanos": 999_999_999}}, {"too_large": 1}),
        ({"tool_calls": [call(duration={"seconds": -5}), call(duration={"seconds": 2**62})]},
         {"too_small": 1, "too_large": 1}),
        ({"usage": run_pb2.Usage(), "progress": run_pb2.Progress(), "output_lines": 0}, {}),
    ],
)  # fmt: skip
async def test_each_measurement_that_makes_no_sense_is_counted_once(
    server: Served, facts: dict[str, Any], counted: dict[str, int]
) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    request = pb.ObserveRequest(turn=run_pb2.Turn(sequence=1, **facts))
    await agent.ask(request)
    await agent.ask(request)

    lost = server.world.recorder.of(WasLost)
    assert {one.what for one in lost} <= {"measurement"}
    assert {one.reason: one.count for one in lost} == counted
    assert len(lost) == len(counted)


async def test_measurements_of_a_call_without_a_stream_are_counted_too(server: Served) -> None:
    turn = run_pb2.Turn(sequence=1, output_lines=-1)
    request = pb.RecordTurnRequest(open=run_pb2.Open(session_id="s"), turn=turn)
    await server.convergence.RecordTurn(request)
    await server.convergence.RecordTurn(request)

    lost = server.world.recorder.of(WasLost)
    assert lost == [WasLost(what="measurement", reason="too_small", count=1)]


async def test_of_a_turn_that_is_not_counted_no_measurement_is_either(server: Served) -> None:
    agent = Agent(server)
    await agent.ask(opening())
    turn = run_pb2.Turn(sequence=1, output_lines=-1, tool_calls=[call()] * 257)
    await agent.ask(pb.ObserveRequest(turn=turn))

    assert server.world.recorder.of(WasLost) == []


async def test_limits_that_make_no_sense_are_no_limits(server: Served) -> None:
    limits = run_pb2.Limits(max_turns=-1, input_tokens_max=0, cost_usd_max=math.nan)
    agent = Agent(server)
    await agent.ask(opening(limits=limits))

    assert (await agent.ask(turning(1))).decision.state == run_pb2.STATE_HEALTHY


def test_of_a_turn_that_ends_before_it_starts_only_the_end_is_believed() -> None:
    turn = run_pb2.Turn()
    turn.start_time.seconds, turn.end_time.seconds = 20, 10
    doubts: list[str] = []

    assert times(turn, doubts) == (None, 10.0)
    assert doubts == [END_BEFORE_START]
