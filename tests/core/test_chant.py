"""Chanting: found where a phrase is said over and over, and only there."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.core.digests.chant import (
    CHANT_MIN,
    GAP_MAX,
    LINE_MAX,
    PHRASE_LENGTH,
    REPEATS_MIN,
    text_repeats,
)
from sidecar.core.digests.measured import TEXT_MAX
from tests.core.fragments import recorded_runs

PHRASE = "I will now mark the task as complete. "
PROSE = (
    "The parser reads a header first and then hands the rest to the decoder, which is where the "
    "stale buffer comes from; a fresh one is passed in the second call, so only the third case "
    "can fail. After the change all of them ought to pass, and the log should say as much. "
)


@pytest.mark.parametrize(
    ("why", "times", "text"),
    [
        ("a phrase ten times", 10, PHRASE * 10),
        ("with blanks and lines between", 12, f"{PHRASE}\n  " * 12),
        ("after other text", 15, PROSE + PHRASE * 15),
        ("after code", 10, f"```\ncode\n```{PHRASE * 10}"),
        ("after a list", 10, f"- one\n- two\n{PHRASE * 10}"),
        ("before other text, often enough", 10, PHRASE * 10 + PROSE),
        ("a short phrase, often", 29, "Thinking... Done. " * 30),
        ("a word", 97, "ABCDE" * 100),
        ("digits", 97, "01234" * 100),
        (
            "in a language without spaces",
            10,
            "\u6211\u73b0\u5728\u5c06\u4efb\u52a1\u6807\u8bb0\u4e3a\u5b8c\u6210\u3002\u8fd9\u662f\u6700\u540e\u4e00\u6b65\uff0c\u518d\u68c0\u67e5\u4e00\u904d\u3002"
            * 10,
        ),
        ("six times, to the end", 6, PHRASE * 6),
        ("cut in the middle of a phrase", 15, PHRASE * 15 + PHRASE[:10]),
        ("at the end of a text too long to be read whole", 20, PROSE * 300 + PHRASE * 20),
    ],
)
def test_a_chant_is_counted(why: str, times: int, text: str) -> None:
    assert text_repeats(text) == times, why


@pytest.mark.parametrize(
    ("why", "text"),
    [
        ("prose", PROSE),
        ("a short text", PHRASE * 4),
        ("twice the same", f"{PROSE}\n{PROSE}"),
        ("a template: the same after more than the gap", (PHRASE + PROSE) * 12),
        ("a stumble that the text leaves again", PHRASE * 9 + PROSE),
        ("a stumble before code", f"{PHRASE * 8}\n```\ncode\n```"),
        ("a chant in code", f"Here:\n```\n{PHRASE * 15}\n```\nDone."),
        ("a chant in a fence that is not closed", f"Here:\n```python\n{PHRASE * 15}"),
        ("a chant in tildes", f"~~~\n{PHRASE * 15}\n~~~\n"),
        ("a list", "- the same item again\n" * 30),
        ("a numbered list", "1. the same item again\n" * 30),
        ("a table", "| a | the same row |\n" * 30),
        ("a table without frame", "a | the same row | b\n" * 30),
        ("headings", "## The same heading\n" * 30),
        ("quotes", "> the same quoted line\n" * 30),
        ("a rule", "-" * 500),
        ("a rule of pairs", "\u256d\u2500" * 300),
        ("a rule of blanks", " " * 500),
        ("data", '  "name": "value",\n' * 30),
        ("settings", "name = value,\n" * 30),
        ("markup", "<td>the same cell</td>\n" * 30),
        ("parts that a list keeps apart", f"{PHRASE * 5}\n- item\n" * 4),
    ],
)
def test_what_repeats_by_nature_is_no_chant(why: str, text: str) -> None:
    assert text_repeats(text) == 0, why


@given(
    st.text(st.characters(categories=("Ll", "Lu")), min_size=1, max_size=GAP_MAX),
    st.integers(min_value=REPEATS_MIN + 1, max_value=30),
    st.integers(min_value=0, max_value=200),
)
@settings(deadline=None, max_examples=300)
def test_any_phrase_said_often_enough_is_found(phrase: str, times: int, before: int) -> None:
    said = phrase * times
    if len(said) >= CHANT_MIN and len(phrase) >= PHRASE_LENGTH:
        found = text_repeats(PROSE[:before] + "\n" + said)
        assert found >= times - 1, (phrase, times)


@given(st.text(max_size=80), st.integers(min_value=0, max_value=20))
@settings(deadline=None)
def test_no_text_raises(text: str, times: int) -> None:
    assert text_repeats(text * times) >= 0


def test_a_chant_is_found_wherever_it_begins() -> None:
    for begin in range(200):
        assert text_repeats(PROSE[:begin] + "\n" + PHRASE * 6) == 6, begin


def test_no_more_than_the_limit_is_read() -> None:
    assert text_repeats(PHRASE * 20 + "x\n" + PROSE * 600) == 0
    assert len(PROSE * 600) > TEXT_MAX


def test_a_line_is_prose_if_its_beginning_is() -> None:
    rule = "=" * LINE_MAX
    assert text_repeats(rule[:2000] + PHRASE * 100) == 100
    assert text_repeats(rule + PHRASE * 100) == 0


@pytest.mark.skipif(not any(recorded_runs()), reason="SIDECAR_RUNS names no recorded runs")
def test_nobody_chants_in_the_recorded_runs() -> None:
    for path in recorded_runs():
        for line in path.read_text("utf-8").splitlines():
            assert text_repeats(json.loads(line).get("turn", {}).get("text", "")) == 0
