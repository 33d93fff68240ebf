"""What counts as chanting, and what is only a repetitive form."""

import pytest

from eval.baselines.rules import gemini_cli, qwen_code
from eval.baselines.rules.chanting import Manner, Stream

GEMINI, QWEN = gemini_cli.MANNER, qwen_code.MANNER
SENTENCE = "I will look at the file again and then change it. "
LONG_CYCLE = SENTENCE + "After that comes something else, and much more of it. "


@pytest.mark.parametrize(
    ("why", "text", "gemini", "qwen"),
    [
        ("a sentence ten times", SENTENCE * 10, True, True),
        ("and nine times", SENTENCE * 9, False, False),
        ("lines of one sentence", f"{SENTENCE}\n" * 10, True, True),
        ("a cycle longer than a window and a half", LONG_CYCLE * 10, True, False),
        ("distinct endings", "".join(f"{SENTENCE}{n:03}. " for n in range(99, 110)), False, True),
        ("in a fence", f"```\n{SENTENCE * 12}\n```", False, False),
        ("after a fence", f"```\ncode\n```{SENTENCE * 12}", True, True),
        ("in two halves around a fence", f"{SENTENCE * 6}\n```\n```\n{SENTENCE * 6}", False, False),
        ("a table", f"| {SENTENCE}|\n" * 12, False, False),
        ("a numbered list", f"1. {SENTENCE}\n" * 12, False, False),
        ("a list with stars", f"* {SENTENCE}\n" * 12, False, False),
        ("a list with hyphens, which only qwen-code knows", f"- {SENTENCE}\n" * 12, True, False),
        ("headings", f"# {SENTENCE}\n" * 12, False, False),
        ("quotes", f"> {SENTENCE}\n" * 12, False, False),
        ("a rule", "=" * 200, False, False),
        ("capitals, which gemini-cli takes for a rule", "STOP" * 50, False, True),
        ("nothing", "", False, False),
    ],
)
def test_chanting(why: str, text: str, gemini: bool, qwen: bool) -> None:
    assert (Stream(GEMINI).chants(text), Stream(QWEN).chants(text)) == (gemini, qwen), why


@pytest.mark.parametrize("manner", [GEMINI, QWEN])
def test_a_fence_left_open_covers_the_next_text(manner: Manner) -> None:
    stream = Stream(manner)
    assert not stream.chants("```\n")
    assert not stream.chants(SENTENCE * 12)
    assert not stream.chants("```\n")
    assert stream.chants(SENTENCE * 12)


@pytest.mark.parametrize("manner", [GEMINI, QWEN])
def test_chanting_is_told_once(manner: Manner) -> None:
    stream = Stream(manner)
    assert stream.chants(SENTENCE * 10)
    assert not stream.chants(SENTENCE)
