"""A detector reads a run and marks the turns at which it would have spoken."""

from dataclasses import dataclass
from typing import Protocol

from sidecar.core.policy import Policy
from sidecar.core.reading import Severity
from sidecar.core.run import Run
from sidecar.core.turn import Turn
from sidecar.evaluation.runs import RecordedRun


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


class Detector(Protocol):
    """What can be held against labelled runs."""

    @property
    def name(self) -> str:
        """As the tables name it."""
        ...

    def marks(self, run: RecordedRun) -> tuple[Mark, ...]:
        """The findings on a run, by turn, BREAK before WARNING within one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDetector:
    """A policy of this project."""

    policy: Policy

    @property
    def name(self) -> str:
        """The policy's."""
        return self.policy.name

    def marks(self, run: RecordedRun) -> tuple[Mark, ...]:
        """Every reading above NONE that is no mere notice."""
        folded = Run.start(run.session_id, self.policy, limits=run.limits)
        found: list[Mark] = []
        for event in run.events(self.policy.lens):
            match event:
                case Turn():
                    folded, decision = folded.advance(event)
                case _:
                    folded, decision = folded.reject(event.sequence, event.rejection)
            found.extend(
                Mark(
                    sequence=decision.sequence,
                    severity=reading.severity,
                    signal=reading.signal,
                    summary=reading.summary,
                )
                for reading in decision.readings
                if not reading.notice
            )
        return tuple(found)


def first(marks: tuple[Mark, ...], severity: Severity) -> Mark | None:
    """The first mark of at least this severity."""
    return next((mark for mark in marks if mark.severity >= severity), None)
