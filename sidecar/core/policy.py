"""What counts as too much, and what is done about it."""

import hashlib
from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

from sidecar.core.answers.form import ANSWER_FORM
from sidecar.core.breaker import Patience
from sidecar.core.digests.score import require_form
from sidecar.core.digests.subjects import Subjects
from sidecar.core.directive import Action
from sidecar.core.limits import Limits
from sidecar.core.reading import Severity
from sidecar.core.signal import Signal
from sidecar.core.turn import CallKind
from sidecar.core.value import amend, replace, value
from sidecar.core.words import Words

REVISION_DIGITS = 12


@value
class Watch:
    """One signal with the thresholds that a policy gives it."""

    signal: Signal[Any, Any]
    thresholds: Any


@value
class Lens:
    """How content is read before it is compared."""

    subjects: Subjects = Subjects.KEPT
    waiting_tools: frozenset[str] = frozenset()
    """Tools whose calls only wait."""
    navigation_tools: frozenset[str] = frozenset()
    """Tools whose calls step through something."""
    score: str = ""
    """How a score is written in results, with `{number}` in its place; read where the agent itself
    reports no reward. Empty: it is not looked for."""

    def __post_init__(self) -> None:
        """Refuse a form in which no number could be found."""
        if self.score:
            require_form(self.score)

    def kind_of(self, tool: str) -> CallKind | None:
        """What the policy says that calls of this tool are; None: nothing. `tool` is named as the
        agent names it."""
        if tool in self.waiting_tools:
            return CallKind.WAIT
        return CallKind.NAVIGATION if tool in self.navigation_tools else None


@value
class Staging:
    """When a directive is sent, sent again, and made stronger. All counts are turns."""

    nudge_first: bool = True
    """Whether a signal's first directive in a run is at most a rotate."""
    repeat_after: int = 5
    """A standing signal is named again after so many turns: the pace at which the agents of the
    recorded runs finished what they were told to do."""
    episode_quiet: int = 5
    """Quiet turns that end a signal's episode."""
    commit_grace_turns: int = 3
    """Turns between a commit that was seen and a halt."""
    wait_max_s: float = 300.0
    """How long an agent waits for a person where the policy pauses or asks."""


FOUNDING_ACTIONS: Mapping[Severity, Action] = MappingProxyType(
    {Severity.WARNING: Action.ROTATE, Severity.BREAK: Action.COMMIT}
)


@value
class Policy:
    """A named set of thresholds and actions. Two policies with one revision decide alike."""

    name: str
    watches: tuple[Watch, ...]
    """In the order of SIGNALS, which is the order of precedence."""
    on: Mapping[Severity, Action] = field(default_factory=lambda: FOUNDING_ACTIONS)
    actions: Mapping[tuple[str, Severity], Action] = field(default_factory=dict)
    """Exceptions from `on`, by signal."""
    limits: Limits = field(default_factory=Limits)
    """Where the agent sets none."""
    patience: Patience = field(default_factory=Patience)
    staging: Staging = field(default_factory=Staging)
    lens: Lens = field(default_factory=Lens)
    force_continue: bool = False
    """Whether directives are withheld while everything is still measured."""
    answer_form: str = ANSWER_FORM
    revision: str = ""
    """12 hex digits over everything above but the name; computed when empty."""

    def __post_init__(self) -> None:
        """Compute the revision."""
        if not self.revision:
            amend(self, "revision", _revision(self))

    @property
    def in_force(self) -> tuple[Watch, ...]:
        """The watches of a run that asks for no limits of its own."""
        return tuple(
            watch
            if watch.signal.limited is None
            else replace(watch, thresholds=watch.signal.limited(watch.thresholds, self.limits))
            for watch in self.watches
        )

    @property
    def budgets(self) -> frozenset[str]:
        """Names of the watched signals that meter spending."""
        return frozenset(watch.signal.name for watch in self.watches if watch.signal.budget)

    @property
    def advisory(self) -> frozenset[str]:
        """Names of the watched signals that never halt a run."""
        return frozenset(watch.signal.name for watch in self.watches if watch.signal.advisory)

    def words(self, signal: str) -> Words:
        """What is said of a watched signal."""
        return next(watch.signal.words for watch in self.watches if watch.signal.name == signal)

    def action(self, signal: str, severity: Severity) -> Action:
        """What is done about a signal at a severity."""
        return self.actions.get((signal, severity)) or self.on[severity]


def _revision(policy: Policy) -> str:
    facts = [
        f"{part.name}={_canonical(getattr(policy, part.name))}"
        for part in fields(policy)
        if part.name not in ("name", "revision")
    ]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:REVISION_DIGITS]


def _canonical(value: Any) -> str:
    """The same text for the same value in every process, whatever its insertion order."""
    match value:
        case Watch():
            return f"{value.signal.name}:{_canonical(value.thresholds)}"
        case Enum():
            return f"{value.value}"
        case Mapping():
            return str(
                sorted(f"{_canonical(key)}:{_canonical(part)}" for key, part in value.items())
            )
        case frozenset():
            return str(sorted(_canonical(part) for part in value))
        case tuple():
            return str([_canonical(part) for part in value])
    if is_dataclass(value):
        return str(
            [f"{part.name}={_canonical(getattr(value, part.name))}" for part in fields(value)]
        )
    return repr(value)
