"""Marks held against labels: how often a detector is right, how soon, and what it is worth.

Pure: cases in, figures out. A figure that the cases cannot give is None, and never 0.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Final, TypeAlias

from sidecar.core.reading import Severity
from sidecar.evaluation.cases import Case
from sidecar.evaluation.detecting import Mark
from sidecar.evaluation.intervals import Resamples

PROMPT_TURNS: Final = 3
"""Delays up to it count as prompt."""

Kind: TypeAlias = Callable[[Case], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """So many of so many."""

    count: int
    of: int

    @property
    def ratio(self) -> float | None:
        """In [0, 1]; None of nothing."""
        return self.count / self.of if self.of else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hits:
    """Runs of one kind, and those of them that a detector marked."""

    directive: Share
    """Marked at all: WARNING or BREAK."""
    break_: Share
    """Marked with BREAK."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """Turns from the judged start to the first mark, over the runs judged stuck that were marked
    and whose start is known; below 0: marked before it."""

    turns: tuple[int, ...]
    """Ascending."""
    median: float | None
    quartile_low: float | None
    quartile_high: float | None
    prompt: Share
    """Of these, at most PROMPT_TURNS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A share of runs with its 95 % interval, by resampling the tasks."""

    share: Share
    low: float | None
    """None: the cases do not tell the spread."""
    high: float | None
    tasks: int
    """Among the runs counted in `share.of`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Over the runs of which it is known whether a detector should have spoken (`Case.truth`)."""

    precision: Estimate
    """Of those marked, the share that was judged stuck."""
    recall: Estimate
    """Of those judged stuck, the share that was marked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """What followed the first BREAK in runs of one kind."""

    runs: int
    """With a BREAK."""
    turns: int
    turns_of: int
    """All turns of all runs of the kind."""
    tokens: int | None
    """None: no turn after a BREAK told any."""
    tokens_turns: int
    """Turns that told them."""
    cost_usd: float | None
    cost_turns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Runs, by what is known of them; one run may be in several."""

    all: int
    solved: int
    unsolved: int
    stuck: int
    not_stuck: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """One signal, or rule, of a detector."""

    signal: str
    first_mark: Tally
    """Runs whose first mark is its."""
    first_break: Tally
    """Runs whose first BREAK is its."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """One detector on a set of runs."""

    detector: str
    all: Hits
    solved: Hits
    """Solved runs but those judged stuck."""
    unsolved: Hits
    stuck: Hits
    """Judged stuck."""
    not_stuck: Hits
    """Judged not stuck."""
    delay: Delay
    on_directive: Accuracy
    on_break: Accuracy
    saved: After
    """In unsolved runs."""
    lost: After
    """In solved runs but those judged stuck."""
    signals: tuple[Fired, ...]
    """By first BREAK, then by first mark, most often first."""


def measure(cases: Sequence[Case], detector: str, resamples: Resamples | None = None) -> Measures:
    """The figures of one detector; without resamples, no intervals."""
    solved = [case for case in cases if case.is_solved]
    unsolved = [case for case in cases if case.is_unsolved]
    stuck = [case for case in cases if case.is_stuck]
    not_stuck = [case for case in cases if case.is_not_stuck]
    known = [case for case in cases if case.truth is not None]
    return Measures(
        detector=detector,
        all=_hits(cases, detector),
        solved=_hits(solved, detector),
        unsolved=_hits(unsolved, detector),
        stuck=_hits(stuck, detector),
        not_stuck=_hits(not_stuck, detector),
        delay=_delay(stuck, detector),
        on_directive=_accuracy(known, detector, Severity.WARNING, resamples),
        on_break=_accuracy(known, detector, Severity.BREAK, resamples),
        saved=_after(unsolved, detector),
        lost=_after(solved, detector),
        signals=_signals(cases, detector),
    )


def resamples_of(cases: Iterable[Case]) -> Resamples:
    """Draws of the tasks of which something is known."""
    return Resamples(sorted({case.task for case in cases if case.truth is not None}))


def tally(cases: Iterable[Case]) -> Tally:
    """How many runs are known to be what."""
    cases = list(cases)
    return Tally(
        all=len(cases),
        solved=sum(case.is_solved for case in cases),
        unsolved=sum(case.is_unsolved for case in cases),
        stuck=sum(case.is_stuck for case in cases),
        not_stuck=sum(case.is_not_stuck for case in cases),
    )


def _hits(cases: Sequence[Case], detector: str) -> Hits:
    return Hits(
        directive=_share(cases, lambda case: case.first(detector, Severity.WARNING) is not None),
        break_=_share(cases, lambda case: case.first(detector, Severity.BREAK) is not None),
    )


def _share(cases: Sequence[Case], counts: Kind) -> Share:
    return Share(count=sum(map(counts, cases)), of=len(cases))


def _delay(stuck: Iterable[Case], detector: str) -> Delay:
    turns = sorted(
        mark.sequence - case.judged.from_turn
        for case in stuck
        if case.judged and case.judged.from_turn
        if (mark := case.first(detector, Severity.WARNING))
    )
    low, median, high = _quartiles(turns)
    return Delay(
        turns=tuple(turns),
        median=median,
        quartile_low=low,
        quartile_high=high,
        prompt=Share(count=sum(delay <= PROMPT_TURNS for delay in turns), of=len(turns)),
    )


def _quartiles(turns: Sequence[int]) -> tuple[float | None, float | None, float | None]:
    if not turns:
        return None, None, None
    # Doubled, since one alone has quartiles too, and twice the same has those of once.
    several = turns if len(turns) > 1 else (*turns, *turns)
    low, median, high = quantiles(several, n=4, method="inclusive")
    return low, median, high


def _accuracy(
    known: Sequence[Case], detector: str, severity: Severity, resamples: Resamples | None
) -> Accuracy:
    def marked(case: Case) -> bool:
        return case.first(detector, severity) is not None

    def stuck(case: Case) -> bool:
        return case.truth is True

    return Accuracy(
        precision=_estimate(filter(marked, known), stuck, resamples),
        recall=_estimate(filter(stuck, known), marked, resamples),
    )


def _estimate(cases: Iterable[Case], counts: Kind, resamples: Resamples | None) -> Estimate:
    of: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for case in cases:
        of[case.task] += 1
        hits[case.task] += counts(case)
    by_task = {task: (hits[task], of[task]) for task in of}
    interval = resamples.interval(by_task) if resamples else None
    low, high = interval or (None, None)
    share = Share(count=hits.total(), of=of.total())
    return Estimate(share=share, low=low, high=high, tasks=len(of))


def _after(cases: Sequence[Case], detector: str) -> After:
    turns = runs = 0
    tokens: list[int] = []
    costs: list[float] = []
    for case in cases:
        mark = case.first(detector, Severity.BREAK)
        if mark is None:
            continue
        runs += 1
        turns += case.turns - mark.sequence
        later = [spent for spent in case.spending if spent.sequence > mark.sequence]
        tokens += [spent.tokens for spent in later if spent.tokens is not None]
        costs += [spent.cost_usd for spent in later if spent.cost_usd is not None]
    return After(
        runs=runs,
        turns=turns,
        turns_of=sum(case.turns for case in cases),
        tokens=sum(tokens) if tokens else None,
        tokens_turns=len(tokens),
        cost_usd=sum(costs) if costs else None,
        cost_turns=len(costs),
    )


def _signals(cases: Sequence[Case], detector: str) -> tuple[Fired, ...]:
    marked = _by_signal(cases, lambda case: case.first(detector, Severity.WARNING))
    broken = _by_signal(cases, lambda case: case.first(detector, Severity.BREAK))
    fired = [
        Fired(
            signal=signal,
            first_mark=tally(marked.get(signal, ())),
            first_break=tally(broken.get(signal, ())),
        )
        for signal in {**broken, **marked}
    ]
    return tuple(
        sorted(fired, key=lambda one: (-one.first_break.all, -one.first_mark.all, one.signal))
    )


def _by_signal(
    cases: Iterable[Case], found: Callable[[Case], Mark | None]
) -> dict[str, list[Case]]:
    by_signal: dict[str, list[Case]] = {}
    for case in cases:
        mark = found(case)
        if mark:
            by_signal.setdefault(mark.signal, []).append(case)
    return by_signal
