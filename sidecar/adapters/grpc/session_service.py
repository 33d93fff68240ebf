"""The control plane over gRPC."""

from typing import Any

from sidecar.adapters.calls import ControlCalls
from sidecar.adapters.calls.authorization import Authorization
from sidecar.adapters.calls.recall import Recall
from sidecar.adapters.grpc.status import OneCall
from sidecar.adapters.grpc.watching import Watching
from sidecar.ports import Recorder
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
        self._watching = Watching(sessions, watchers_max=watchers_max)

    def stop(self) -> None:
        """End all watches, so that the server can stop."""
        self._watching.stop()

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
            watched = self._watching.changes([first], only=first.id)
            try:
                async for change, skipped in watched:
                    session = change.message()
                    await context.write(pb.WatchSessionResponse(session=session, skipped=skipped))
                    if session.closed:
                        return
            finally:
                await watched.aclose()  # type: ignore[attr-defined]

    async def WatchSessions(  # noqa: N802
        self, request: pb.WatchSessionsRequest, context: Any
    ) -> None:
        """All sessions: each as it is, then at every change."""
        async with OneCall(context, self._authorization, self._recorder):
            watched = self._watching.changes(self._sessions.held())
            try:
                async for change, skipped in watched:
                    session = change.message()
                    await context.write(pb.WatchSessionsResponse(session=session, skipped=skipped))
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
