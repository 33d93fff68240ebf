"""Hostile text and odd messages: an answer or none, never an exception, in linear time."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.answers.answer import Extraction, Source, extract, settle

M = "FINAL_ANSWER:"
PIECES = [
    *(
        M,
        f"{M} ",
        f"{M}\n",
        f"{M} <x> ",
        f"{M} <x y>** ",
        f'"{M} ',
        f"'{M} ",
        f"\u201c{M}",
        f"`{M}",
    ),
    *(
        f"_{M}",
        f"**{M}",
        f"> {M} <x>\n",
        f"{M}\n```\n",
        f"{M}\n\n\n",
        "FINAL_ANSWE",
        "FINAL_ANSWER**",
    ),
    *(
        "'a",
        ' "',
        "\u00ab",
        "*",
        "_ ",
        "- ",
        "1. ",
        "\n",
        "\r\n",
        " ",
        "\u3000",
        "<a>",
        "</a>",
        "<a",
    ),
    *("[[your ", "(answer is ", "{insert, ", f"[{M}]", f"{M} <x y> <a>\n", "\u200b", "\t\n"),
    *("<", "[", "[your", ".", "...", "*_", "\0", "\ud800", "\u6771", "a ", "</", "`", "~~~\n", "#"),
]


@pytest.mark.parametrize("piece", PIECES)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    # Each of these takes milliseconds; what is quadratic takes minutes and more.
    run = piece * (300_000 // len(piece))
    began = time.process_time()
    for text in (run, f"{M} {run}", f"**{M}{run}x{run}", f"{run}{M * 1_200}", f"{M}\n{run}x"):
        extract(text)
    assert time.process_time() - began < 30


FRAGMENTS = st.sampled_from(
    [*PIECES, "Paris", "x", "<your answer>", "</b>", "<b>", ":", "__", "ntr\\n"]
)
HOSTILE = st.lists(FRAGMENTS | st.text(max_size=5), max_size=12).map("".join)


@given(HOSTILE | st.text())
def test_no_text_raises_and_an_answer_stands_where_it_says(text: str) -> None:
    found = extract(text)

    if found.answer is None:
        assert found == Extraction()
    else:
        assert found.offset is not None
        assert text[found.offset :].startswith(found.answer)
        assert found.answer == found.answer.strip("\n\r \t")


@given(HOSTILE)
def test_a_message_has_the_answer_of_its_text(text: str) -> None:
    block = {"type": "text", "text": text}
    history = [{"role": "assistant", "content": content} for content in ("no", [block], "")]
    alone, within = extract(text), extract(history)

    assert (within.answer, within.rule, within.offset) == (alone.answer, alone.rule, alone.offset)
    assert within.message_index == (None if alone.answer is None else 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | HOSTILE,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["role", "content", "type", "text"]), inner, max_size=4)
    ),
    max_leaves=12,
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.just("assistant"), "content": JSON}) | JSON, max_size=4
)


@given(JSON | MESSAGES, MESSAGES, st.lists(st.text(max_size=12) | FRAGMENTS, max_size=3))
def test_no_input_raises(anything: Any, messages: list[Any], markers: list[str]) -> None:
    for found in (extract(anything, markers), settle(anything, messages, markers)):
        assert (found.answer is None) == (found.source is Source.NONE)
