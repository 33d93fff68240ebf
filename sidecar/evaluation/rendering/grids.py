"""The report's figures as tables of text, the same on a terminal and on a page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sidecar.evaluation.cases import are_tasks_unnamed
from sidecar.evaluation.measures import PROMPT_TURNS, After, Delay, Estimate, Fired, Share, Tally
from sidecar.evaluation.report import Report
from sidecar.wording import counted

ABSENT = "-"
"""Stands where no figure can be given."""

_UNNAMED = (
    "Every run is its own task here; where several are trials of one, name it with --task REGEX or "
    "in the labels, else the intervals are too narrow. "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """One table. The first `names` columns are words, the others figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str
    names: int = 1


def summary(report: Report) -> str:
    """What was measured, in one sentence."""
    runs = report.runs
    return (
        f"{counted(runs.all, 'run')} with {counted(report.turns, 'turn')}: {runs.solved} solved, "
        f"{runs.unsolved} unsolved; {runs.stuck} judged stuck, {runs.not_stuck} judged not stuck."
    )


def grids(report: Report) -> tuple[Grid, ...]:
    """All tables, the most important first."""
    return (_hits(report), _accuracy(report), _worth(report), _signals(report), _sources(report))


def _hits(report: Report) -> Grid:
    return Grid(
        title="Whom it disturbs, whom it catches",
        columns=(
            "detector",
            "all: any",
            "solved: BREAK",
            "solved: any",
            "stuck: BREAK",
            "stuck: any",
            "not stuck: BREAK",
            "delay, turns",
            f"delay ≤ {PROMPT_TURNS}",
        ),
        rows=tuple(
            (
                one.detector,
                share(one.all.directive),
                share(one.solved.break_),
                share(one.solved.directive),
                share(one.stuck.break_),
                share(one.stuck.directive),
                share(one.not_stuck.break_),
                delay(one.delay),
                share(one.delay.prompt),
            )
            for one in report.detectors
        ),
        note="Share of runs. any: WARNING or BREAK. A solved run that was judged stuck counts as "
        "stuck, not as solved. Delay: from the judged start to the first of any, over the stuck "
        "runs caught: median (quartiles); below 0: before it.",
    )


def _accuracy(report: Report) -> Grid:
    return Grid(
        title="How sure that is",
        columns=(
            "detector",
            "precision, BREAK",
            "recall, BREAK",
            "precision, any",
            "recall, any",
        ),
        rows=tuple(
            (
                one.detector,
                estimate(one.on_break.precision),
                estimate(one.on_break.recall),
                estimate(one.on_directive.precision),
                estimate(one.on_directive.recall),
            )
            for one in report.detectors
        ),
        note=f"With 95 % intervals, by drawing the {counted(report.tasks, 'task')} of known runs "
        f"again. {_UNNAMED if are_tasks_unnamed(report.cases) else ''}"
        "Precision: of the known runs that were marked, those judged stuck; known: judged, or "
        "solved. Recall: of those judged stuck, the marked. [-]: all alike, which tells no spread.",
    )


def _worth(report: Report) -> Grid:
    return Grid(
        title="What follows the first BREAK",
        columns=(
            "detector",
            "unsolved: BREAK",
            "turns saved",
            "tokens",
            "cost, $",
            "solved: BREAK",
            "turns lost",
            "tokens",
            "cost, $",
        ),
        rows=tuple(
            (
                one.detector,
                share(one.unsolved.break_),
                *_after(one.saved),
                share(one.solved.break_),
                *_after(one.lost),
            )
            for one in report.detectors
        ),
        note="In all, had every run ended at its first BREAK. Tokens and cost as far as turns "
        f"tell them; {ABSENT}: none did.",
    )


def _signals(report: Report) -> Grid:
    kinds = ("all", "solved", "unsolved", "stuck", "not stuck")
    return Grid(
        title="By signal",
        columns=(
            "detector",
            "signal",
            *(f"BREAK: {kinds[0]}", *kinds[1:]),
            *(f"any: {kinds[0]}", *kinds[1:]),
        ),
        rows=tuple(
            (one.detector, *_fired(signal)) for one in report.detectors for signal in one.signals
        ),
        note="Runs whose first BREAK, and whose first mark of any severity, is the signal's.",
        names=2,
    )


def _sources(report: Report) -> Grid:
    return Grid(
        title="By source",
        columns=(
            "source",
            "detector",
            "solved: BREAK",
            "solved: any",
            "unsolved: BREAK",
            "stuck: any",
            "not stuck: BREAK",
            "saved",
            "lost",
        ),
        rows=tuple(
            (
                source.source,
                one.detector,
                share(one.solved.break_),
                share(one.solved.directive),
                share(one.unsolved.break_),
                share(one.stuck.directive),
                share(one.not_stuck.break_),
                turns(one.saved),
                turns(one.lost),
            )
            for source in report.sources
            for one in source.detectors
        ),
        note=f"saved, lost: turns as above. {ABSENT}: the source has no such run.",
        names=2,
    )


def share(found: Share) -> str:
    """As 4/9 44 %."""
    return f"{found.count}/{found.of} {percent(found.ratio)}" if found.of else ABSENT


def percent(ratio: float | None) -> str:
    """With one place below 10 %, where it matters."""
    if ratio is None:
        return ABSENT
    return f"{100 * ratio:.{1 if 0 < ratio < 0.1 else 0}f} %"


def delay(found: Delay) -> str:
    """As 2 (1 to 4.5)."""
    if found.median is None:
        return ABSENT
    return f"{found.median:g} ({found.quartile_low:g} to {found.quartile_high:g})"


def estimate(found: Estimate) -> str:
    """As 4/9 44 % [20, 67]."""
    if not found.share.of:
        return ABSENT
    if found.low is None or found.high is None:
        return f"{share(found.share)} [{ABSENT}]"
    return f"{share(found.share)} [{100 * found.low:.0f}, {100 * found.high:.0f}]"


def turns(after: After) -> str:
    """As 40/1,200."""
    return f"{after.turns:,}/{after.turns_of:,}" if after.turns_of else ABSENT


def _after(after: After) -> Sequence[str]:
    return (
        turns(after),
        ABSENT if after.tokens is None else f"{after.tokens:,}",
        ABSENT if after.cost_usd is None else f"{after.cost_usd:,.2f}",
    )


def _fired(fired: Fired) -> Iterable[str]:
    return (fired.signal, *_tally(fired.first_break), *_tally(fired.first_mark))


def _tally(runs: Tally) -> Iterable[str]:
    counts = (runs.all, runs.solved, runs.unsolved, runs.stuck, runs.not_stuck)
    return tuple(str(count) for count in counts)
