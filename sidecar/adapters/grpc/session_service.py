"""The control plane over gRPC."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from sidecar.adapters.calls import ControlCalls
from sidecar.adapters.calls.authorization import Authorization
from sidecar.adapters.calls.recall import Recall
from sidecar.adapters.convert import session_out
from sidecar.adapters.grpc.status import OneCall
from sidecar.ports import Recorder
from sidecar.refusal import RETRY_AFTER_S, Reason, Refusal, stopping
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import Sessions
from sidecar.v1 import session_service_pb2 as pb


class SessionService:
    """The servicer of SessionService: shows and steers sessions, for operators."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        calls: ControlCalls,
        recall: Recall,
        recorder: Recorder,
        authorization: Authorization,
        watchers_max: int,
    ) -> None:
        self._sessions = sessions
        self._calls = calls
        self._recall = recall
        self._recorder = recorder
        self._authorization = authorization
        self._watchers_max = watchers_max
        self._watchers = 0
        self._watching: set[asyncio.Event] = set()
        self._stopping = False

    def stop(self) -> None:
        """End all watches, so that the server can stop."""
        self._stopping = True
        for woken in self._watching:
            woken.set()

    async def GetSession(  # noqa: N802
        self, request: pb.GetSessionRequest, context: Any
    ) -> pb.GetSessionResponse:
        """A session with its latest turns."""
        async with OneCall(context, self._authorization, self._recorder):
            return await self._calls.session(request)

    async def ListTurns(  # noqa: N802
        self, request: pb.ListTurnsRequest, context: Any
    ) -> pb.ListTurnsResponse:
        """A page of a session's turns."""
        async with OneCall(context, self._authorization, self._recorder):
            return await self._calls.turns(request)

    async def ListSessions(  # noqa: N802
        self, request: pb.ListSessionsRequest, context: Any
    ) -> pb.ListSessionsResponse:
        """A page of the sessions in memory, the latest opened first."""
        async with OneCall(context, self._authorization, self._recorder):
            return await self._calls.sessions(request)

    async def WatchSession(  # noqa: N802
        self, request: pb.WatchSessionRequest, context: Any
    ) -> None:
        """One session: as it is, then at every change, until it closes."""
        async with OneCall(context, self._authorization, self._recorder):
            first = await self._recall.session(request.session_id)
            watched = self._watch([first], only=first.id)
            try:
                async for session, skipped in watched:
                    await context.write(
                        pb.WatchSessionResponse(session=session_out(session), skipped=skipped)
                    )
                    if session.closing is not None:
                        return
            finally:
                await watched.aclose()  # type: ignore[attr-defined]

    async def WatchSessions(  # noqa: N802
        self, request: pb.WatchSessionsRequest, context: Any
    ) -> None:
        """All sessions: each as it is, then at every change."""
        async with OneCall(context, self._authorization, self._recorder):
            watched = self._watch(list(self._sessions.held()))
            try:
                async for session, skipped in watched:
                    await context.write(
                        pb.WatchSessionsResponse(session=session_out(session), skipped=skipped)
                    )
            finally:
                await watched.aclose()  # type: ignore[attr-defined]

    async def ContinueSession(  # noqa: N802
        self, request: pb.ContinueSessionRequest, context: Any
    ) -> pb.ContinueSessionResponse:
        """Let a run go on."""
        async with OneCall(context, self._authorization, self._recorder):
            return await self._calls.go_on(request)

    async def ResetSession(  # noqa: N802
        self, request: pb.ResetSessionRequest, context: Any
    ) -> pb.ResetSessionResponse:
        """Start a run's signals afresh."""
        async with OneCall(context, self._authorization, self._recorder):
            return await self._calls.reset(request)

    async def CloseSession(  # noqa: N802
        self, request: pb.CloseSessionRequest, context: Any
    ) -> pb.CloseSessionResponse:
        """Close a session; a closed one stays closed."""
        async with OneCall(context, self._authorization, self._recorder):
            return await self._calls.close(request)

    async def _watch(
        self, first: list[Session], only: str = ""
    ) -> AsyncIterator[tuple[Session, int]]:
        """Sessions as they change. A slow watcher gets the latest of each, and how many changes
        it missed: what waits for it is bounded by the sessions that are held. Raises Refusal, at
        the latest when the sidecar stops."""
        if self._watchers >= self._watchers_max:
            raise Refusal(
                Reason.WATCHERS_MAX,
                f"{self._watchers_max} watchers are attached, which is watchers_max",
                retry_after_s=RETRY_AFTER_S,
            )
        changed: dict[str, tuple[Session, int]] = {session.id: (session, 0) for session in first}
        woken = asyncio.Event()

        def on_change(session: Session) -> None:
            if only and session.id != only:
                return
            _, missed = changed.get(session.id, (session, -1))
            changed[session.id] = (session, missed + 1)
            woken.set()

        unwatch = self._sessions.watch(on_change)
        self._watchers += 1
        self._watching.add(woken)
        try:
            while not self._stopping:
                while changed:
                    session_id = next(iter(changed))
                    yield changed.pop(session_id)
                woken.clear()
                if not self._stopping:
                    await woken.wait()
            raise stopping()
        finally:
            self._watchers -= 1
            self._watching.discard(woken)
            unwatch()
