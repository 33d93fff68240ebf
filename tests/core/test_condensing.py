"""A history as text: short enough, roles alternating, the question first and the latest last."""

import time
from typing import Any

import pytest
from anthropic.types import ToolUseBlock
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from sidecar.core.answers.condensing import ROOM_MIN, UNKNOWN_QUESTION, clipped, condensed

CLOSING = "Answer now."
PAGE = {"type": "web_search_result", "title": "A page", "url": "https://a.example"}


class Completion(BaseModel):
    """A message as an SDK has it."""

    role: str
    content: list[dict[str, Any]]


def document(text: str) -> dict[str, Any]:
    return {"type": "document", "source": {"type": "text", "data": text}}


def search(found: list[Any]) -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": "t", "content": found}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def texts(messages: list[Any], bytes_max: int = 100_000) -> list[str]:
    said = condensed(messages, bytes_max=bytes_max, closing=CLOSING)
    roles = ("user", "assistant") * len(said)
    assert tuple(each.role for each in said) == roles[: len(said)], "roles alternate"
    assert said[-1].text.endswith(CLOSING)
    assert all(each.text.strip() for each in said)
    return [each.text for each in said]


def test_a_short_history_is_kept_whole() -> None:
    assert texts([user("Q"), assistant("thinking")]) == ["Q", "thinking", CLOSING]


def test_the_closing_joins_a_history_that_ends_with_the_user() -> None:
    assert texts([user("Q")]) == [f"Q\n\n{CLOSING}"]


def test_what_one_says_twice_in_a_row_is_one_message() -> None:
    assert texts([user("a"), user("b"), assistant("c"), assistant("d")]) == [
        "a\n\nb",
        "c\n\nd",
        CLOSING,
    ]


def test_a_history_without_its_beginning_begins_with_the_user() -> None:
    assert texts([assistant("c")]) == [UNKNOWN_QUESTION, "c", CLOSING]
    assert texts([]) == [f"{UNKNOWN_QUESTION}\n\n{CLOSING}"]


def test_calls_and_results_become_text_in_either_shape() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "x"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "3"}],
    }
    _, asked, got = texts([user("Q"), assistant([call]), user([result])])
    assert asked == '[called Grep with {"pattern": "x"}]'
    assert got.startswith("[result: 3]")
    function = {"name": "Grep", "arguments": '{"pattern": "x"}'}
    calls = [{"id": "t1", "type": "function", "function": function}]
    tool = {"role": "tool", "tool_call_id": "t1", "content": "3"}
    assert texts([user("Q"), assistant(None, tool_calls=calls), tool]) == ["Q", asked, got]


def test_calls_and_results_stand_beside_messages_in_the_responses_api() -> None:
    history = [
        user("Q"),
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"x": 1}'},
        {"type": "function_call_output", "call_id": "1", "output": "the answer is 42"},
        {"type": "custom_tool_call", "call_id": "2", "name": "run", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": "2", "output": "a.py"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "k"}]},
    ]
    assert texts(history) == [
        "Q",
        '[called look with {"x": 1}]',
        "[result: the answer is 42]",
        "[called run with ls]",
        "[result: a.py]",
        "k",
        CLOSING,
    ]


def test_calls_of_every_kind_that_chat_completions_has_are_kept() -> None:
    custom = {"id": "1", "type": "custom", "custom": {"name": "run", "input": "ls"}}
    legacy = {"name": "look", "arguments": "{}"}
    history = [user("Q"), assistant(None, tool_calls=[custom]), assistant("", function_call=legacy)]
    assert texts(history) == ["Q", "[called run with ls]\n\n[called look with {}]", CLOSING]


def test_objects_of_an_sdk_are_read_as_what_they_say_they_are() -> None:
    block = ToolUseBlock(type="tool_use", id="t", name="Grep", input={"pattern": "x"})
    _, asked, _ = texts([user("Q"), assistant([block])])
    assert asked == '[called Grep with {"pattern": "x"}]'
    reply = Completion.model_validate({"role": "assistant", "content": [block.model_dump()]})
    assert texts([user("Q"), reply])[1] == asked


def test_a_result_without_its_call_is_no_fault_of_the_request() -> None:
    orphan = {"type": "tool_result", "tool_use_id": "gone", "content": "3"}
    assert texts([user([orphan])]) == [f"[result: 3]\n\n{CLOSING}"]


@pytest.mark.parametrize(
    ("why", "block", "text"),
    [
        ("an image", {"type": "image", "source": {}}, "[an image or document]"),
        ("an OpenAI image", {"type": "image_url", "image_url": {}}, "[an image or document]"),
        ("a document that is text", document("hello"), "[result: hello]"),
        ("a page that was found", search([PAGE]), "[result: A page https://a.example]"),
        ("a result of MCP", {"type": "mcp_tool_result", "content": "k"}, "[result: k]"),
        ("a type of later", {"type": "hologram", "data": "x"}, "[hologram]"),
        ("text of another type", {"type": "output_text", "text": "hello"}, "hello"),
    ],
)
def test_blocks_of_any_type_are_named(why: str, block: dict[str, Any], text: str) -> None:
    assert texts([user([block])]) == [f"{text}\n\n{CLOSING}"], why


@pytest.mark.parametrize(
    "nothing",
    [
        7,
        None,
        "text",
        {},
        {"role": "user"},
        user(None),
        user(7),
        user(""),
        user(" \n"),
        user([{"type": "thinking", "thinking": "hm"}]),
        user([7, None, {}]),
        assistant("", tool_calls=[7, {"function": 7}]),
    ],
)
def test_what_says_nothing_is_passed_over(nothing: object) -> None:
    assert texts([user("Q"), nothing, assistant("a")]) == ["Q", "a", CLOSING]


def result_of(length: int) -> dict[str, Any]:
    content = "first " + "x" * (length - len("first  last")) + " last"
    return user([{"type": "tool_result", "content": content}])


def test_nothing_is_cut_that_fits() -> None:
    call = {"type": "tool_use", "name": "Write", "input": {"text": "y" * 40_000}}
    history = [user("q" * 100_000), assistant([call]), result_of(50_000)]
    first, called, got = texts(history, 190_300)
    assert (len(first), len(called)) == (100_000, 40_032)
    assert got == f"[result: {history[2]['content'][0]['content']}]\n\n{CLOSING}"


@pytest.mark.parametrize(
    ("bytes_max", "most"), [(280_000, 32_000), (100_000, 8_000), (30_000, 2_000)]
)
def test_results_are_cut_no_more_than_it_takes_to_keep_all(bytes_max: int, most: int) -> None:
    turns = [each for _ in range(8) for each in (assistant("look"), result_of(50_000))]
    _, *rest = texts([user("Q"), *turns], bytes_max)
    results = rest[1::2]
    assert len(results) == 8
    assert all(most - 100 < len(each) < most + 100 for each in results)
    assert all("first" in each and "last]" in each for each in results)


def test_a_call_is_cut_like_a_result() -> None:
    call = {"type": "tool_use", "name": "Write", "input": {"text": "y" * 50_000}}
    _, called, _ = texts([user("Q"), assistant([call])], 20_000)
    assert called.startswith('[called Write with {"text": "yyy')
    assert 7_900 < len(called) < 8_100


def test_the_question_and_the_latest_exchanges_are_what_is_kept() -> None:
    turns = [m for n in range(100) for m in (assistant(f"turn {n} " + "x" * 90), user(f"got {n}"))]
    first, *rest = texts([user("Q"), *turns], 2_000)
    assert first.startswith("Q\n\n[")
    assert "messages of this conversation are left out" in first
    assert rest[-2].startswith("turn 99")
    assert rest[0].startswith("turn "), "an exchange is kept whole or not at all"


def test_a_last_exchange_that_does_not_fit_is_clipped() -> None:
    first, last, closing = texts([user("Q"), assistant("begin" + "x" * 10_000 + "end")], 2_000)
    assert (first, closing) == ("Q", CLOSING)
    assert last.startswith("begin")
    assert last.endswith("end")


@pytest.mark.parametrize("results", [40, 500, 5_000])
@pytest.mark.parametrize("bytes_max", [ROOM_MIN + 500, 14_336, 390_000])
@pytest.mark.parametrize("result", ["found nothing", "x" * 300])
def test_a_last_exchange_of_very_many_results_fits(
    results: int, bytes_max: int, result: str
) -> None:
    calls = [{"function": {"name": "look", "arguments": "{}"}}] * results
    tools = [{"role": "tool", "content": f"{number}: {result}"} for number in range(results)]
    first, called, rest = texts([user("Q"), assistant(None, tool_calls=calls), *tools], bytes_max)
    assert sum(map(len, (first, called, rest))) <= bytes_max
    assert called.startswith("[called look with {}]")
    assert f"[result: {results - 1}: " in rest, "the latest is kept"
    left_out = results - rest.count("[result: ")
    assert left_out == 0 or rest.startswith(f"[{left_out} messages of this conversation are left")


def test_a_lone_surrogate_is_replaced() -> None:
    assert texts([user("a\ud800b")]) == [f"a?b\n\n{CLOSING}"]


BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=300)),
    st.builds(lambda text: {"type": "tool_use", "name": text, "input": {"a": text}}, st.text()),
    st.builds(lambda text: {"type": "tool_result", "content": text}, st.text(max_size=3_000)),
    st.none(),
)
MESSAGES = st.lists(
    st.builds(
        lambda role, content: {"role": role, "content": content},
        st.sampled_from(["user", "assistant", "tool", "system", "other"]),
        st.one_of(st.text(max_size=2_000), st.lists(BLOCKS, max_size=3), st.none()),
    ),
    max_size=12,
)


@given(messages=MESSAGES, bytes_max=st.integers(ROOM_MIN * 2, 10_000))
def test_it_fits_whatever_was_said(messages: list[Any], bytes_max: int) -> None:
    sizes = [len(text.encode()) for text in texts(messages, bytes_max)]
    assert sum(sizes) <= bytes_max


@given(text=st.text(max_size=500), bytes_max=st.integers(100, 300))
def test_a_clipped_text_is_no_longer_than_asked(text: str, bytes_max: int) -> None:
    assert len(clipped(text, bytes_max).encode()) <= bytes_max


def test_two_megabytes_and_many_messages_take_no_time() -> None:
    long = [user("Q"), assistant("é" * 1_000_000), user("x" * 1_000_000)]
    many = [user("Q"), *([assistant("a"), user("b")] * 20_000)]
    began_s = time.monotonic()
    texts(long)
    texts(many)
    assert time.monotonic() - began_s < 10
