"""What came of a search, in plain text."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from sidecar.config.changes import differences
from sidecar.evaluation.cases import Case, are_tasks_unnamed
from sidecar.tuning.figures import Figures
from sidecar.tuning.space import Configuration, Space
from sidecar.tuning.tuner import Tuning
from sidecar.wording import counted

COLUMNS: Final = (
    "solved stopped",
    "not stuck stopped",
    "stuck caught",
    "unsolved stopped",
    "turns saved",
)

CONFIDENCE: Final = 0.95


def told(tuning: Tuning, cases: Sequence[Case]) -> str:
    """The figures on runs that were held out, the frontier, and what both are worth."""
    return "\n".join(
        (
            *_head(tuning, cases),
            "",
            *_held_out(tuning),
            "",
            *_frontier(tuning),
            "",
            *_notes(tuning),
            "",
        )
    )


def _head(tuning: Tuning, cases: Sequence[Case]) -> Iterator[str]:
    before, policy, settings = tuning.before, tuning.space.policy, tuning.settings
    yield (
        f"Policy {policy.name} {policy.revision} on {before.solved} solved, {before.unsolved} "
        f"unsolved, {before.stuck} judged stuck and {before.not_stuck} judged not stuck runs of "
        f"{counted(len({case.task for case in cases}), 'task')}."
    )
    yield (
        f"{counted(len(tuning.worth), 'configuration')} of "
        f"{counted(len(tuning.space.knobs), 'threshold')} tried; "
        f"{100 * settings.solved_stopped_max:g} % of the solved runs may be stopped."
    )
    if are_tasks_unnamed(cases):
        yield (
            "Every run is its own task here, so trials of one task may lie in two parts: name the "
            "task with --task REGEX, or in the labels."
        )


def _held_out(tuning: Tuning) -> Iterator[str]:
    name = tuning.space.policy.name
    yield f"Held out: each of {len(tuning.folds)} parts of the tasks under what the others chose"
    rows = [
        (name, *_cells(tuning.before), ""),
        ("tuned", *_cells(tuning.held_out), ""),
    ]
    rows += [
        (f"  part {number}", *_cells(fold.figures), _changes(tuning.space, fold.chosen))
        for number, fold in enumerate(tuning.folds, start=1)
    ]
    yield from _aligned([("", *COLUMNS, "chosen on the others"), *rows])
    done = "done better" if tuning.is_better else "not done better"
    yield f"On runs that it had not seen, the search has {done} than {name}."


def _frontier(tuning: Tuning) -> Iterator[str]:
    name = tuning.space.policy.name
    yield "Frontier: no other configuration tried is as good in every column and better in one."
    yield "These are all runs, on which they were chosen, so the figures flatter."
    rows = [(name, *_cells(tuning.before), "")]
    rows += [
        (
            "chosen" if tried.figures == tuning.chosen_on else "",
            *_cells(tried.figures),
            _changes(tuning.space, tried.configuration)
            + (f"  (and {tried.alike - 1} alike)" if tried.alike > 1 else ""),
        )
        for tried in tuning.frontier
    ]
    yield from _aligned([("", *COLUMNS, f"changed from {name}"), *rows])


def _notes(tuning: Tuning) -> Iterator[str]:
    name = tuning.space.policy.name
    if tuning.dominating:
        yield f"Configurations that dominate {name} on these runs: {tuning.dominating}."
    else:
        yield f"No configuration that was tried dominates {name}."
    yield f"Chosen: {_changes(tuning.space, tuning.chosen)}."
    if tuning.silent:
        silent = ", ".join(".".join(threshold) for threshold in tuning.silent)
        yield f"These runs say nothing of {silent}: no value made a difference."
    yield from _too_few(tuning.before.solved, tuning.settings.solved_stopped_max)


def _too_few(solved: int, share: float) -> Iterator[str]:
    """What even a search without a false stop could not show with so many solved runs."""
    needed = runs_needed(share)
    if needed is None or solved < needed:
        bound = 1 - (1 - CONFIDENCE) ** (1 / solved)
        yield (
            f"Not one false stop in {solved} solved runs would show (at 95 %) only "
            f"that fewer than {100 * bound:.2g} % of such runs are stopped."
        )
        if needed:
            yield f"To show {100 * share:g} % takes {needed} of them."


def runs_needed(share: float) -> int | None:
    """Runs, all of them well, that show a share to be no larger (at 95 %); None: no number does."""
    if share <= 0:
        return None
    return 1 if share >= 1 else math.ceil(math.log(1 - CONFIDENCE) / math.log(1 - share))


def _cells(figures: Figures) -> tuple[str, ...]:
    return tuple(
        f"{count} of {of}"
        for count, of in (
            (figures.solved_stopped, figures.solved),
            (figures.not_stuck_stopped, figures.not_stuck),
            (figures.stuck_stopped, figures.stuck),
            (figures.unsolved_stopped, figures.unsolved),
            (figures.turns_saved, figures.unsolved_turns),
        )
    )


def _changes(space: Space, configuration: Configuration) -> str:
    policy = space.at(configuration)
    changes = differences(space.policy, policy) if policy else ()
    return ", ".join(map(str, changes)) or "nothing changed"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
