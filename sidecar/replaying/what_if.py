"""One run under two policies: which directives move when thresholds change, and why.

The turns are those that were recorded. What the agent would have done differently, had it been
told otherwise, no replay knows: up to the first directive that moves the comparison is exact, and
beyond it an estimate.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sidecar.adapters.run_file import BrokenLine, Line
from sidecar.config.changes import Difference, differences
from sidecar.config.keys import Config
from sidecar.core.directive import Commit, Decision, Directive, Halt, Proceed, Rotate
from sidecar.core.policy import Policy
from sidecar.policies import Policies
from sidecar.replaying.recorded import Problem, Replay
from sidecar.sessions.session import Session
from sidecar.v1 import convergence_service_pb2 as pb


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


class Earlier:
    """The runs of files before, from which a later one may go on, as either policy left them."""

    def __init__(self, *, sessions_max: int) -> None:
        """Of either, the latest `sessions_max` are kept."""
        self.first: dict[str, Session] = {}
        self.second: dict[str, Session] = {}
        self.sessions_max = sessions_max


class WhatIf:
    """One run file through the fold twice, under the limits that it would get today: those of a
    journal are of the policy and the operator then, and would hide what is changed in a budget."""

    def __init__(
        self,
        source: str,
        *,
        config: Config,
        policies: Policies,
        policy: str,
        change: Callable[[Policy], Policy],
        earlier: Earlier,
    ) -> None:
        """`policy` replaces the file's own, where it is not empty; `change` gives the other one."""
        self._config, self._policies = config, policies
        self._source, self._change = source, change
        self._policy = policy
        self._earlier = earlier
        self._first = self._replay(policies, earlier.first)
        self._second: Replay | None = None
        self.moves: list[Move] = []
        """The decisions that differ in the directive, or in the signal that it names."""

    def run(self, lines: Iterable[Line | BrokenLine]) -> Iterator[Problem]:
        """Fold the run both ways; what could not be read comes back, and the caller may stop there.

        Raises whatever `change` raises.
        """
        for line in lines:
            before: list[Decision] = []
            for answer in _decided(self._first, line, before):
                if isinstance(answer, Problem):
                    yield answer
            if self._second is None and self._first.session is not None:
                self._second = self._otherwise(self._first.session.facts.policy)
            after: list[Decision] = []
            if self._second is not None:
                for _ in _decided(self._second, line, after):
                    pass
            # Line by line: an end of a wait is none for a policy that has not asked for the wait.
            for one, other in zip(before, after, strict=False):
                if _told(one) != _told(other):
                    self.moves.append(_move(one, other))

    def leave(self) -> None:
        """Let later files go on from this run."""
        most = self._earlier.sessions_max
        self._first.leave(self._earlier.first, sessions_max=most)
        if self._second is not None:
            self._second.leave(self._earlier.second, sessions_max=most)

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

    def _otherwise(self, policy: Policy) -> Replay:
        changed = Policies(
            by_name={**self._policies.by_name, policy.name: self._change(policy)},
            default=policy.name,
            ceiling=self._policies.ceiling,
        )
        return self._replay(changed, self._earlier.second)

    def _replay(self, policies: Policies, earlier: Mapping[str, Session]) -> Replay:
        return Replay.under(
            self._config,
            self._source,
            policies,
            policy=self._policy,
            earlier=earlier,
            limits_as_given=False,
        )


def _decided(
    replay: Replay, line: Line | BrokenLine, decisions: list[Decision]
) -> Iterator[pb.ObserveResponse | Problem]:
    """What the replay answers to a line; what it decides there is added to `decisions`."""
    known = len(replay.entries)
    yield from replay.run((line,))
    decisions += [one.decision for one in replay.entries[known:] if one.decision is not None]


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
