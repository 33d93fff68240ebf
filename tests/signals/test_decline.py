"""decline: output against the mean of the first turns."""

from typing import Any

import pytest

from sidecar.presets import AUTONOMOUS
from sidecar.signals.decline import DECLINE, DeclineThresholds
from tests.signals.tables import check_signal, fold, turns

FOUNDING = DeclineThresholds(warning_ratio=0.5, break_ratio=0.7, low_turns=1, window_ratio_min=None)


@pytest.mark.parametrize(
    ("why", "output_lines", "readings"),
    [
        ("49 % is no decline", [100, 100, 100, 51], "...."),
        ("exactly 50 % warns", [100, 100, 100, 50], "...w"),
        ("69 % warns", [100, 100, 100, 31], "...w"),
        ("exactly 70 % breaks", [100, 100, 100, 30], "...b"),
        ("69.97 % is not rounded up", [333, 333, 333, 100], "...w"),
        ("the baseline is a mean, not the first turn", [200, 50, 50, 60], "...."),
        ("a mean with a fraction: 51.6 %", [10, 10, 11, 5], "...w"),
        ("a mean with a fraction: 43.75 %", [11, 11, 10, 6], "...."),
        ("the baseline does not move", [100, 100, 100, 80, 60, 50], ".....w"),
        ("a level, not a latch", [100, 100, 100, 50, 90, 20], "...w.b"),
        ("three measured turns, however far apart", [100, None, 100, None, 100, 50], ".....w"),
        ("fewer than four measured turns", [100, 1, 1], "..."),
        ("a baseline of 0 has no drop", [0, 0, 0, 0, 5], "....."),
        ("more is no decline", [10, 10, 10, 1000], "...."),
        ("what is no count is not measured", [100, -1, 100, float("nan"), 100, 50], ".....w"),
        ("nor is what no counter can hold", [10**400, 100, 100, 100, 50], "....w"),
        ("the founding table: 28 % and 47.2 %", [45, 42, 38, 30, 22], "....."),
    ],
)
def test_founding(why: str, output_lines: list[Any], readings: str) -> None:
    check_signal(DECLINE, turns(output_lines=output_lines), readings, FOUNDING)


@pytest.mark.parametrize(
    ("why", "output_lines", "percent", "readings"),
    [
        ("three low turns in a full window warn", [50] * 4, [60] * 4, "..ww"),
        ("exactly half full is enough", [50] * 3, [50] * 3, "..w"),
        ("it never breaks", [1] * 6, [99] * 6, "..wwww"),
        ("a good turn starts the row again", [50, 50, 90, 50, 50, 50], [60] * 6, ".....w"),
        ("a window less than half full is no cause", [50] * 6, [49] * 6, "......"),
        ("it starts the row again", [50] * 6, [60, 60, 49, 60, 60, 60], ".....w"),
        ("a window that is not known holds the row", [50] * 4, [60, None, 60, 60], "...w"),
        ("a window that is never known never warns", [1] * 6, [None] * 6, "......"),
    ],
)
def test_default(
    why: str, output_lines: list[int], percent: list[int | None], readings: str
) -> None:
    run = turns(
        output_lines=[100, 100, 100, *output_lines],
        context_tokens=[None, None, None, *percent],
        context_window=[100] * (3 + len(percent)),
    )
    check_signal(DECLINE, run, "..." + readings)


def test_turns_that_change_files_may_be_short() -> None:
    said = turns(
        output_lines=[100] * 3 + [10] * 6,
        files_changed=[None] * 3 + [1] * 6,
        context_tokens=[60] * 9,
        context_window=[100] * 9,
    )
    check_signal(DECLINE, said, "." * 9)


def test_the_baselines_length_is_a_threshold() -> None:
    longer = DeclineThresholds(
        break_ratio=0.7, baseline_turns=5, low_turns=1, window_ratio_min=None
    )
    check_signal(DECLINE, turns(output_lines=[100] * 4 + [0, 40, 24]), ".....wb", longer)


def test_either_severity_can_be_switched_off() -> None:
    run = turns(output_lines=[100, 100, 100, 40, 20])
    breaks = DeclineThresholds(
        warning_ratio=None, break_ratio=0.7, low_turns=1, window_ratio_min=None
    )
    check_signal(DECLINE, run, "....b", breaks)
    never = DeclineThresholds(warning_ratio=None, low_turns=1, window_ratio_min=None)
    check_signal(DECLINE, run, ".....", never)


def test_the_summary_names_numbers_and_turns() -> None:
    readings = fold(DECLINE, turns(output_lines=[333, 333, 333, 100]), FOUNDING)
    assert readings[-1].summary == (
        "the assistant wrote 100 lines in turn 4, 69.97 % less than the 333 of its first 3 "
        "measured turns"
    )
    assert readings[-1].threshold == 0.5
    in_a_row = DeclineThresholds(low_turns=2, window_ratio_min=None)
    readings = fold(DECLINE, turns(output_lines=[9, 9, 9, 3, None, 3]), in_a_row)
    assert readings[-1].summary.endswith(", the last of 2 low turns (4 to 6)")


@pytest.mark.parametrize("wrong", [{"warning_ratio": 50}, {"baseline_turns": 0}, {"low_turns": 0}])
def test_thresholds_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DeclineThresholds(**wrong)


@pytest.mark.parametrize(
    ("why", "rewards", "readings"),
    [
        ("four falls warn, six break", [9, 8, 7, 6, 5, 4, 3, 2], "....wwbb"),
        ("three do not", [9, 8, 7, 6], "...."),
        ("a rise starts it again", [9, 8, 7, 6, 7, 6, 5, 4, 3], "........w"),
        ("what stands still neither falls nor ends it", [9, 8, 8, 7, 7, 6, 5], "......w"),
        ("nor do turns without a score", [9, None, 8, None, 7, None, 6, None, 5], "........w"),
        ("what is no number is no score", [9, 8, float("nan"), 7, float("-inf"), 6, 5], "......w"),
        ("scores below nought fall too", [0.0, -1, -2.5, -1e9, -1e10], "....w"),
        ("up and down is an agent that tries", [1, 3, 2, 4, 3, 5, 4, 6], "........"),
    ],
)
def test_falling_scores(why: str, rewards: list[Any], readings: str) -> None:
    check_signal(DECLINE, turns(reward=rewards), readings)


def test_the_evidence_of_falling_scores_names_both_ends() -> None:
    reading = fold(DECLINE, turns(reward=[0.5, 0.75, 0.5, 0.25, 0.125, 0]), DECLINE.defaults)[-1]
    assert reading.summary == (
        "the score fell 4 times in a row, from 0.75 in turn 2 to 0 in turn 6"
    )


def test_the_founding_decline_knows_no_scores() -> None:
    founding = next(w.thresholds for w in AUTONOMOUS.watches if w.signal is DECLINE)
    check_signal(DECLINE, turns(reward=[9, 8, 7, 6, 5, 4, 3, 2]), "." * 8, founding)


def test_the_worse_of_output_and_score_is_the_reading() -> None:
    run = turns(
        output_lines=[100, 100, 100, 10, 10, 10, 10],
        context_tokens=[90] * 7,
        context_window=[100] * 7,
        reward=[7, 6, 5, 4, 3, 2, 1],
    )
    readings = check_signal(DECLINE, run, "....wwb")
    assert "score" in readings[-1].summary
