"""What only the store knows of a session, read beside the event loop.

A store waits for its disk, and the event loop has all agents to serve. So a session that is not in
memory is read by a thread, and opened when it is there.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from sidecar.refusal import Reason, Refusal
from sidecar.sessions.restoring import Unusable
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import Found, Sessions

T = TypeVar("T")

THREADS_MAX: Final = 8
"""Reads at once. They take turns at the store's one connection, and wait for its writer together;
what comes after them waits here. Not the event loop's own threads, which stopping needs."""


class Recall:
    """Looks up sessions and answers, one look at a time for each session.

    Whoever brings a session into memory has looked it up here first. So while somebody looks, the
    session stays out of memory, and what was found is still true afterwards.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="recall")
        self._looking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, session_id: str, previous_session_id: str = "") -> AsyncIterator[Found]:
        """What the store has of a session that is not in memory, and where it has none, of the one
        before it; true until the block lets go of the event loop."""
        if self._sessions.in_memory(session_id):
            yield {}
            return
        async with AsyncExitStack() as stack:
            # Sorted, so that no two wait for each other.
            for named in sorted({session_id, previous_session_id} - {""}):
                lock = self._looking.setdefault(named, asyncio.Lock())
                await stack.enter_async_context(lock)
            found: dict[str, Session | Unusable | None] = {"": None}
            while (wanted := self._wanted((session_id, previous_session_id), found)) is not None:
                found[wanted] = await self._read(self._sessions.archive.session, wanted)
            yield found

    async def session(self, session_id: str) -> Session:
        """The session, in memory from now on; raises Refusal when it is not held."""
        async with self.of(session_id) as found:
            return self._sessions.get(session_id, found)

    async def answers(self, session: Session) -> None:
        """Bring back what the session answered before it was last in memory."""
        session.recall(await self._read(self._sessions.archive.answers, session.id))

    async def bring_back(self, *, now_s: float) -> tuple[int, int]:
        """Bring the sessions of before the start back into memory, the latest active first; how
        many are there, and how many cannot be used as they were kept.

        So they are listed and counted, and what they wait for comes to its end, also where no agent
        returns. Takes half of the time that it could: the agents that do return come first.
        """
        bounds = self._sessions.bounds
        room = bounds.sessions_max - sum(1 for _ in self._sessions.held())
        since_s = now_s - bounds.session_idle_ttl_s
        loop = asyncio.get_running_loop()
        session_ids = await loop.run_in_executor(
            self._threads, lambda: self._sessions.archive.recent(room, since_s=since_s)
        )
        brought = left = 0
        for session_id in session_ids:
            began_s = loop.time()
            try:
                await self.session(session_id)
                brought += 1
            except Refusal as refusal:  # or there is no room any more
                left += refusal.reason is Reason.SESSION_NOT_FOUND
            await asyncio.sleep(loop.time() - began_s)
        return brought, left

    def _wanted(self, session_ids: Sequence[str], found: Found) -> str | None:
        """The next to look up: a later one is of interest where an earlier one is nowhere."""
        for session_id in session_ids:
            if session_id not in found:
                return None if self._sessions.in_memory(session_id) else session_id
            if isinstance(found[session_id], Session):
                return None
        return None

    async def _read(self, read: Callable[[str], T], session_id: str) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, read, session_id)
