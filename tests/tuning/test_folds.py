"""Tasks dealt out to folds."""

import random

import pytest

from sidecar.evaluation.cases import Case
from sidecar.tuning.folds import TooFewError, folds_of
from tests.tuning.made import case, many


def drawn(seed: int) -> list[Case]:
    """Runs of a few tasks each, as many as six to a task."""
    draw = random.Random(seed)
    return [
        case(
            f"{number}",
            task=f"task {draw.randrange(40)}",
            solved=draw.random() < 0.4,
            stuck=draw.choice((True, False, None, None, None, None)),
        )
        for number in range(120)
    ]


@pytest.mark.parametrize("seed", range(10))
def test_every_run_is_in_one_fold_and_no_task_in_two(seed: int) -> None:
    cases = drawn(seed)
    folds = folds_of(cases, 5, seed)
    assert sorted(place for fold in folds for place in fold) == list(range(len(cases)))
    tasks = [{cases[place].task for place in fold} for fold in folds]
    assert sum(map(len, tasks)) == len(set().union(*tasks))


def test_what_is_rare_is_in_every_fold() -> None:
    cases = many(solved=10, unsolved=100, stuck=5)
    for fold in folds_of(cases, 5, 0):
        own = [cases[place] for place in fold]
        assert sum(each.is_stuck for each in own) == 1
        assert sum(each.is_solved for each in own) == 2
        assert len(own) == 23


def test_a_seed_deals_alike_and_another_otherwise() -> None:
    cases = many(solved=20, unsolved=20)
    assert folds_of(cases, 5, 1) == folds_of(cases, 5, 1) != folds_of(cases, 5, 2)


TOO_FEW = {
    "no run is solved": (
        many(solved=0, unsolved=9),
        (
            "runs that are solved and not judged stuck lie in 0 tasks: it must be 2 or more, one "
            'to choose on and one to measure on; label more runs with "solved": true'
        ),
    ),
    "a solved run that was judged stuck is none": (
        [case("a", solved=True, stuck=True), *many(solved=1, unsolved=9)],
        "runs that are solved and not judged stuck lie in 1 task:",
    ),
    "no run is unsolved or stuck": (
        many(solved=9, unsolved=0),
        "runs that are unsolved or judged stuck lie in 0 tasks",
    ),
    "all runs are of one task": (
        [case(f"{number}", task="one", solved=number % 2 == 0) for number in range(20)],
        "runs that are solved and not judged stuck lie in 1 task:",
    ),
    "fewer tasks than folds": (
        many(solved=2, unsolved=2),
        "5 folds of 4 tasks: there must be a task for each fold; ask for --folds 4",
    ),
}


@pytest.mark.parametrize(("cases", "problem"), TOO_FEW.values(), ids=TOO_FEW)
def test_too_few_runs_are_told_with_what_is_needed(cases: list[Case], problem: str) -> None:
    with pytest.raises(TooFewError) as caught:
        folds_of(cases, 5, 0)
    assert str(caught.value).startswith(problem)
