"""Tasks dealt out to folds: what is chosen on some is measured on the others."""

import random
from collections.abc import Callable, Sequence
from typing import Final

from sidecar.evaluation.cases import Case
from sidecar.wording import counted

FOLDS_MIN: Final = 2


class TooFewError(ValueError):
    """There is too little to choose on and to measure on; the text says what is needed."""


def folds_of(cases: Sequence[Case], count: int, seed: int) -> tuple[tuple[int, ...], ...]:
    """The places of the cases in each of `count` folds, of which no two share a task.

    The rare kinds are dealt first, so that each fold gets its share of them. Raises TooFewError.
    """
    tasks = _tasks(cases)
    _require_enough(cases, tasks, count)
    order = sorted(tasks)
    random.Random(f"folds {seed}").shuffle(order)
    order.sort(key=lambda task: _kinds(cases, tasks[task]), reverse=True)
    folds: list[list[int]] = [[] for _ in range(count)]
    loads = [(0, 0, 0, 0)] * count
    for task in order:
        kinds = _kinds(cases, tasks[task])
        rarest = next(place for place, number in enumerate(kinds) if number)
        fold = min(range(count), key=lambda each: (loads[each][rarest], loads[each], each))
        folds[fold] += tasks[task]
        stuck, solved, unsolved, rest = (
            load + more for load, more in zip(loads[fold], kinds, strict=True)
        )
        loads[fold] = (stuck, solved, unsolved, rest)
    return tuple(tuple(sorted(fold)) for fold in folds)


def _tasks(cases: Sequence[Case]) -> dict[str, list[int]]:
    tasks: dict[str, list[int]] = {}
    for place, case in enumerate(cases):
        tasks.setdefault(case.task, []).append(place)
    return tasks


def _kinds(cases: Sequence[Case], places: Sequence[int]) -> tuple[int, int, int, int]:
    """How many runs of a task are stuck, solved, unsolved, and any."""
    own = [cases[place] for place in places]
    return (
        sum(case.is_stuck for case in own),
        sum(case.is_solved for case in own),
        sum(case.is_unsolved for case in own),
        len(own),
    )


def _require_enough(cases: Sequence[Case], tasks: dict[str, list[int]], count: int) -> None:
    kinds: tuple[tuple[str, str, Callable[[Case], bool]], ...] = (
        ("solved and not judged stuck", '"solved": true', lambda case: case.is_solved),
        (
            "unsolved or judged stuck",
            '"solved": false or "judged": {"stuck": true}',
            lambda case: case.is_unsolved or case.is_stuck,
        ),
    )
    for words, label, counts in kinds:
        among = {case.task for case in cases if counts(case)}
        if len(among) < FOLDS_MIN:
            raise TooFewError(
                f"runs that are {words} lie in {counted(len(among), 'task')}: it "
                f"must be {FOLDS_MIN} or more, one to choose on and one to measure on; label more "
                f"runs with {label}"
            )
    if len(tasks) < count:
        raise TooFewError(
            f"{count} folds of {counted(len(tasks), 'task')}: there must be a task for each fold; "
            f"ask for --folds {len(tasks)}, or see with --task that runs of one task are not all "
            "runs"
        )
