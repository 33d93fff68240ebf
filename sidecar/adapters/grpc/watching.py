"""Who watches sessions, and what waits for each of them."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from sidecar.adapters.convert import session_out
from sidecar.refusal import RETRY_AFTER_S, Reason, Refusal, stopping
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import Sessions
from sidecar.v1 import session_service_pb2 as pb


class Change:
    """A session that changed, and the message of it: one for all who watch, made when the first of
    them takes it."""

    __slots__ = ("_message", "session")

    def __init__(self, session: Session) -> None:
        self.session = session
        self._message: pb.Session | None = None

    def message(self) -> pb.Session:
        """The session as it was when this was first asked for; what came after it is a change of
        its own."""
        if self._message is None:
            self._message = session_out(self.session)
        return self._message


class _Watcher:
    """What one of them has not taken yet. A slow one gets the latest of each session, and how many
    changes it missed; of more sessions than are held at a time, the latest that changed."""

    def __init__(self, first: Iterable[Session], *, only: str, sessions_max: int) -> None:
        self.only = only
        self.sessions_max = sessions_max
        self.changed = {session.id: (Change(session), 0) for session in first}
        self.dropped = 0
        """Changes that nothing waits of any more."""
        self.has_left = False
        """Whether the only session that is watched is in memory no more."""
        self.woken = asyncio.Event()

    def add(self, change: Change) -> None:
        session_id = change.session.id
        if self.only in ("", session_id):
            _, missed = self.changed.get(session_id, (change, -1))
            self.changed[session_id] = (change, missed + 1)
            if len(self.changed) > self.sessions_max:
                _, missed = self.changed.pop(next(iter(self.changed)))
                self.dropped += missed + 1
            self.has_left = False
            self.woken.set()

    def take(self) -> tuple[Change, int]:
        """What has waited longest, and the changes missed before."""
        change, missed = self.changed.pop(next(iter(self.changed)))
        dropped, self.dropped = self.dropped, 0
        return change, missed + dropped

    def left(self, session_id: str) -> None:
        if self.only == session_id:
            self.has_left = True
            self.woken.set()


class Watching:
    """All who watch. For the event loop."""

    def __init__(self, sessions: Sessions, *, watchers_max: int) -> None:
        self._sessions = sessions
        self._watchers_max = watchers_max
        self._watchers: list[_Watcher] = []
        self._stopping = False
        sessions.watch(self._on_change, on_leave=self._on_leave)

    def stop(self) -> None:
        """End all watches."""
        self._stopping = True
        for watcher in self._watchers:
            watcher.woken.set()

    async def changes(
        self, first: Iterable[Session], *, only: str = ""
    ) -> AsyncIterator[tuple[Change, int]]:
        """These sessions, then all, or `only` one, as they change, with the changes missed before.

        Raises Refusal for one watcher too many, where the only one leaves memory, and at the latest
        when the sidecar stops.
        """
        if len(self._watchers) >= self._watchers_max:
            raise Refusal(
                Reason.WATCHERS_MAX,
                f"{self._watchers_max} watchers are attached, which is watchers_max",
                retry_after_s=RETRY_AFTER_S,
            )
        sessions_max = self._sessions.bounds.sessions_max
        watcher = _Watcher(first, only=only, sessions_max=sessions_max)
        self._watchers.append(watcher)
        try:
            while not self._stopping:
                while watcher.changed:
                    yield watcher.take()
                if watcher.has_left:
                    raise _left()
                watcher.woken.clear()
                if not self._stopping:
                    await watcher.woken.wait()
            raise stopping()
        finally:
            self._watchers.remove(watcher)

    def _on_change(self, session: Session) -> None:
        change = Change(session)
        for watcher in self._watchers:
            watcher.add(change)

    def _on_leave(self, session: Session) -> None:
        for watcher in self._watchers:
            watcher.left(session.id)


def _left() -> Refusal:
    return Refusal(
        Reason.SESSION_NOT_FOUND,
        "this session is in memory no more, since others needed its place: one that is kept comes "
        "back when it is asked for",
        field="session_id",
    )
