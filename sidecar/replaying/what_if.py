"""One run under two policies: which directives move when thresholds change, and why.

The turns are those that were recorded. What the agent would have done differently, had it been
told otherwise, no replay knows: up to the first directive that moves the comparison is exact, and
beyond it an estimate.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sidecar.adapters.run_file import BrokenLine, Line
from sidecar.config.changes import Difference, differences
from sidecar.config.keys import Config
from sidecar.core.directive import Commit, Decision, Directive, Halt, Proceed, Rotate
from sidecar.core.policy import Policy
from sidecar.policies import Policies
from sidecar.replaying.recorded import Problem, Replay


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the agent is told at one turn, and the reading that bears on it."""

    directive: str
    """proceed, rotate, commit or halt."""
    signal: str = ""
    """Empty: no signal of those that the two directives name has a reading here."""
    severity: str = ""
    """warning or break; empty without a reading."""
    value: float | None = None
    threshold: float | None = None
    """What the value was held against."""
    summary: str = ""
    """The reading's sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One decision that is another under the changed policy."""

    turn: int
    """Sequence of the turn that it answers, or of the last turn before a command."""
    cause: str
    """turn, operator or idle."""
    before: Said
    after: Said


class WhatIf:
    """One run file through the fold twice."""

    def __init__(
        self,
        source: str,
        *,
        config: Config,
        policies: Policies,
        policy: str,
        change: Callable[[Policy], Policy],
    ) -> None:
        """`policy` replaces the file's own, where it is not empty; `change` gives the other one."""
        self._config, self._policies = config, policies
        self._source, self._change = source, change
        self._policy = policy
        self._first = Replay.under(config, source, policies, policy=policy)
        self._second: Replay | None = None

    def run(self, lines: Iterable[Line | BrokenLine]) -> Iterator[Problem]:
        """Fold the run both ways; what could not be read comes back, and the caller may stop there.

        Raises whatever `change` raises.
        """
        for line in lines:
            for answer in self._first.run((line,)):
                if isinstance(answer, Problem):
                    yield answer
            if self._second is None and self._first.session is not None:
                self._second = self._otherwise(self._first.session.facts.policy)
            for _ in self._second.run((line,)) if self._second else ():
                pass

    @property
    def session_id(self) -> str:
        """The run's; empty: nothing of it could be read."""
        return self._first.session.id if self._first.session else ""

    @property
    def policies(self) -> tuple[Policy, Policy] | None:
        """Before and after; None: nothing of the run could be read."""
        first, second = self._first.session, self._second and self._second.session
        return (first.facts.policy, second.facts.policy) if first and second else None

    @property
    def changes(self) -> tuple[Difference, ...]:
        """The thresholds in which the two policies differ."""
        return differences(*self.policies) if self.policies else ()

    @property
    def turns(self) -> int:
        """The last turn of the run."""
        return self._first.session.last_sequence if self._first.session else 0

    @property
    def moves(self) -> tuple[Move, ...]:
        """The decisions that differ in the directive, or in the signal that it names."""
        second = self._second.entries if self._second else []
        return tuple(
            _move(one.decision, other.decision)
            for one, other in zip(self._first.entries, second, strict=False)
            if one.decision and other.decision and _told(one.decision) != _told(other.decision)
        )

    def _otherwise(self, policy: Policy) -> Replay:
        changed = Policies(
            by_name={**self._policies.by_name, policy.name: self._change(policy)},
            default=policy.name,
            ceiling=self._policies.ceiling,
        )
        return Replay.under(self._config, self._source, changed, policy=self._policy)


def written(run: WhatIf) -> dict[str, Any]:
    """The comparison as plain JSON values; a proceed with no reading is no more than its name."""
    before, after = run.policies or (None, None)
    return {
        "session_id": run.session_id,
        "policy": before.name if before else "",
        "revisions": [policy.revision for policy in (before, after) if policy],
        "changes": [
            {"threshold": each.name, "before": each.before, "after": each.after}
            for each in run.changes
        ],
        "turns": run.turns,
        "moves": [
            {
                "turn": move.turn,
                "cause": move.cause,
                "before": _written(move.before),
                "after": _written(move.after),
            }
            for move in run.moves
        ],
    }


def _written(said: Said) -> dict[str, Any]:
    values = {name: getattr(said, name) for name in Said.__slots__}
    return {name: value for name, value in values.items() if value not in ("", None)}


def _told(decision: Decision) -> tuple[str, str]:
    return _word(decision.directive), decision.signal


def _move(before: Decision, after: Decision) -> Move:
    return Move(
        turn=before.sequence,
        cause=before.cause.value,
        before=_said(before, named=before.signal or after.signal),
        after=_said(after, named=after.signal or before.signal),
    )


def _said(decision: Decision, *, named: str) -> Said:
    word = _word(decision.directive)
    for reading in decision.readings:
        if reading.signal == named:
            return Said(
                directive=word,
                signal=reading.signal,
                severity=reading.severity.name.lower(),
                value=reading.value,
                threshold=reading.threshold,
                summary=reading.summary,
            )
    return Said(directive=word)


def _word(directive: Directive) -> str:
    match directive:
        case Proceed():
            return "proceed"
        case Rotate():
            return "rotate"
        case Commit():
            return "commit"
        case Halt():
            return "halt"
