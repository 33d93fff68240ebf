"""How much is read of what a caller reports: the values of one turn have a bound together, and of a
text no more is touched than is sent."""

import json
from collections import UserDict, UserList, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from sidecar.client.budget import CHARACTERS_MAX, PARTS_MAX
from sidecar.client.intake import Intake
from sidecar.client.shrink import TEXT_BYTES_MAX, cut_lines, digest
from tests.edges.test_client_report import composed

KIB_64 = 64 * 1024
MIB = 1024 * 1024


@dataclass(frozen=True)
class Pair:
    left: object
    right: object


@dataclass(frozen=True)
class Single:
    value: object


class Short(Pair):
    """One that writes itself in a way of its own."""

    def __repr__(self) -> str:
        return "short"


def shared(pair: Callable[[Any], object], depth: int = 40) -> object:
    """A value that holds the one before it twice: 2**depth parts when written out."""
    found: object = 1
    for _ in range(depth):
        found = pair(found)
    return found


PAIRS: list[Callable[[Any], object]] = [
    lambda inner: deque([inner, inner]),
    lambda inner: UserList([inner, inner]),
    lambda inner: UserDict(a=inner, b=inner),
    lambda inner: Pair(inner, inner),
    lambda inner: [Single(inner), Single(inner)],
    lambda inner: (inner, deque([inner])),
]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    "report",
    [
        lambda value: {"text": value},
        lambda value: {"tool_calls": [{"name": "x", "arguments": {"tree": value}}]},
        lambda value: {"tool_calls": [{"name": "x", "result": value}]},
        lambda value: {"failures": [ValueError("no", value)]},
    ],
)
def test_whatever_holds_shared_parts_is_not_written_out_without_end(
    pair: Callable[[Any], object], report: Callable[[object], dict[str, Any]]
) -> None:
    turn, faults = composed(**report(shared(pair)))

    assert turn.ByteSize() <= KIB_64 + 1024
    assert faults


def test_what_writes_itself_in_a_way_of_its_own_is_left_to_it() -> None:
    turn, faults = composed(text=shared(lambda inner: Short(inner, inner)))

    assert turn.text == "short"
    assert faults == ["text"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Pair(1, [2]), "Pair(left=1, right=[2])"),
        (deque([1, 2]), "deque([1, 2])"),
        (UserList([1]), "[1]"),
    ],
)
def test_within_the_bound_it_goes_by_its_string(value: object, text: str) -> None:
    assert json.loads(Intake().any_text("result", value)) == text


def test_keys_count_as_parts_and_as_characters() -> None:
    wide = {str(number): 0 for number in range(PARTS_MAX // 2 + 1)}
    long = {"k" * (CHARACTERS_MAX + 1): 0}
    for value in (wide, long):
        intake = Intake()
        intake.any_text("result", value)
        assert intake.faults == ["result"]


def test_the_bound_is_of_all_values_of_a_turn() -> None:
    rows = [0] * (PARTS_MAX - 1000)
    turn, faults = composed(tool_calls=[{"name": "a", "result": rows}] * 20)
    first, *others = (call.result_text for call in turn.tool_calls)

    assert len(first) == KIB_64
    assert max(map(len, others[1:])) < 10_000
    assert set(faults) == {"result"}
    assert {call.name for call in turn.tool_calls} == {"a"}


def test_what_a_usual_call_has_is_sent_whatever_came_before_it() -> None:
    large = {"name": "a", "result": ["x" * CHARACTERS_MAX, [0] * PARTS_MAX, *range(1000)]}
    usual = {"name": "b", "arguments": {"path": "x" * 1000, "lines": [1, 2]}, "outcome": "denied"}
    turn, faults = composed(tool_calls=[large, large, usual], failures=[ValueError("bad")])

    assert json.loads(turn.tool_calls[2].arguments_json) == usual["arguments"]
    assert turn.tool_calls[2].outcome
    assert turn.failures[0].message == "bad"
    assert set(faults) == {"result"}


def test_texts_within_a_value_are_cut_to_what_is_left() -> None:
    text = "x" * MIB
    sent = json.loads(Intake().any_text("result", [text] * 1000))

    assert sent[:8] == [text] * 8
    assert set(sent[8:]) == {""}


def test_of_a_text_that_is_cut_only_the_ends_are_held_to_be_encodable() -> None:
    text = "a" * KIB_64 + "\ud800" + "b" * KIB_64
    turn, faults = composed(text=text)

    assert faults == []
    assert turn.text.startswith("aaa") and turn.text.endswith("bbb")


@pytest.mark.parametrize("text", ["\ud800" + "b" * KIB_64, "a" * KIB_64 + "\ud800"])
def test_what_is_not_encodable_at_an_end_is_a_question_mark(text: str) -> None:
    turn, faults = composed(text=text)

    assert faults == ["text"]
    assert "?" in turn.text


@pytest.mark.parametrize("bytes_max", [30, 200, 1000])
@pytest.mark.parametrize(
    "texts", [["a" * 5000], ["a" * 5000, "b" * 5000], ["a" * 5000, "b"], ["a", "b" * 5000]]
)
def test_lines_are_cut_as_if_they_were_joined_before(texts: list[str], bytes_max: int) -> None:
    assert cut_lines(texts, bytes_max) == cut_lines(["\n".join(texts)], bytes_max)


def test_results_are_cut_before_they_are_joined() -> None:
    call = {"name": "a", "result": "r" * MIB, "error": "e" * MIB}
    turn, faults = composed(tool_calls=[call])
    result = turn.tool_calls[0].result_text

    assert result.startswith("rrr") and result.endswith("eee")
    assert f"of {2 * MIB + 1} characters" in result
    assert len(result) <= TEXT_BYTES_MAX
    assert faults == []


def test_long_arguments_are_told_apart_by_their_ends_and_their_length() -> None:
    text = "x" * (2 * MIB)
    middle = f"{text[:MIB]}y{text[MIB + 1 :]}"

    assert digest(text) == digest(middle)
    assert len({digest(one) for one in (text, text + "x", "y" + text[1:], text[1:] + "y")}) == 4


def test_arguments_up_to_a_mebibyte_are_told_apart_wherever_they_differ() -> None:
    text = "x" * MIB

    assert digest(text) != digest(f"{text[: MIB // 2]}y{text[MIB // 2 + 1 :]}")


def test_of_bytes_no_more_is_read_than_is_left() -> None:
    intake = Intake()
    texts = [intake.any_text("result", bytes(CHARACTERS_MAX - 10)) for _ in range(3)]

    assert list(map(len, texts)) == [CHARACTERS_MAX - 10, 16 * 1024, 16 * 1024]


def test_of_names_that_nobody_knows_no_more_are_kept_than_anybody_reads() -> None:
    calls = [{f"{call} {number}": 1 for number in range(1000)} for call in range(20)]
    _, faults = composed(tool_calls=calls)

    assert len(faults) == 1000
