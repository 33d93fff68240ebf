"""What the application needs from the world: the ports that adapters and test doubles fill."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

from sidecar.core.directive import Decision, Rejection
from sidecar.core.opening import Closing, Command, Opening, Succession
from sidecar.core.policy import Policy
from sidecar.core.turn import Turn
from sidecar.core.value import value


class Clock(Protocol):
    """Time, as an argument."""

    def now_s(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back."""
        ...


@value
class Rejected:
    """A turn that used up its sequence without being counted."""

    sequence: int
    id: str = ""
    """The turn's own id, under which its agent may send it again."""
    rejection: Rejection


Event: TypeAlias = Opening | Succession | Turn | Rejected | Command | Closing
"""What the journal keeps, in the order it was folded."""


@value
class Entry:
    """One line of a session's journal."""

    session_id: str
    number: int
    """1, 2, 3 ... within the session."""
    time_s: float
    """When it was folded, in seconds since the epoch."""
    event: Event
    decision: Decision | None = None
    """None for what is not answered (opening, closing)."""
    content: bytes = b""
    """For a turn: 8 bytes over what was sent, which tell a repeat from a conflict."""


@value
class Saved:
    """A session as it was after an entry of its journal."""

    session_id: str
    number: int
    """The last entry folded into it."""
    active_s: float
    """Last sign of life, in seconds since the epoch."""
    closed: bool
    session: dict[str, Any]
    """The session as JSON, written by `sidecar.sessions`."""


class Journal(Protocol):
    """The log of what was folded and decided."""

    def append(self, entry: Entry) -> None:
        """Queue an entry. Never blocks, never raises; what does not fit is counted as lost."""
        ...

    def read(self, session_id: str, *, after: int = 0, last: int = 1_000_000) -> Sequence[Entry]:
        """The session's entries numbered above `after`, at most the `last` latest, oldest first.

        Sees everything appended before the call.
        """
        ...


class SnapshotStore(Protocol):
    """Where sessions rest between turns."""

    def save(self, saved: Saved) -> None:
        """Queue a snapshot, replacing the session's earlier one. Never blocks, never raises."""
        ...

    def load(self, session_id: str) -> Saved | None:
        """The latest snapshot; sees everything saved before the call. A broken one is
        quarantined, counted, and None."""
        ...

    def recent(self, limit: int) -> Sequence[Saved]:
        """The latest active sessions that are kept, open or closed."""
        ...


@value
class StoreStatus:
    """Whether what is kept is written."""

    state: Literal["ok", "recoverable", "permanent"]
    """recoverable: it may pass by itself. permanent: somebody has to act; it is tried all the
    same."""
    since_s: float
    """Seconds since the epoch."""
    detail: str = ""


class Store(Journal, SnapshotStore, Protocol):
    """Where everything is kept, from start to stop."""

    def status(self) -> StoreStatus:
        """Whether it is written, and since when not."""
        ...

    def close(self, timeout_s: float) -> int:
        """Write what is pending; how much was lost because that took longer."""
        ...


@value
class SessionFacts:
    """What stays the same over a session, for labels and attributes."""

    opening: Opening
    policy: Policy
    previous_missing: bool = False
    """Whether it was to go on from a session that was not held, and began afresh."""


class Recorder(Protocol):
    """Makes runs visible. No method raises or blocks."""

    def opened(self, session: SessionFacts, *, resumed: bool) -> None:
        """A session was opened, or resumed."""
        ...

    def decided(
        self, session: SessionFacts, turn: Turn, decision: Decision, *, received_s: float
    ) -> None:
        """A turn was counted and decided on; `received_s` in seconds since the epoch."""
        ...

    def rejected(self, session: SessionFacts, rejected: Rejected, decision: Decision) -> None:
        """A turn was not counted."""
        ...

    def commanded(self, session: SessionFacts, command: Command, decision: Decision) -> None:
        """Somebody other than the agent acted on the run."""
        ...

    def closed(
        self, session: SessionFacts, closing: Closing, *, turns: int, opened_s: float
    ) -> None:
        """The run is over."""
        ...

    def detached(self, session: SessionFacts, *, reason: str) -> None:
        """A session left memory: expired or evicted."""
        ...

    def sessions(self, by_state: dict[str, int], *, streams: int) -> None:
        """How many sessions are held, by state of the breaker, and how many streams are open."""
        ...

    def refused(self, reason: str) -> None:
        """A call or stream was refused or ended, by the reason of the error table."""
        ...

    def lost(self, what: str, reason: str, count: int = 1) -> None:
        """Something accepted was given up: what (journal, snapshot, span, ...) and why."""
        ...

    def missing(self, count: int) -> None:
        """Turns that neither side has any more."""
        ...

    def gave_up(self, reason: str, count: int) -> None:
        """Clients proceeded without a decision."""
        ...
