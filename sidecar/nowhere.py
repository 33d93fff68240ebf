"""Ports with nothing behind them, for runs that are folded and forgotten."""

from collections.abc import Sequence

from sidecar.core.directive import Decision, Strength
from sidecar.core.opening import Closing, Command
from sidecar.core.turn import Turn
from sidecar.ports import DaySpent, Entry, ModelCall, Rejected, Saved, SessionFacts, StoreStatus


class NoTime:
    """A clock that stands still."""

    def now_s(self) -> float:
        """Always the epoch."""
        return 0.0

    def monotonic_s(self) -> float:
        """Always zero."""
        return 0.0


class NoStore:
    """A journal and a snapshot store that keep nothing."""

    def append(self, entry: Entry) -> None:
        """Forget it."""

    def read(
        self, session_id: str, *, after: int = 0, until: int = 0, last: int = 0
    ) -> Sequence[Entry]:
        """Nothing."""
        return ()

    def save(self, saved: Saved) -> None:
        """Forget it."""

    def load(self, session_id: str) -> Saved | None:
        """Nothing."""
        return None

    def recent(self, limit: int) -> Sequence[Saved]:
        """Nothing."""
        return ()

    def status(self) -> StoreStatus:
        """As well as ever: nothing is written."""
        return StoreStatus(state="ok", since_s=0.0, detail="nothing is kept")

    def close(self, timeout_s: float) -> int:
        """Nothing is lost that was never kept."""
        return 0


class NoLedger:
    """A ledger that keeps nothing."""

    def load(self) -> DaySpent | None:
        """Nothing."""
        return None

    def save(self, spent: DaySpent) -> None:
        """Forget it."""

    def close(self, within_s: float) -> None:
        """Nothing waits."""


class NoKeeper:
    """A keeper that saves nothing."""

    def keep(self, session: object) -> str:
        """Nowhere."""
        return ""

    def close(self, within_s: float) -> bool:
        """Nothing waits."""
        return True


class NoRecorder:
    """A recorder that nobody looks at."""

    def opened(self, session: SessionFacts, *, resumed: bool) -> None:
        """Pass over it, as everything below."""

    def decided(
        self,
        session: SessionFacts,
        turn: Turn,
        decision: Decision,
        *,
        received_s: float,
        budget_left: float | None = None,
    ) -> None: ...

    def rejected(self, session: SessionFacts, rejected: Rejected, decision: Decision) -> None: ...

    def commanded(self, session: SessionFacts, command: Command, decision: Decision) -> None: ...

    def closed(
        self,
        session: SessionFacts,
        closing: Closing,
        *,
        turns: int,
        opened_s: float,
        strongest: Strength,
    ) -> None: ...

    def detached(self, session: SessionFacts, *, reason: str) -> None: ...

    def sessions(self, by_state: dict[str, int], *, held: int, streams: int) -> None: ...

    def refused(self, reason: str) -> None: ...

    def lost(self, what: str, reason: str, count: int = 1) -> None: ...

    def missing(self, count: int) -> None: ...

    def gave_up(self, session: SessionFacts, reason: str, count: int) -> None: ...

    def asked(self, call: ModelCall) -> None: ...

    def committed(self, source: str, signal: str) -> None: ...

    def reviewed(self, verdict: str) -> None: ...

    def judged(self, verdict: str) -> None: ...
