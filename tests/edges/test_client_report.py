"""What becomes of what a caller reports: it is sent, made sendable, or left out and counted."""

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.client import Failure, ToolCall
from sidecar.client.compose import compose_turn
from sidecar.client.intake import Intake
from sidecar.v1 import run_pb2 as pb

KIB_64 = 64 * 1024


def composed(**report: Any) -> tuple[pb.Turn, list[str]]:
    intake = Intake()
    turn = compose_turn(report, intake, began_s=100.5, ended_s=101.25)
    turn.SerializeToString()
    return turn, intake.faults


class Unprintable:
    """Raises wherever it can."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


def raising() -> Iterator[ToolCall]:
    yield ToolCall(name="first")
    raise RuntimeError("no")


def circular() -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["itself"] = found
    return found


def deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(100_000):
        found = [found]
    return found


def shared(depth: int) -> list[Any]:
    """Lists, each with the one before it twice: 2**depth parts when written out."""
    found: list[Any] = [1]
    for _ in range(depth):
        found = [found, found]
    return found


def test_every_field_of_a_turn_can_be_reported() -> None:
    turn, faults = composed(
        id="t",
        traceparent="00-1-2-01",
        actor="tester",
        approach="bisect",
        user_input=True,
        input_tokens=1,
        output_tokens=2,
        cache_read_input_tokens=3,
        cache_write_input_tokens=4,
        context_tokens=5,
        context_window=6,
        cost_usd=0.5,
        tool_calls=[
            ToolCall(
                id="c",
                name="grep",
                arguments={"pattern": "x"},
                result="found",
                result_kind="plain",
                call_kind="overview",
                outcome="denied",
                duration_s=1.5,
                error_position_digest="p",
            )
        ],
        failures=[Failure(kind="exit 1", message="m", fingerprint="f", fingerprint_strict="s")],
        text="hello",
        text_repeats=7,
        text_length=8,
        output_lines=9,
        files_changed=10,
        files_changed_outside_plan=11,
        tasks_completed=12,
        tasks_aligned=13,
        tests_passed=14,
        tests_failed=15,
        test_coverage_ratio=0.25,
        confidence=0.75,
        reward=-1.0,
        final_answer="42",
        start_time=datetime(2026, 1, 1, tzinfo=UTC),
        end_time=1.5,
    )

    assert faults == []
    left_to_the_exchange = {"sequence", "directive_seen", "text_digest"}
    unset = set(pb.Turn.DESCRIPTOR.fields_by_name) - {field.name for field, _ in turn.ListFields()}
    assert unset == left_to_the_exchange
    assert len(turn.usage.ListFields()) == len(pb.Usage.DESCRIPTOR.fields)
    assert len(turn.progress.ListFields()) == len(pb.Progress.DESCRIPTOR.fields)
    assert len(turn.failures[0].ListFields()) == len(pb.Failure.DESCRIPTOR.fields)
    digests = 2
    assert len(turn.tool_calls[0].ListFields()) == len(pb.ToolCall.DESCRIPTOR.fields) - digests
    assert json.loads(turn.tool_calls[0].arguments_json) == {"pattern": "x"}
    assert turn.tool_calls[0].duration.ToMilliseconds() == 1500
    assert turn.start_time.ToJsonString() == "2026-01-01T00:00:00Z"
    assert turn.end_time.ToMilliseconds() == 1500


def test_what_is_not_reported_is_absent_and_not_zero() -> None:
    turn, faults = composed()

    assert faults == []
    assert {field.name for field, _ in turn.ListFields()} == {"start_time", "end_time"}
    assert turn.start_time.ToMilliseconds() == 100_500
    assert turn.end_time.ToMilliseconds() == 101_250


def test_digests_go_in_place_of_what_they_stand_for() -> None:
    call = ToolCall(name="read", arguments_digest="a1", result_digest="b2", result_kind="running")
    turn, faults = composed(tool_calls=[call], text_digest="c3", text="not sent")

    assert faults == []
    assert turn.tool_calls[0].arguments_digest == "a1"
    assert turn.tool_calls[0].result_digest == "b2"
    assert turn.tool_calls[0].result_kind == pb.RESULT_KIND_RUNNING
    assert turn.text_digest == "c3"
    assert b"not sent" not in turn.SerializeToString()


@pytest.mark.parametrize(
    ("call", "outcome", "result"),
    [
        ({"result": "fine"}, pb.OUTCOME_UNSPECIFIED, "fine"),
        ({"error": "no such file"}, pb.OUTCOME_ERROR, "no such file"),
        ({"error": KeyError("k")}, pb.OUTCOME_ERROR, "KeyError: 'k'"),
        ({"error": TimeoutError()}, pb.OUTCOME_ERROR, "TimeoutError"),
        ({"result": "out", "error": "exit 1"}, pb.OUTCOME_ERROR, "out\nexit 1"),
        ({"error": "no", "outcome": "denied"}, pb.OUTCOME_DENIED, "no"),
        ({"error": True}, pb.OUTCOME_ERROR, ""),
        ({"error": "", "result": "x"}, pb.OUTCOME_UNSPECIFIED, "x"),
        ({"error": None, "result": {"a": [1]}}, pb.OUTCOME_UNSPECIFIED, '{"a": [1]}'),
        ({"result": b"by\xfftes"}, pb.OUTCOME_UNSPECIFIED, "by\ufffdtes"),
        ({"result": ""}, pb.OUTCOME_UNSPECIFIED, ""),
    ],
)
def test_an_error_makes_the_outcome_and_its_text_the_result(
    call: dict[str, Any], outcome: int, result: str
) -> None:
    (from_mapping,) = composed(tool_calls=[{"name": "sh", **call}])[0].tool_calls
    (from_value,) = composed(tool_calls=[ToolCall(name="sh", **call)])[0].tool_calls

    assert from_mapping == from_value
    assert (from_mapping.outcome, from_mapping.result_text) == (outcome, result)


def test_a_result_that_was_not_reported_is_another_than_an_empty_one() -> None:
    (unreported, empty) = composed(tool_calls=[{"name": "a"}, {"name": "a", "result": ""}])[
        0
    ].tool_calls

    assert not unreported.HasField("result_text")
    assert empty.HasField("result_text")


def test_failures_may_be_strings_exceptions_and_mappings() -> None:
    turn, faults = composed(failures=["broken", ValueError("bad"), {"kind": "exit 1"}])

    assert faults == []
    assert [(one.kind, one.message) for one in turn.failures] == [
        ("", "broken"),
        ("ValueError", "bad"),
        ("exit 1", ""),
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("input_tokens", math.nan),
        ("input_tokens", math.inf),
        ("input_tokens", -1),
        ("input_tokens", 2**63),
        pytest.param("input_tokens", 10**5000, id="too many digits for a string"),
        ("input_tokens", 1.5),
        ("input_tokens", "many"),
        ("input_tokens", Unprintable()),
        ("input_tokens", True),
        ("files_changed", False),
        ("cost_usd", True),
        ("confidence", False),
        ("start_time", True),
        ("cost_usd", math.nan),
        ("cost_usd", -0.01),
        ("cost_usd", 10**400),
        ("test_coverage_ratio", 87),
        ("confidence", math.inf),
        ("reward", object()),
        ("start_time", -5.0),
        ("start_time", "2026"),
        ("end_time", 1e300),
        ("tool_calls", 7),
        ("tool_calls", "grep"),
        ("tool_calls", [Unprintable()]),
        ("tool_calls", [None]),
        ("failures", 7),
        ("failures", [None]),
        ("no_such_field", 1),
    ],
)
def test_what_cannot_be_sent_is_left_out_and_counted(field: str, value: Any) -> None:
    turn, faults = composed(**{field: value})

    assert set(faults) == {field}
    names = {one.name for one, _ in turn.ListFields()}
    assert names <= {"start_time", "end_time"}


@pytest.mark.parametrize(
    ("field", "value", "sent"),
    [
        ("text", "a\ud800b", "a?b"),
        ("text", 42, "42"),
        ("text", Unprintable(), "Unprintable"),
        ("approach", ["a"], "['a']"),
        ("approach", "x" * 500, "x" * 128),
        ("final_answer", b"by\xfftes", "by\ufffdtes"),
    ],
)
def test_what_is_no_text_is_sent_as_one(field: str, value: Any, sent: str) -> None:
    turn, faults = composed(**{field: value})

    assert getattr(turn, field) == sent
    assert set(faults) == (set() if isinstance(value, str) and value.isascii() else {field})


@pytest.mark.parametrize(
    "arguments",
    [
        {"n": math.nan},
        {"o": object()},
        {"u": Unprintable()},
        {"big": 10**5000},
        {"s": {1, 2}},
        {(1, 2): "tuple key"},
        {"\ud800": "\udfff"},
        circular(),
        deep(),
    ],
)
def test_arguments_that_are_no_json_are_sent_as_near_to_it_as_they_come(arguments: Any) -> None:
    turn, faults = composed(tool_calls=[{"name": "f", "arguments": arguments}])

    assert faults
    assert turn.tool_calls[0].arguments_json


@pytest.mark.parametrize(
    "report",
    [
        {"tool_calls": [{"name": "x", "arguments": {"tree": shared(40)}}]},
        {"tool_calls": [{"name": "x", "result": shared(40)}]},
        {"tool_calls": [{"name": "x", "error": ValueError(shared(40))}]},
        {"tool_calls": [{"name": "x", "outcome": shared(40)}]},
        {"text": shared(40)},
        {"failures": [ValueError("no", shared(40))]},
        {"failures": [{"message": shared(40)}]},
        {"approach": shared(40)},
    ],
)
def test_parts_that_are_shared_are_not_written_out_without_end(report: dict[str, Any]) -> None:
    turn, faults = composed(**report)

    assert turn.ByteSize() <= KIB_64 + 1024
    assert faults


def test_shared_parts_are_written_as_often_as_they_stand_there() -> None:
    turn, faults = composed(tool_calls=[{"name": "x", "arguments": {"tree": shared(10)}}])

    assert json.loads(turn.tool_calls[0].arguments_json) == {"tree": shared(10)}
    assert faults == []


def test_of_too_many_parts_the_first_are_sent_and_the_rest_by_their_type() -> None:
    rows = [[row] * 1000 for row in range(300)]
    sent = json.loads(Intake().any_text("result", rows))

    assert sent[:199] == rows[:199]
    assert sent[199][-1] == "int"
    assert sent[200:] == ["list"] * 100


def test_what_came_before_an_iterable_raised_is_kept() -> None:
    turn, faults = composed(tool_calls=raising())

    assert [call.name for call in turn.tool_calls] == ["first"]
    assert faults == ["tool_calls"]


def test_what_is_beside_a_none_is_kept() -> None:
    turn, faults = composed(tool_calls=[None, ToolCall(name="first"), None])

    assert [call.name for call in turn.tool_calls] == ["first"]
    assert faults == ["tool_calls"]


def test_a_call_without_end_stops_at_256() -> None:
    turn, faults = composed(tool_calls=iter(lambda: ToolCall(name="again"), None))

    assert len(turn.tool_calls) == 256
    assert faults == ["tool_calls"]


def test_a_key_that_a_tool_call_does_not_have_is_named() -> None:
    turn, faults = composed(tool_calls=[{"name": "f", "args": {}}])

    assert turn.tool_calls[0].name == "f"
    assert faults == ["tool_calls.args"]


@given(
    st.dictionaries(
        st.sampled_from(["tool_calls", "failures", "text", "input_tokens", "cost_usd", "id", "x"]),
        st.recursive(
            st.none()
            | st.booleans()
            | st.floats()
            | st.integers()
            | st.text(st.characters())
            | st.binary(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=20,
        ),
    )
)
def test_anything_at_all_becomes_a_turn(report: dict[str, Any]) -> None:
    composed(**report)
