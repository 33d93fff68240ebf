"""Values that raise when they are asked what they are, and values in the place of others: what
cannot be used is lost alone."""

import os
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import pytest

from sidecar.client import AsyncClient, Client, Failure, Kind, ToolCall
from sidecar.client.interruption import is_from_signal
from sidecar.v1 import run_pb2 as pb
from tests.edges.test_client_report import composed

NOBODY = "unix:/nonexistent/agent.sock"


class Lazy:
    """As a proxy of werkzeug's or Django's, of which nothing is there yet."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("outside of a request")


class Ambiguous:
    """As an array of numpy's: it compares part by part, and has no truth."""

    def __eq__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")

    def __str__(self) -> str:
        return "[1 2]"

    __hash__ = None  # type: ignore[assignment]


class Falsy:
    def __bool__(self) -> bool:
        return False


class Errors(Exception):  # noqa: N818 (a collection)
    """A collection of errors, of which it has none."""

    def __len__(self) -> int:
        return 0


class Outcome(str, Enum):  # noqa: UP042 (whose string is its name)
    ERROR = "error"


class HalfRead(Mapping[str, object]):
    """Raises after its first key."""

    def __iter__(self) -> Iterator[str]:
        yield "name"
        raise RuntimeError("no")

    def __getitem__(self, key: str) -> object:
        return "grep"

    def __len__(self) -> int:
        return 2


class OnlyNamed(ToolCall):
    def __getattribute__(self, name: str) -> Any:
        if name == "result":
            raise RuntimeError("no")
        return super().__getattribute__(name)


class NoPath(os.PathLike[str]):
    def __fspath__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __fspath__


@pytest.mark.parametrize("field", ["input_tokens", "confidence", "start_time", "tool_calls"])
def test_a_value_that_does_not_say_what_it_is_is_left_out_alone(field: str) -> None:
    turn, faults = composed(**{field: Lazy(), "output_tokens": 5})

    assert set(faults) == {field}
    assert turn.usage.output_tokens == 5


@pytest.mark.parametrize("field", ["text", "final_answer", "approach", "text_digest"])
@pytest.mark.parametrize("kind", [Lazy, Ambiguous])
def test_where_a_text_is_meant_it_goes_by_its_string(field: str, kind: type) -> None:
    value = kind()
    turn, faults = composed(**{field: value})

    assert getattr(turn, field) == str(value)
    assert set(faults) == {field}


@pytest.mark.parametrize("kind", [Lazy, Ambiguous, Falsy])
@pytest.mark.parametrize(
    "field", ["id", "arguments", "arguments_digest", "result_digest", "outcome", "duration_s"]
)
def test_of_a_call_the_rest_is_sent(field: str, kind: type) -> None:
    call = {"name": "sh", "result": "fine", field: kind()}
    turn, faults = composed(tool_calls=[call])

    assert turn.tool_calls[0].name == "sh"
    assert turn.tool_calls[0].result_text == ("" if field == "result_digest" else "fine")
    assert set(faults) == {field}


def test_deep_inside_of_what_is_sent_as_json_it_goes_by_its_string_too() -> None:
    turn, faults = composed(tool_calls=[{"name": "f", "arguments": {"a": [Lazy(), 1]}}])

    assert turn.tool_calls[0].arguments_json.endswith('>", 1]}')
    assert faults == ["arguments"]


@pytest.mark.parametrize("option", ["agent_name", "max_turns", "labels", "timeout_s", "token"])
async def test_a_client_may_be_made_of_it(option: str) -> None:
    options: dict[str, Any] = {option: Lazy()}
    with Client(NOBODY, **options) as run:
        assert run.turn(text="a").kind is Kind.PROCEED
        assert run.give_ups["internal"] == 1
    async with AsyncClient(NOBODY, **options) as other:
        assert (await other.turn(text="a")).kind is Kind.PROCEED
        assert other.give_ups["internal"] == 1


def test_a_path_that_cannot_be_read_is_counted_alone() -> None:
    with Client(NOBODY, root_certificates=NoPath()) as run:
        assert run.turn(text="a").kind is Kind.PROCEED
        assert run.give_ups["internal"] == 1


def test_no_handler_of_a_signal_is_seen_in_a_frame_that_was_given_such_a_value() -> None:
    def fail(value: object, frame: object) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no") as raised:
        fail(Lazy(), Lazy())

    assert not is_from_signal(raised.value)


@pytest.mark.parametrize(
    ("error", "outcome", "result", "counted"),
    [
        ("", pb.OUTCOME_UNSPECIFIED, "out", False),
        (False, pb.OUTCOME_UNSPECIFIED, "out", False),
        (0, pb.OUTCOME_UNSPECIFIED, "out", True),
        ([], pb.OUTCOME_UNSPECIFIED, "out", True),
        (Falsy, pb.OUTCOME_UNSPECIFIED, "out", True),
        (True, pb.OUTCOME_ERROR, "out", False),
        (1, pb.OUTCOME_ERROR, "out\n1", False),
        (Errors, pb.OUTCOME_ERROR, "out\nErrors", False),
        (Ambiguous, pb.OUTCOME_ERROR, 'out\n"[1 2]"', True),
        (Outcome.ERROR, pb.OUTCOME_ERROR, "out\nerror", False),
    ],
)
def test_an_error_is_one_unless_it_says_that_it_is_none(
    error: Any, outcome: int, result: str, counted: bool
) -> None:
    value = error() if isinstance(error, type) else error
    turn, faults = composed(tool_calls=[{"name": "sh", "result": "out", "error": value}])

    assert (turn.tool_calls[0].outcome, turn.tool_calls[0].result_text) == (outcome, result)
    assert set(faults) == ({"error"} if counted else set())


@pytest.mark.parametrize("nothing", [None, "", b""])
def test_a_digest_that_is_empty_stands_for_nothing(nothing: Any) -> None:
    digests = dict.fromkeys(("arguments_digest", "result_digest"), nothing)
    call = {"name": "f", "arguments": "{}", "result": "r", **digests}
    turn, faults = composed(tool_calls=[call], text="t", text_digest=nothing)

    assert (turn.text, turn.tool_calls[0].result_text) == ("t", "r")
    assert turn.tool_calls[0].arguments_json == "{}"
    assert faults == []


def test_a_choice_may_be_a_member_of_an_enumeration_of_texts() -> None:
    turn, faults = composed(tool_calls=[{"name": "f", "outcome": Outcome.ERROR}])

    assert turn.tool_calls[0].outcome == pb.OUTCOME_ERROR
    assert faults == []


@pytest.mark.parametrize(
    ("alone", "kind", "message"),
    [
        ("boom", "", "boom"),
        (b"boom", "", "boom"),
        (ValueError("bad"), "ValueError", "bad"),
        ({"kind": "exit 1"}, "exit 1", ""),
        (Failure(kind="exit 1", message="m"), "exit 1", "m"),
    ],
)
def test_a_failure_that_stands_alone_is_one(alone: Any, kind: str, message: str) -> None:
    turn, faults = composed(failures=alone)

    assert [(one.kind, one.message) for one in turn.failures] == [(kind, message)]
    assert set(faults) == ({"failures"} if isinstance(alone, bytes) else set())


def test_an_empty_text_is_no_failure() -> None:
    assert not composed(failures="")[0].failures


@pytest.mark.parametrize("alone", [ToolCall(name="grep"), {"name": "grep"}])
def test_a_call_that_stands_alone_is_one(alone: Any) -> None:
    turn, faults = composed(tool_calls=alone)

    assert [call.name for call in turn.tool_calls] == ["grep"]
    assert faults == []


@pytest.mark.parametrize("half", [HalfRead(), OnlyNamed(name="grep")])
def test_what_could_be_read_of_a_call_is_sent(half: Any) -> None:
    turn, faults = composed(tool_calls=[half])

    assert [call.name for call in turn.tool_calls] == ["grep"]
    assert len(faults) == 1
