"""What operators see of sessions, and do to them."""

import asyncio
from functools import partial
from typing import Final

from sidecar.adapters.calls.histories import Histories
from sidecar.adapters.calls.pages import (
    PAGE_BYTES_MAX,
    latest_opened,
    not_a_token,
    token_after,
)
from sidecar.adapters.calls.recall import Recall
from sidecar.adapters.convert import history_out, session_out
from sidecar.adapters.convert.enums import STATES
from sidecar.core.opening import Closing, Command, Continue, Reset
from sidecar.ports import Journal
from sidecar.refusal import Reason, Refusal
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import Sessions
from sidecar.v1 import session_service_pb2 as pb

PAGE_DEFAULT: Final = 100
PAGE_MAX: Final = 1000
TURNS_MAX: Final = 1000


class ControlCalls:
    """The calls of SessionService that are answered once. Every method raises Refusal."""

    def __init__(self, sessions: Sessions, *, recall: Recall, journal: Journal) -> None:
        self._sessions = sessions
        self._recall = recall
        self._histories = Histories(journal)

    async def session(self, request: pb.GetSessionRequest) -> pb.GetSessionResponse:
        """A session with its latest turns."""
        session = await self._recall.session(request.session_id)
        wanted = min(request.turns_max, TURNS_MAX)
        found = session_out(session)
        if not wanted:
            return history_out(found, (), turns_max=0)
        latest = partial(self._histories.latest, turns=wanted, last=session.entries)
        return await asyncio.to_thread(latest, found)

    async def turns(self, request: pb.ListTurnsRequest) -> pb.ListTurnsResponse:
        """A page of a session's turns. A token is the number of the last entry that was seen."""
        session = await self._recall.session(request.session_id)
        size = min(request.page_size or PAGE_DEFAULT, PAGE_MAX)
        after = _offset(request.page_token)
        page = partial(self._histories.page, after=after, size=size, last=session.entries)
        return await asyncio.to_thread(page, session.id)

    async def sessions(self, request: pb.ListSessionsRequest) -> pb.ListSessionsResponse:
        """A page of the sessions in memory, the latest opened first."""
        states = {STATES.get(state) for state in request.states}
        size = min(request.page_size or PAGE_DEFAULT, PAGE_MAX)
        wanted = (
            session
            for session in self._sessions.held()
            if not states or session.run.state.breaker.state in states
        )
        found = latest_opened(wanted, size + 1, token=request.page_token)
        page = pb.ListSessionsResponse()
        bytes_left = PAGE_BYTES_MAX
        for number, session in enumerate(found):
            shown = session_out(session)
            bytes_left -= shown.ByteSize()
            if number == size or (number and bytes_left < 0):
                page.next_page_token = token_after(found[number - 1])
                break
            page.sessions.append(shown)
        return page

    async def go_on(self, request: pb.ContinueSessionRequest) -> pb.ContinueSessionResponse:
        """Let a run go on."""
        command = Continue(
            reason=_reason(request.reason),
            extra_turns=request.extra_turns,
            extra_input_tokens=request.extra_input_tokens,
            request_id=request.request_id,
        )
        session = await self._command(request.session_id, command)
        return pb.ContinueSessionResponse(session=session_out(session))

    async def reset(self, request: pb.ResetSessionRequest) -> pb.ResetSessionResponse:
        """Start a run's signals afresh."""
        command = Reset(reason=_reason(request.reason), request_id=request.request_id)
        session = await self._command(request.session_id, command)
        return pb.ResetSessionResponse(session=session_out(session))

    async def close(self, request: pb.CloseSessionRequest) -> pb.CloseSessionResponse:
        """Close a session; a closed one stays closed."""
        session = await self._recall.session(request.session_id)
        self._sessions.end(session, Closing(reason=_reason(request.reason)))
        return pb.CloseSessionResponse(session=session_out(session))

    async def _command(self, session_id: str, command: Command) -> Session:
        session = await self._recall.session(session_id)
        self._sessions.command(session, command)
        return session


def _reason(text: str) -> str:
    if not text.strip():
        raise Refusal(Reason.REASON_REQUIRED, "say why; it is kept in the journal", field="reason")
    return text


def _offset(token: str) -> int:
    if not token:
        return 0
    if not (token.isascii() and token.isdigit() and len(token) < 10):
        raise not_a_token()
    return int(token)
