"""Where a final answer is found in a history of messages, and in the reply of a forced commit."""

from typing import Any

import pytest
from anthropic.types import TextBlock

from sidecar.core.answer import MARKS_MAX, Extraction, Rule, Source, extract, settle


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

    assert extract(said("FINAL_ANSWER: 1", *[empty] * (MARKS_MAX - 1))).answer == "1"
    assert extract(said("FINAL_ANSWER: 1", *[empty] * MARKS_MAX)).answer is None
    assert extract("FINAL_ANSWER: 1\n" + empty * MARKS_MAX).answer is None
