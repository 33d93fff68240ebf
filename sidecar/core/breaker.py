"""The circuit breaker: a table of where each severity leads from each state.

Rule one: everything that moves the state stands in this file. Rule two: this file does not know
what a signal is. docs/signals.md draws its diagram from TRANSITIONS.
"""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from sidecar.core.reading import Severity
from sidecar.core.value import value


class State(Enum):
    """Where the breaker stands."""

    HEALTHY = "healthy"
    WARNING = "warning"
    TRIPPED = "tripped"
    RECOVERY = "recovery"


TRANSITIONS: Final[Mapping[tuple[State, Severity], State]] = MappingProxyType(
    {
        (State.HEALTHY, Severity.NONE): State.HEALTHY,
        (State.HEALTHY, Severity.WARNING): State.WARNING,
        (State.HEALTHY, Severity.BREAK): State.TRIPPED,
        (State.WARNING, Severity.NONE): State.HEALTHY,
        (State.WARNING, Severity.WARNING): State.WARNING,
        (State.WARNING, Severity.BREAK): State.TRIPPED,
        (State.TRIPPED, Severity.NONE): State.TRIPPED,
        (State.TRIPPED, Severity.WARNING): State.TRIPPED,
        (State.TRIPPED, Severity.BREAK): State.TRIPPED,
        (State.RECOVERY, Severity.NONE): State.RECOVERY,
        (State.RECOVERY, Severity.WARNING): State.TRIPPED,
        (State.RECOVERY, Severity.BREAK): State.TRIPPED,
    }
)
"""A trip stands until continue or reset. Recovery is half-open: the first warning trips it."""

ON_CONTINUE: Final[Mapping[State, State]] = MappingProxyType(
    {
        State.HEALTHY: State.HEALTHY,
        State.WARNING: State.HEALTHY,
        State.TRIPPED: State.RECOVERY,
        State.RECOVERY: State.RECOVERY,
    }
)
"""A person has spoken: a warning is forgotten, a trip is given a second chance."""


@value
class Patience:
    """How many turns the two ways back to HEALTHY take."""

    recovery_turns: int = 2
    """Quiet turns that end RECOVERY; 2 as the founding circuit breaker has it."""
    trip_turns: int | None = None
    """Turns in a row without BREAK, one of them with progress, that lead from TRIPPED to RECOVERY
    without a person; None: never."""


@value
class Breaker:
    """The state and the two counts that lead out of it."""

    state: State = State.HEALTHY
    quiet: int = 0
    """Turns in a row that count towards leaving RECOVERY or TRIPPED."""
    progressed: bool = False
    """Whether one of them made progress."""

    def after(self, severity: Severity, *, progressed: bool, patience: Patience) -> "Breaker":
        """The breaker after a turn of this severity."""
        state = TRANSITIONS[self.state, severity]
        if state is State.HEALTHY or state is State.WARNING:
            return HEALTHY if state is State.HEALTHY else WARNING
        if state is not self.state:
            return Breaker(state=state)
        if state is State.RECOVERY:
            if self.quiet + 1 >= patience.recovery_turns:
                return HEALTHY
            return Breaker(state=state, quiet=self.quiet + 1)
        if severity is Severity.BREAK or patience.trip_turns is None:
            return Breaker(state=state)
        quiet, moved = self.quiet + 1, self.progressed or progressed
        if quiet >= patience.trip_turns and moved:
            return Breaker(state=State.RECOVERY)
        return Breaker(state=state, quiet=min(quiet, patience.trip_turns), progressed=moved)

    def after_continue(self) -> "Breaker":
        """The breaker after a person has spoken."""
        state = ON_CONTINUE[self.state]
        return self if state is self.state else Breaker(state=state)

    def after_lost_turns(self) -> "Breaker":
        """The breaker after turns that nobody has: those in a row are counted from here."""
        return Breaker(state=self.state)

    def after_reset(self) -> "Breaker":
        """The breaker after a fresh start."""
        return Breaker(state=State.RECOVERY)


HEALTHY = Breaker()
WARNING = Breaker(state=State.WARNING)
