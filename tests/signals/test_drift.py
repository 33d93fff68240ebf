"""drift: the work leaves its plan."""

from typing import Any

import pytest

from sidecar.signals.drift import DRIFT, DriftThresholds
from tests.signals.tables import check_signal, fold, turns

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("why", "tasks_completed", "tasks_aligned", "readings"),
    [
        ("none of three aligned", [1, 1, 1], [0, 0, 0], "..w"),
        ("it breaks two tasks later", [1, 1, 1, 1, 1, 1], [0] * 6, "..wwbb"),
        ("nothing before three tasks", [1, 1], [0, 0], ".."),
        ("exactly 0.6 is in order", [1] * 5, [1, 1, 1, 0, 0], "....."),
        ("59 of 100 is not", [50, 50], [30, 29], ".w"),
        (
            "a warning that clears is forgotten",
            [1, 1, 1, 3, 1, 1, 1],
            [0, 1, 0, 3, 0, 0, 0],
            "..w.wwb",
        ),
        ("many tasks at once begin one warning", [10, 1, 1], [0, 0, 0], "wwb"),
        ("turns that complete none do not age it", [3, 0, 0, 0], [0, 0, 0, 0], "wwww"),
        ("tasks whose alignment is not said are not judged", [3, 3], [3, None], ".."),
        ("but they age a warning", [3, 2], [0, None], "wb"),
        ("what is no count is not measured", [3, -5, NAN, 10**400], [0, 0, 0, 0], "wwww"),
    ],
)
def test_plan_alignment(
    why: str, tasks_completed: list[Any], tasks_aligned: list[Any], readings: str
) -> None:
    run = turns(tasks_completed=tasks_completed, tasks_aligned=tasks_aligned)
    check_signal(DRIFT, run, readings)


@pytest.mark.parametrize(
    ("why", "files_changed", "outside", "readings"),
    [
        ("exactly 0.4 is in order", [10, 10, 10], [4, 4, 4], "..."),
        ("0.41 is not", [100, 100, 100], [41, 41, 41], "..w"),
        ("it can be put right", [2, 2, 2, 10], [1, 1, 1, 0], "..w."),
        ("no file is no drift", [0, 0, 1], [0, 0, 0], "..."),
        ("turns that do not say what lies outside are left out", [10, 10, 90], [6, 6, None], "..w"),
        ("never said, never held against it", [10, 10, 10], [None] * 3, "..."),
    ],
)
def test_scope_creep(
    why: str, files_changed: list[int], outside: list[int | None], readings: str
) -> None:
    run = turns(
        tasks_completed=[1] * len(readings),
        files_changed=files_changed,
        files_changed_outside_plan=outside,
    )
    check_signal(DRIFT, run, readings)


@pytest.mark.parametrize(
    ("why", "coverage", "readings"),
    [
        ("exactly 5 points is in order", [0.8, 0.78, 0.75], "..."),
        ("5.1 points is not", [0.8, 0.78, 0.749], "..w"),
        ("it breaks two tasks later", [0.8, 0.7, 0.7, 0.7, 0.7], "..wwb"),
        ("points, not shares of what was", [0.1, 0.08, 0.06], "..."),
        ("against the first, not the best", [0.7, 0.9, 0.7], "..."),
        ("a level stands until the next", [0.8, 0.7, None], "..w"),
        ("from all to none", [1.0, 1.0, 0.0], "..w"),
        ("what is no share is not measured", [0.8, NAN, INF, -1, 40, 0.7], ".....w"),
    ],
)
def test_coverage(why: str, coverage: list[Any], readings: str) -> None:
    run = turns(tasks_completed=[1] * len(readings), test_coverage_ratio=coverage)
    check_signal(DRIFT, run, readings)


def test_progress_of_any_kind_is_read_against_the_runs_levels() -> None:
    run = turns(
        tasks_completed=[3, None, None],
        tasks_aligned=[0, None, None],
        files_changed=[1, 1, None],
        output_lines=[1, 1, 1],
    )
    check_signal(DRIFT, run, "ww.")


def test_what_a_turn_without_tasks_reports_is_summed() -> None:
    files = turns(
        tasks_completed=[None, 3], files_changed=[9, 1], files_changed_outside_plan=[9, None]
    )
    check_signal(DRIFT, files, ".w")
    coverage = turns(tasks_completed=[None, None, 3], test_coverage_ratio=[0.9, 0.5, None])
    check_signal(DRIFT, coverage, "..w")


def test_two_measures_are_one_warning() -> None:
    run = turns(
        tasks_completed=[3, 1, 1],
        tasks_aligned=[0, 9, 0],
        files_changed=[2, 2, 2],
        files_changed_outside_plan=[2, 2, 2],
    )
    readings = check_signal(DRIFT, run, "wwb")
    assert readings[0].summary == (
        "0 of 3 completed tasks serve the plan and 2 of 2 changed files lie outside the plan "
        "after 3 tasks (out of line since turn 1)"
    )
    assert (readings[0].value, readings[0].threshold) == (0.0, 0.6)
    assert (readings[1].value, readings[1].threshold) == (1.0, 0.4)


def test_each_measure_can_be_switched_off() -> None:
    run = turns(
        tasks_completed=[9],
        tasks_aligned=[0],
        files_changed=[9],
        files_changed_outside_plan=[9],
    )
    nothing = DriftThresholds(
        plan_alignment_min=None, scope_creep_max=None, coverage_drop_points_max=None
    )
    check_signal(DRIFT, run, ".", nothing)


def test_tasks_and_persistence_are_thresholds() -> None:
    run = turns(tasks_completed=[1, 1, 1], tasks_aligned=[0, 0, 0])
    check_signal(DRIFT, run, "wwb", DriftThresholds(tasks_min=1))
    check_signal(DRIFT, run, "..b", DriftThresholds(persistence_tasks=0))
    check_signal(DRIFT, run * 2, "..wwww", DriftThresholds(persistence_tasks=None))


def test_the_coverage_summary_names_both_levels() -> None:
    run = turns(tasks_completed=[1, 1, 1], test_coverage_ratio=[0.8, 0.8, 0.749])
    readings = fold(DRIFT, run, DRIFT.defaults)
    assert readings[-1].summary.startswith("test coverage fell from 80 % to 74.9 % after 3 tasks")
    assert readings[-1].value == pytest.approx(5.1)


@pytest.mark.parametrize("wrong", [{"plan_alignment_min": 60}, {"tasks_min": -1}])
def test_thresholds_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        DriftThresholds(**wrong)
