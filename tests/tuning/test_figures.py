"""What a configuration is worth."""

import random
from dataclasses import replace

import pytest

from sidecar.core.reading import Severity
from sidecar.evaluation.cases import Case
from sidecar.evaluation.detecting import Mark
from sidecar.evaluation.measures import measure
from sidecar.tuning.figures import Figures, Part, allowed
from tests.tuning.made import case

BASE = Figures(
    solved=100,
    solved_stopped=1,
    stuck=10,
    stuck_stopped=5,
    not_stuck=10,
    not_stuck_stopped=1,
    unsolved=50,
    unsolved_stopped=20,
    unsolved_turns=900,
    turns_saved=300,
)


def drawn(seed: int) -> tuple[list[Case], tuple[int, ...]]:
    draw = random.Random(seed)
    cases = [
        case(
            f"{number}",
            solved=draw.choice((True, False, None)),
            stuck=draw.choice((True, False, None)),
            turns=draw.randrange(5, 40),
        )
        for number in range(200)
    ]
    return cases, tuple(draw.choice((0, draw.randrange(1, each.turns + 1))) for each in cases)


@pytest.mark.parametrize("seed", range(5))
def test_the_figures_are_those_of_an_evaluation(seed: int) -> None:
    cases, breaks = drawn(seed)
    marked = [
        replace(
            each,
            marks={
                "it": (Mark(sequence=at, severity=Severity.BREAK, signal="loop"),) if at else ()
            },
        )
        for each, at in zip(cases, breaks, strict=True)
    ]
    expected = measure(marked, "it")
    assert Part(cases, range(len(cases))).figures(breaks) == Figures(
        solved=expected.solved.break_.of,
        solved_stopped=expected.solved.break_.count,
        stuck=expected.stuck.break_.of,
        stuck_stopped=expected.stuck.break_.count,
        not_stuck=expected.not_stuck.break_.of,
        not_stuck_stopped=expected.not_stuck.break_.count,
        unsolved=expected.unsolved.break_.of,
        unsolved_stopped=expected.unsolved.break_.count,
        unsolved_turns=expected.saved.turns_of,
        turns_saved=expected.saved.turns,
    )


def test_the_figures_of_parts_add_up() -> None:
    cases, breaks = drawn(9)
    parts = [Part(cases, range(0, 200, 2)), Part(cases, range(1, 200, 2))]
    whole = Part(cases, range(200)).figures(breaks)
    assert parts[0].figures(breaks) + parts[1].figures(breaks) == whole


BETTER = {
    "a stuck run caught": {"stuck_stopped": 6},
    "a run spared that is not stuck": {"not_stuck_stopped": 0},
    "an unsolved run stopped": {"unsolved_stopped": 21},
    "a turn saved": {"turns_saved": 301},
    "a false stop fewer": {"solved_stopped": 0},
}


@pytest.mark.parametrize("change", BETTER.values(), ids=BETTER)
def test_each_of_these_alone_is_better_and_dominates(change: dict[str, int]) -> None:
    better = replace(BASE, **change)
    assert better.rank(0.01) > BASE.rank(0.01)
    assert better.dominates(BASE)
    assert not BASE.dominates(better)


WORSE = {
    "too many false stops, whatever else": {
        "solved_stopped": 2,
        "stuck_stopped": 10,
        "unsolved_stopped": 50,
        "turns_saved": 900,
    },
    "judged runs before all others": {
        "stuck_stopped": 4,
        "unsolved_stopped": 50,
        "turns_saved": 900,
    },
    "runs before turns": {"unsolved_stopped": 19, "turns_saved": 900},
    "turns before false stops within the bound": {"turns_saved": 299, "solved_stopped": 0},
}


@pytest.mark.parametrize("change", WORSE.values(), ids=WORSE)
def test_what_counts_first_counts_most(change: dict[str, int]) -> None:
    other = replace(BASE, **change)
    assert other.rank(0.01) < BASE.rank(0.01)
    assert not other.dominates(BASE)
    assert not BASE.dominates(other)


def test_nothing_dominates_itself() -> None:
    assert not BASE.dominates(BASE)


@pytest.mark.parametrize(
    ("solved", "share", "most"),
    [(100, 0.29, 29), (99, 0.01, 0), (100, 0.01, 1), (7, 0.0, 0), (7, 1.0, 7), (3, 1 / 3, 1)],
)
def test_a_share_allows_whole_runs(solved: int, share: float, most: int) -> None:
    assert allowed(solved, share) == most
