"""Where a final answer is found in a history of messages, and in the reply of a forced commit."""

from typing import Any

import pytest
from anthropic.types import TextBlock

from sidecar.core.answers.answer import BUDGET, Extraction, Rule, Source, extract, settle
from sidecar.core.answers.marks import MARK_COST, REACH, WINDOW


def said(*contents: Any) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": content} for content in contents]


def test_a_history_names_the_message_and_the_offset_in_its_joined_blocks() -> None:
    blocks = [
        {"type": "thinking", "thinking": "FINAL_ANSWER: no", "text": "FINAL_ANSWER: no"},
        {"type": "text", "text": "x"},
        {"type": "image", "source": {"data": "FINAL_ANSWER: no"}},
        {"type": "text", "text": "FINAL_ANSWER: k"},
        {"type": "tool_use", "input": {"text": "FINAL_ANSWER: no"}},
    ]
    found = extract([*said("FINAL_ANSWER: early", blocks, "no more")])

    assert found == Extraction(
        answer="k", source=Source.HISTORY, rule=Rule.SAME_LINE, message_index=1, offset=16
    )


def test_blocks_of_openai_are_read_too() -> None:
    item = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "FINAL_ANSWER: k", "annotations": []}],
    }
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}

    assert extract([item, call, {"type": "function_call", "arguments": "{}"}]).answer == "k"


class Dumped:
    """As the SDKs' own objects: what it is made of comes by `model_dump`."""

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self._fields


class Broken:
    def model_dump(self) -> dict[str, Any]:
        raise RuntimeError


def test_messages_and_blocks_may_be_objects_of_an_sdk() -> None:
    block = TextBlock(type="text", text="FINAL_ANSWER: Paris")
    whole = Dumped(role="assistant", content=[{"type": "text", "text": "FINAL_ANSWER: Rome"}])

    assert extract(said([block])).answer == "Paris"
    assert extract([*said([block]), whole]).answer == "Rome"
    assert extract([*said([block, Broken()]), Broken(), Dumped]).answer == "Paris"


def test_an_answer_never_reaches_into_another_message() -> None:
    assert extract(said("FINAL_ANSWER:", "Paris")).answer is None
    assert extract(said([{"type": "text", "text": "FINAL_ANSWER:"}], "x")).answer is None


@pytest.mark.parametrize("role", ["user", "tool", "system", "developer", "function", "", None, 7])
def test_only_the_assistant_answers(role: Any) -> None:
    assert extract([{"role": role, "content": "FINAL_ANSWER: x"}]) == Extraction()


@pytest.mark.parametrize(
    "odd",
    [
        None,
        7,
        "FINAL_ANSWER: x",
        {},
        {"role": "assistant"},
        *said(7, {"type": "text", "text": "FINAL_ANSWER: x"}, ["FINAL_ANSWER: x"], [None, [], 7]),
        *said([{"type": "text"}], [{"type": ["text"], "text": "FINAL_ANSWER: x"}]),
        *said([{"type": "text", "text": None}, {"text": "FINAL_ANSWER: x"}]),
    ],
)
def test_what_is_no_message_is_passed_over(odd: Any) -> None:
    assert extract([*said("FINAL_ANSWER: early"), odd]).answer == "early"


@pytest.mark.parametrize("odd", [None, 7, {}, b"FINAL_ANSWER: x", object()])
def test_what_is_neither_text_nor_history_has_no_answer(odd: Any) -> None:
    assert extract(odd) == Extraction()


def test_a_reply_wins_over_the_history_and_says_so() -> None:
    history = said("FINAL_ANSWER: old")

    assert settle("FINAL_ANSWER: new", history).source is Source.MODEL
    assert settle([{"type": "text", "text": "FINAL_ANSWER: new"}], history).answer == "new"
    assert settle("I cannot tell.", history) == extract(history)
    assert settle(None, history) == extract(history)
    assert settle("I cannot tell.", []) == Extraction()


def test_only_so_many_markers_are_looked_at_over_all_messages() -> None:
    empty = "FINAL_ANSWER:\n"
    most = BUDGET // (MARK_COST + len(empty))

    assert extract(said("FINAL_ANSWER: 1", *[empty] * most)).answer == "1"
    assert extract(said("FINAL_ANSWER: 1", *[empty] * (most + 1))).answer is None
    assert extract("FINAL_ANSWER: 1\n" + empty * (most + 1)).answer is None


def test_a_marker_counts_what_stands_around_it_up_to_a_bound() -> None:
    empty = "FINAL_ANSWER: <your answer>\n" + "I go on.\n" * 1_000
    most = BUDGET // (MARK_COST + 2 * REACH)

    assert extract("FINAL_ANSWER: 1\n" + empty * most).answer == "1"
    assert extract("FINAL_ANSWER: 1\n" + empty * (most + 2)).answer is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (f"FINAL_ANSWER: **{'x' * (REACH - 4)}**", "x" * (REACH - 4)),
        (f"FINAL_ANSWER: **{'x' * REACH}**", f"**{'x' * REACH}**"),
        (f"FINAL_ANSWER:{chr(10) * (REACH - 1)}Paris", "Paris"),
        (f"FINAL_ANSWER:{chr(10) * (REACH + 1)}Paris", None),
        (f'Write "{"x" * (REACH - 20)} FINAL_ANSWER: 42".', None),
    ],
)
def test_what_is_far_from_a_marker_is_not_read_for_it(text: str, answer: str | None) -> None:
    assert extract(text).answer == answer


def test_a_quotation_that_opened_far_before_a_marker_does_not_hide_it() -> None:
    assert extract(f'"{"x" * REACH} FINAL_ANSWER: 42" it says').answer == '42" it says'


@pytest.mark.parametrize("behind", range(WINDOW - 16, WINDOW + 1))
def test_a_marker_is_found_whole_where_a_window_ends_within_it(behind: int) -> None:
    text = "so\nFINAL_ANSWER: 1\n" + "y" * (behind - 3)

    for markers in (("FINAL_ANSWER: <it>",), ("FINAL_ANSWER: <it>", "ANSWER: <it>")):
        found = extract(text, markers)
        assert (found.answer, found.offset) == ("1", 17)
