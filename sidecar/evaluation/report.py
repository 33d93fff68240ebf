"""Everything that one evaluation found, before it is shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sidecar.core.policy import Policy
from sidecar.evaluation.cases import Case
from sidecar.evaluation.measures import Measures, Tally, measure, resamples_of, tally
from sidecar.evaluation.sweep import Sweep, sweep
from sidecar.wording import counted

NAMED_MAX = 3
"""Sessions named in a note; the rest is a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The runs of one source."""

    source: str
    runs: Tally
    detectors: tuple[Measures, ...]
    """Without intervals: most sources have too few tasks for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was measured on which runs."""

    runs: Tally
    labelled: int
    """Runs that have a label."""
    turns: int
    tasks: int
    """Tasks of which something is known: what the intervals are drawn from."""
    notes: tuple[str, ...]
    """What the figures leave out, in sentences."""
    detectors: tuple[Measures, ...]
    sources: tuple[Source, ...]
    """By name."""
    sweep: Sweep | None
    cases: tuple[Case, ...]
    """With the marks of these detectors."""


def report(
    cases: Sequence[Case],
    detectors: Sequence[str],
    *,
    notes: Iterable[str] = (),
    swept: Policy | None = None,
) -> Report:
    """The figures of the detectors named, by which the cases were marked; and of `swept`, where
    its variants (`sweep_detectors`) marked them too."""
    resamples = resamples_of(cases)
    by_source: dict[str, list[Case]] = {}
    for case in cases:
        by_source.setdefault(case.source, []).append(case)
    runs = tally(cases)
    return Report(
        runs=runs,
        labelled=sum(case.labelled for case in cases),
        turns=sum(case.turns for case in cases),
        tasks=len(resamples.tasks),
        notes=(*notes, *_gaps(runs)),
        detectors=tuple(measure(cases, name, resamples) for name in detectors),
        sources=tuple(
            Source(
                source=source,
                runs=tally(found),
                detectors=tuple(measure(found, name) for name in detectors),
            )
            for source, found in sorted(by_source.items())
        ),
        sweep=sweep(cases, swept) if swept else None,
        cases=tuple(
            replace(case, marks={name: case.marks[name] for name in detectors}) for case in cases
        ),
    )


def label_notes(cases: Sequence[Case], labels: Iterable[str]) -> tuple[str, ...]:
    """How the runs and the sessions that are labelled do not meet."""
    there = {case.session_id for case in cases}
    missing = [session_id for session_id in labels if session_id not in there]
    unlabelled = [case.session_id for case in cases if not case.labelled]
    sentences = (
        (
            missing,
            "label is of a run that was not given, and is left out",
            "labels are of runs that were not given, and are left out",
        ),
        (
            unlabelled,
            "run has no label, and counts only where nothing need be known of it",
            "runs have no label, and count only where nothing need be known of them",
        ),
    )
    return tuple(
        f"{counted(len(found), one, many)}: {_named(found)}."
        for found, one, many in sentences
        if found
    )


def _named(sessions: Sequence[str]) -> str:
    named = ", ".join(repr(session_id) for session_id in sessions[:NAMED_MAX])
    return f"{named} and {len(sessions) - NAMED_MAX} more" if len(sessions) > NAMED_MAX else named


def _gaps(runs: Tally) -> tuple[str, ...]:
    """What cannot be given, since there is nothing to measure it on."""
    lacks = {
        "solved: how often a detector disturbs such a run": runs.solved,
        "unsolved: what a detector saves": runs.unsolved,
        "judged stuck: recall and delay": runs.stuck,
        "judged not stuck: how often a detector hits such a run": runs.not_stuck,
    }
    return tuple(
        f"No run is known to be {lack} cannot be given."
        for lack, count in lacks.items()
        if not count
    )
