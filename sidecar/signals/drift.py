"""drift: the work leaves its plan, by any of three measures of the run so far.

Amounts are summed over the turns that report them, a ratio's two sides only over turns that report
both; the coverage is a level. The measures are the run's, so every turn that reports progress is
read, even one that completes no task; a warning ages by tasks, not by turns.
"""

from collections.abc import Iterator
from typing import Final

from sidecar.core.bounds import is_count, require_at_least, require_share
from sidecar.core.reading import QUIET, Reading, Severity
from sidecar.core.signal import Signal
from sidecar.core.turn import NO_PROGRESS, Progress, Turn
from sidecar.core.value import replace, value
from sidecar.core.words import Measure, Unit, Words

POINT_DIGITS: Final = 9
"""Digits that a coverage drop in points is rounded to: 0.80 - 0.75 is 5.000000000000004 points."""


@value
class DriftThresholds:
    """How far the work may leave its plan. The numbers are the founding ones, in every preset.

    All comparisons are strict: exactly at a threshold is still in order.
    """

    plan_alignment_min: float | None = 0.6
    """Least share of the completed tasks that must serve the plan; None: not held against it."""
    scope_creep_max: float | None = 0.4
    """Largest share of the changed files that may lie outside the plan; None: any."""
    coverage_drop_points_max: float | None = 5.0
    """Percentage points that test coverage may fall from where it was first; None: any."""
    tasks_min: int = 3
    """Completed tasks before anything is judged."""
    persistence_tasks: int | None = 2
    """Further tasks that a warning must stand for to break; None: never."""

    def __post_init__(self) -> None:
        """Refuse shares outside (0, 1] and negative amounts."""
        require_share(
            plan_alignment_min=self.plan_alignment_min, scope_creep_max=self.scope_creep_max
        )
        require_at_least(
            0,
            coverage_drop_points_max=self.coverage_drop_points_max,
            tasks_min=self.tasks_min,
            persistence_tasks=self.persistence_tasks,
        )


@value
class DriftState:
    """The sums and levels so far."""

    tasks: int = 0
    """Tasks completed."""
    judged: int = 0
    """Of these, tasks of turns that said how many serve the plan."""
    aligned: int = 0
    files: int = 0
    """Files changed, in turns that said how many lie outside the plan."""
    outside: int = 0
    coverage_first: float | None = None
    coverage: float | None = None
    warned_at: int | None = None
    """Tasks completed when the standing warning began; None: none stands."""
    warned_since: int = 0
    """Sequence of the turn in which it began."""


@value
class _Measure:
    value: float
    threshold: float
    breached: bool
    words: str
    least: bool = False
    """Whether the threshold is a minimum."""

    @property
    def nearness(self) -> float:
        """1 at the threshold; what is held against a minimum is as far below 1 as it is above."""
        share = self.value / self.threshold if self.threshold else 0.0
        return 2 - share if self.least else share


def _step(state: DriftState, turn: Turn, thresholds: DriftThresholds) -> tuple[DriftState, Reading]:
    progress = turn.progress
    if progress is NO_PROGRESS or progress == NO_PROGRESS:
        return state, QUIET
    if not _adds_nothing(progress):
        state = _summed(state, progress)
    if state.tasks < max(1, thresholds.tasks_min):
        return state, QUIET
    measures = list(_measures(state, thresholds))
    breaches = [measure for measure in measures if measure.breached]
    if not breaches:
        is_calm = state.warned_at is None
        state = state if is_calm else replace(state, warned_at=None, warned_since=0)
        return state, _nearest(measures)
    if state.warned_at is None:
        state = replace(state, warned_at=state.tasks, warned_since=turn.sequence)
    return state, _reading(breaches, state, thresholds)


def _adds_nothing(progress: Progress) -> bool:
    """Whether a turn has no part in any sum or level, as most have that report changed files."""
    return (
        progress.tasks_completed is None
        and progress.files_changed_outside_plan is None
        and progress.test_coverage_ratio is None
    )


def _summed(state: DriftState, progress: Progress) -> DriftState:
    done, serving = progress.tasks_completed, progress.tasks_aligned
    changed, beyond = progress.files_changed, progress.files_changed_outside_plan
    level = progress.test_coverage_ratio
    tasks, judged, aligned = state.tasks, state.judged, state.aligned
    files, outside = state.files, state.outside
    first, coverage = state.coverage_first, state.coverage
    if done is not None and is_count(done):
        tasks += done
        if serving is not None and is_count(serving):
            judged, aligned = judged + done, aligned + serving
    if changed is not None and beyond is not None and is_count(changed) and is_count(beyond):
        files, outside = files + changed, outside + beyond
    if level is not None and 0 <= level <= 1:
        first, coverage = (float(level) if first is None else first), float(level)
    return DriftState(
        tasks=tasks,
        judged=judged,
        aligned=aligned,
        files=files,
        outside=outside,
        coverage_first=first,
        coverage=coverage,
        warned_at=state.warned_at,
        warned_since=state.warned_since,
    )


def _measures(state: DriftState, thresholds: DriftThresholds) -> Iterator[_Measure]:
    alignment_min, scope_max = thresholds.plan_alignment_min, thresholds.scope_creep_max
    if alignment_min is not None and state.judged:
        share = state.aligned / state.judged
        yield _Measure(
            value=share,
            threshold=alignment_min,
            breached=share < alignment_min,
            words=f"{state.aligned} of {state.judged} completed tasks serve the plan",
            least=True,
        )
    if scope_max is not None and state.files:
        share = state.outside / state.files
        yield _Measure(
            value=share,
            threshold=scope_max,
            breached=share > scope_max,
            words=f"{state.outside} of {state.files} changed files lie outside the plan",
        )
    points_max, first, last = (
        thresholds.coverage_drop_points_max,
        state.coverage_first,
        state.coverage,
    )
    if points_max is not None and first is not None and last is not None:
        points = round(100 * (first - last), POINT_DIGITS)
        yield _Measure(
            value=points,
            threshold=points_max,
            breached=points > points_max,
            words=f"test coverage fell from {100 * first:.4g} % to {100 * last:.4g} %",
        )


def _nearest(measures: list[_Measure]) -> Reading:
    nearest = max(measures, key=lambda measure: measure.nearness, default=None)
    if nearest is None or nearest.nearness <= 0:
        return QUIET
    return Reading(severity=Severity.NONE, value=nearest.value, threshold=nearest.threshold)


def _reading(breaches: list[_Measure], state: DriftState, thresholds: DriftThresholds) -> Reading:
    stood = state.tasks - (state.warned_at or 0)
    persistence = thresholds.persistence_tasks
    breaks = persistence is not None and stood >= persistence
    words = " and ".join(breach.words for breach in breaches)
    return Reading(
        severity=Severity.BREAK if breaks else Severity.WARNING,
        value=breaches[0].value,
        threshold=breaches[0].threshold,
        summary=f"{words} after {state.tasks} tasks (out of line since turn {state.warned_since})",
    )


WORDS: Final = Words(
    measured="tasks off the plan, files outside it, coverage that falls",
    raised_by="work on something else",
    diagnosis="The run works on other things than its plan asks for.",
    suggestions=(
        "read the plan's objectives again",
        "bring the next task back in line with the plan",
    ),
    measures=(
        # In the order of the levels: the first breach has the numbers.
        Measure(within="completed tasks", words="off the plan", unit=Unit.SHARE),
        Measure(within="changed files", words="off the plan", unit=Unit.SHARE),
        Measure(words="off the plan", unit=Unit.POINTS),
    ),
)

DRIFT: Final = Signal(
    name="drift",
    words=WORDS,
    defaults=DriftThresholds(),
    initial=DriftState(),
    step=_step,
    per_actor=False,  # the plan is the run's, whoever works on it
    consecutive=False,  # sums and levels; lost turns leave them too small, not wrong
    state_bytes_max=384,
)
