"""Scores read off results, in the form that a policy names."""

import pytest

from sidecar.adapters.convert import TurnReader
from sidecar.core.digests.score import score_in
from sidecar.core.policy import Lens
from sidecar.core.turn import Turn
from sidecar.v1 import run_pb2

FORM = "Score: {number}"


@pytest.mark.parametrize(
    ("text", "form", "score"),
    [
        ("Score: 0.75", FORM, 0.75),
        ("Score: -3\nScore: +4", FORM, 4.0),
        ("score: 1", FORM, None),
        ("Score: high", FORM, None),
        ("12 % of 40 resolved", "{number} % of", None),
        ("passed 12 % of 40", "passed {number} %", 12.0),
        ("passed 12 of 40", "passed {number} %", None),
        ("Score: " + "9" * 40, FORM, None),
        ("f(x) = 2", "f(x) = {number}", 2.0),
        ("", FORM, None),
    ],
)
def test_the_last_number_in_the_form_is_the_score(
    text: str, form: str, score: float | None
) -> None:
    if form.startswith("{"):
        with pytest.raises(ValueError, match="after some words"):
            Lens(score=form)
        return
    assert score_in(text, form) == score


@pytest.mark.parametrize("form", ["Score:", "{number}", "a {number} b {number}", " {number} %"])
def test_a_form_that_could_not_be_found_is_refused(form: str) -> None:
    with pytest.raises(ValueError, match="it must be a text with"):
        Lens(score=form)


def read(lens: Lens, *results: str, **given: float) -> float | None:
    wire = run_pb2.Turn(sequence=1, **given)  # type: ignore[arg-type]
    for result in results:
        wire.tool_calls.add(name="bench", result_text=result)
    turn = TurnReader(key=b"k" * 16, lens=lens).read(wire)
    assert isinstance(turn, Turn)
    return turn.reward


def test_a_result_s_score_is_the_reward_of_a_turn_that_reports_none() -> None:
    assert read(Lens(score=FORM), "Score: 1", "Score: 2", "done") == 2.0
    assert read(Lens(score=FORM), "Score: 1", reward=7.0) == 7.0
    assert read(Lens(), "Score: 1") is None
    assert read(Lens(score=FORM), "done") is None
