"""A detector reads a run and marks the turns at which it would have spoken."""

from dataclasses import dataclass

from sidecar.core.directive import Decision
from sidecar.core.policy import Policy
from sidecar.core.reading import Severity
from sidecar.core.run import Run
from sidecar.core.turn import Turn
from sidecar.evaluation.runs import RecordedRun
from sidecar.ports import Rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One finding on one turn."""

    sequence: int
    """Of the turn, from 1."""
    severity: Severity
    """WARNING or BREAK."""
    signal: str
    """The signal, or the rule of a detector that is not ours."""
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDetector:
    """A policy of this project."""

    policy: Policy

    @property
    def name(self) -> str:
        """The policy's."""
        return self.policy.name

    def marks(self, run: RecordedRun) -> tuple[Mark, ...]:
        """The findings on a run, by turn, BREAK before WARNING within one."""
        folded = Run.start(run.session_id, self.policy, limits=run.limits)
        found: list[Mark] = []
        for event in run.events(self.policy.lens):
            folded, decision = folded_on(folded, event)
            found += marks_of(decision)
        return tuple(found)


def folded_on(run: Run, event: Turn | Rejected) -> tuple[Run, Decision]:
    """The run after what was recorded next."""
    if isinstance(event, Turn):
        return run.advance(event)
    return run.reject(event.sequence, event.rejection)


def marks_of(decision: Decision) -> list[Mark]:
    """Every reading above NONE that is no mere notice."""
    return [
        Mark(
            sequence=decision.sequence,
            severity=reading.severity,
            signal=reading.signal,
            summary=reading.summary,
        )
        for reading in decision.readings
        if not reading.notice
    ]


def first(marks: tuple[Mark, ...], severity: Severity) -> Mark | None:
    """The first mark of at least this severity."""
    return next((mark for mark in marks if mark.severity >= severity), None)
