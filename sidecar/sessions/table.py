"""The sessions in memory, the longest silent first, and how many are in each state."""

from collections import Counter, OrderedDict
from collections.abc import Iterable
from itertools import takewhile

from sidecar.core.breaker import State
from sidecar.sessions.session import Session


class SessionTable:
    """Holds sessions in the order of their last sign of life."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, Session] = OrderedDict()
        self._open: Counter[State] = Counter()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, session_id: str) -> Session | None:
        """The session, where it is held."""
        return self._held.get(session_id)

    def add(self, session: Session) -> None:
        """Hold a session, at its place: one that comes back from the store has others after it."""
        first = next(iter(self._held.values()), None)
        later = []
        if first is None or first.active_s <= session.active_s:
            latest_first = reversed(self._held.values())
            later = list(takewhile(lambda one: one.active_s > session.active_s, latest_first))
        self._held[session.id] = session
        if first is not None and session.active_s < first.active_s:
            self._held.move_to_end(session.id, last=False)
        for other in reversed(later):
            self._held.move_to_end(other.id)
        if session.closing is None:
            self._open[session.run.state.breaker.state] += 1

    def remove(self, session: Session) -> None:
        """Hold it no more."""
        del self._held[session.id]
        if session.closing is None:
            self._open[session.run.state.breaker.state] -= 1

    def touch(self, session: Session, now_s: float) -> None:
        """A sign of life."""
        session.active_s = now_s
        if session.id in self._held:
            self._held.move_to_end(session.id)

    def moved(self, before: State, after: State) -> None:
        """An open session changed its state."""
        if after is not before:
            self._open[before] -= 1
            self._open[after] += 1

    def closed(self, session: Session) -> None:
        """A session is about to be closed, and counts in no state any more."""
        if session.id in self._held:
            self._open[session.run.state.breaker.state] -= 1

    @property
    def idle_first(self) -> list[Session]:
        """All, the longest silent first."""
        return list(self._held.values())

    @property
    def latest_first(self) -> Iterable[Session]:
        """All, the latest active first."""
        return reversed(self._held.values())

    def longest_silent(self) -> Session | None:
        """The longest silent of those that nobody listens on; None: somebody does on each."""
        for session in self._held.values():
            if session.outbox is None:
                return session
        return None

    @property
    def by_state(self) -> dict[str, int]:
        """Open sessions by state of the breaker, every state named."""
        return {state.value: self._open[state] for state in State}

    @property
    def streams(self) -> int:
        """Sessions that somebody listens on."""
        return sum(1 for session in self._held.values() if session.outbox is not None)
