"""The control plane over gRPC."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import grpc

from sidecar.adapters.convert import history_out, session_out
from sidecar.adapters.convert.enums import STATES
from sidecar.adapters.grpc.authorization import Authorization
from sidecar.adapters.grpc.recall import Recall
from sidecar.adapters.grpc.status import abort
from sidecar.core.opening import Closing, Command, Continue, Reset
from sidecar.ports import Journal, Recorder
from sidecar.refusal import RETRY_AFTER_S, Reason, Refusal
from sidecar.session import Session
from sidecar.sessions import Sessions
from sidecar.v1 import session_service_pb2 as pb

logger = logging.getLogger(__name__)

PAGE_DEFAULT = 100
PAGE_MAX = 1000
TURNS_MAX = 1000

R = TypeVar("R")


class SessionService:
    """The servicer of SessionService: shows and steers sessions, for operators."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        recall: Recall,
        journal: Journal,
        recorder: Recorder,
        authorization: Authorization,
        watchers_max: int,
    ) -> None:
        self._sessions = sessions
        self._recall = recall
        self._journal = journal
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

        async def answer() -> pb.GetSessionResponse:
            session = await self._recall.session(request.session_id)
            wanted = min(request.turns_max, TURNS_MAX)
            # Commands stand between turns, so a few entries more are read than turns wanted.
            entries = (
                await asyncio.to_thread(self._journal.read, session.id, last=wanted + PAGE_DEFAULT)
                if wanted
                else ()
            )
            return history_out(session_out(session), entries, turns_max=wanted)

        return await self._answer(context, answer)

    async def ListSessions(  # noqa: N802
        self, request: pb.ListSessionsRequest, context: Any
    ) -> pb.ListSessionsResponse:
        """A page of the sessions in memory, the latest active first."""

        async def answer() -> pb.ListSessionsResponse:
            states = {STATES.get(state) for state in request.states}
            size = min(request.page_size or PAGE_DEFAULT, PAGE_MAX)
            start = _offset(request.page_token)
            found = [
                session
                for session in self._sessions.held()
                if not states or session.run.state.breaker.state in states
            ]
            page = found[start : start + size]
            more = start + size < len(found)
            return pb.ListSessionsResponse(
                sessions=[session_out(session) for session in page],
                next_page_token=str(start + size) if more else "",
            )

        return await self._answer(context, answer)

    async def WatchSession(  # noqa: N802
        self, request: pb.WatchSessionRequest, context: Any
    ) -> None:
        """One session: as it is, then at every change, until it closes."""

        async def serve() -> None:
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

        await self._answer(context, serve)

    async def WatchSessions(  # noqa: N802
        self, request: pb.WatchSessionsRequest, context: Any
    ) -> None:
        """All sessions: each as it is, then at every change."""

        async def serve() -> None:
            watched = self._watch(list(self._sessions.held()))
            try:
                async for session, skipped in watched:
                    await context.write(
                        pb.WatchSessionsResponse(session=session_out(session), skipped=skipped)
                    )
            finally:
                await watched.aclose()  # type: ignore[attr-defined]

        await self._answer(context, serve)

    async def ContinueSession(  # noqa: N802
        self, request: pb.ContinueSessionRequest, context: Any
    ) -> pb.ContinueSessionResponse:
        """Let a run go on."""

        async def answer() -> pb.ContinueSessionResponse:
            command = Continue(
                reason=_reason(request.reason),
                extra_turns=request.extra_turns,
                extra_input_tokens=request.extra_input_tokens,
                request_id=request.request_id,
            )
            session = await self._command(request.session_id, command)
            return pb.ContinueSessionResponse(session=session_out(session))

        return await self._answer(context, answer)

    async def ResetSession(  # noqa: N802
        self, request: pb.ResetSessionRequest, context: Any
    ) -> pb.ResetSessionResponse:
        """Start a run's signals afresh."""

        async def answer() -> pb.ResetSessionResponse:
            command = Reset(reason=_reason(request.reason), request_id=request.request_id)
            session = await self._command(request.session_id, command)
            return pb.ResetSessionResponse(session=session_out(session))

        return await self._answer(context, answer)

    async def CloseSession(  # noqa: N802
        self, request: pb.CloseSessionRequest, context: Any
    ) -> pb.CloseSessionResponse:
        """Close a session; a closed one stays closed."""

        async def answer() -> pb.CloseSessionResponse:
            session = await self._recall.session(request.session_id)
            self._sessions.end(session, Closing(reason=_reason(request.reason)))
            return pb.CloseSessionResponse(session=session_out(session))

        return await self._answer(context, answer)

    async def _command(self, session_id: str, command: Command) -> Session:
        session = await self._recall.session(session_id)
        self._sessions.command(session, command)
        return session

    async def _watch(
        self, first: list[Session], only: str = ""
    ) -> AsyncIterator[tuple[Session, int]]:
        """Sessions as they change. A slow watcher gets the latest of each, and how many changes
        it missed: what waits for it is bounded by the sessions that are held."""
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
        finally:
            self._watchers -= 1
            self._watching.discard(woken)
            unwatch()

    async def _answer(self, context: Any, answer: Callable[[], Awaitable[R]]) -> R:
        try:
            self._authorization.check(context)
            return await answer()
        except Refusal as refusal:
            self._recorder.refused(refusal.reason.value)
            await abort(context, refusal)
        except grpc.aio.AbortError:
            raise
        except Exception:
            logger.exception("an admin call failed")
            self._recorder.refused(Reason.INTERNAL.value)
            await abort(context, Refusal(Reason.INTERNAL, "the sidecar failed"))


def _reason(text: str) -> str:
    if not text.strip():
        raise Refusal(Reason.REASON_REQUIRED, "say why; it is kept in the journal", field="reason")
    return text


def _offset(token: str) -> int:
    if not token:
        return 0
    if not (token.isascii() and token.isdigit() and len(token) < 10):
        raise Refusal(Reason.REQUEST_INVALID, "not a token of an earlier page", field="page_token")
    return int(token)
