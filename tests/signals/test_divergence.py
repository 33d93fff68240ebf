"""divergence: confidence rises while reward falls."""

from typing import Any

import pytest

from sidecar.core.reading import QUIET
from sidecar.core.turn import ToolCall
from sidecar.signals.divergence import (
    DIVERGENCE,
    EMPTY,
    WINDOW_MAX,
    DivergenceThresholds,
)
from tests.signals.tables import check_signal, fold, turns

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("why", "confidence", "reward", "readings"),
    [
        ("at once on the third turn, break two later", [5, 6, 7, 8, 9], [9, 7, 5, 3, 1], "..wwb"),
        ("both rising", [5, 6, 7], [1, 5, 9], "..."),
        ("both falling", [7, 6, 5], [9, 5, 1], "..."),
        ("confidence that ends where it began is level", [0.3, 0.5, 0.3], [0.9, 0.5, 0.1], "..."),
        ("reward that ends where it began is level", [0.5, 0.6, 0.7], [0.7, 0.9, 0.7], "..."),
        ("the slope counts, not the last step", [0.5, 0.9, 0.6], [0.9, 0.2, 0.8], "..w"),
        ("a small slope counts", [0.5, 0.5, 0.501], [0.5, 0.5, 0.499], "..w"),
        ("a slope within 1e-9 does not", [0.5, 0.5, 0.5 + 1.9e-9], [9, 5, 1], "..."),
        (
            "a level turn starts the count again",
            [5, 6, 7, 8, 8, 9, 9.5],
            [9, 7, 5, 3, 9, 8, 7],
            "..ww..w",
        ),
        ("any scale", [50, 60, 70], [9, 5, 1], "..w"),
        ("negative rewards", [0.5, 0.6, 0.7], [-1, -2, -3], "..w"),
        ("one series alone is none", [None] * 3, [9, 5, 1], "..."),
        ("the other alone is none", [5, 6, 7], [None] * 3, "..."),
        ("half a measurement empties the window", [5, 6, 7, 8, 9], [9, 7, None, 5, 3], "....."),
        ("and the count", [5, 6, 7, 8, None, 5, 6, 7], [9, 7, 5, 3, 9, 9, 7, 5], "..ww...w"),
        ("what is no number empties it too", [5, 6, 7, 8], [9, 7, NAN, 5], "...."),
        ("nor are infinities and the absurd", [5, INF, 6, 10**400, 7], [9, 7, 5, 3, 1], "....."),
    ],
)
def test_divergence(why: str, confidence: list[Any], reward: list[Any], readings: str) -> None:
    check_signal(DIVERGENCE, turns(confidence=confidence, reward=reward), readings)


CALL = (ToolCall(name="read", call=b"12345678"),)


@pytest.mark.parametrize(
    ("why", "other"),
    [
        ("files", {"files_changed": [None, None, 1, None, None]}),
        ("tokens", {"input_tokens": [None, None, 0, None, None]}),
        ("lines", {"output_lines": [None, None, 0, None, None]}),
        ("a text", {"text": [None, None, b"12345678", None, None]}),
        ("a call", {"tool_calls": [None, None, CALL, None, None]}),
    ],
)
def test_a_turn_that_reports_something_else_empties_the_window(
    why: str, other: dict[str, Any]
) -> None:
    run = turns(confidence=[5, 6, None, 7, 8], reward=[9, 8, None, 7, 6], **other)
    check_signal(DIVERGENCE, run, ".....")


def test_a_turn_that_reports_nothing_is_passed_over() -> None:
    run = turns(confidence=[5, 6, None, 7, 8, 9], reward=[9, 8, None, 7, 6, 5])
    check_signal(DIVERGENCE, run, "...wwb")


def test_a_run_that_never_measures_keeps_its_state() -> None:
    (turn,) = turns(files_changed=[1])
    state, reading = DIVERGENCE.step(EMPTY, turn, DIVERGENCE.defaults)
    assert state is EMPTY
    assert reading is QUIET


def test_window_and_persistence_are_thresholds() -> None:
    run = turns(confidence=[1, 2, 3, 4, 5, 6], reward=[6, 5, 4, 3, 2, 1])
    check_signal(DIVERGENCE, run, ".wwbbb", DivergenceThresholds(window=2))
    check_signal(DIVERGENCE, run, "...wwb", DivergenceThresholds(window=4))
    # Twice the same climb is still a climb, if a slower one.
    check_signal(DIVERGENCE, run * 2, "." * 11 + "w", DivergenceThresholds(window=WINDOW_MAX))
    check_signal(DIVERGENCE, run, "..bbbb", DivergenceThresholds(persistence=0))
    check_signal(DIVERGENCE, run, "..wwww", DivergenceThresholds(persistence=None))


def test_four_turns_are_fitted_by_least_squares() -> None:
    # Ends 0.1 up, yet the fit falls: the middle weighs too.
    run = turns(confidence=[0.5, 0.9, 0.1, 0.6], reward=[9, 8, 7, 6])
    check_signal(DIVERGENCE, run, "....", DivergenceThresholds(window=4))


def test_the_summary_names_slopes_and_turns() -> None:
    run = turns(confidence=[0.5, 0.6, 0.7, 0.8, 0.9], reward=[0.9, 0.7, 0.5, 0.3, 0.1])
    readings = fold(DIVERGENCE, run, DIVERGENCE.defaults)
    assert readings[2].summary == (
        "confidence rose by 0.1 a turn while reward fell by 0.2 a turn (turns 1 to 3)"
    )
    assert readings[3].summary.endswith("(turns 2 to 4), for 2 turns in a row")
    assert (readings[3].value, readings[3].threshold) == (2, 1)
    assert readings[4].summary.endswith("(turns 3 to 5), for 3 turns in a row")
    assert (readings[4].value, readings[4].threshold) == (3, 3)


@pytest.mark.parametrize("wrong", [{"window": 1}, {"window": WINDOW_MAX + 1}, {"persistence": -1}])
def test_thresholds_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DivergenceThresholds(**wrong)
