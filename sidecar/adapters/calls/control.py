"""What operators see of sessions, and do to them."""

import asyncio
from typing import Final

from sidecar.adapters.calls.pages import latest_opened, not_a_token, token_after
from sidecar.adapters.calls.recall import Recall
from sidecar.adapters.convert import history_out, session_out
from sidecar.adapters.convert.enums import STATES
from sidecar.core.opening import Closing, Command, Continue, Reset
from sidecar.core.turn import Turn
from sidecar.ports import Entry, Journal, Rejected
from sidecar.refusal import Reason, Refusal
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import Sessions
from sidecar.v1 import session_service_pb2 as pb

PAGE_DEFAULT: Final = 100
PAGE_MAX: Final = 1000
TURNS_MAX: Final = 1000
READS_MAX: Final = 10
"""Of the journal, for the latest turns of a session."""


class ControlCalls:
    """The calls of SessionService that are answered once. Every method raises Refusal."""

    def __init__(self, sessions: Sessions, *, recall: Recall, journal: Journal) -> None:
        self._sessions = sessions
        self._recall = recall
        self._journal = journal

    async def session(self, request: pb.GetSessionRequest) -> pb.GetSessionResponse:
        """A session with its latest turns."""
        session = await self._recall.session(request.session_id)
        wanted = min(request.turns_max, TURNS_MAX)
        found = session_out(session)
        if not wanted:
            return history_out(found, (), turns_max=0)
        last = session.entries
        return await asyncio.to_thread(self._with_latest_turns, found, wanted, last)

    async def turns(self, request: pb.ListTurnsRequest) -> pb.ListTurnsResponse:
        """A page of a session's turns. A token is the number of the last entry that was seen."""
        session = await self._recall.session(request.session_id)
        size = min(request.page_size or PAGE_DEFAULT, PAGE_MAX)
        after = _offset(request.page_token)
        until = min(after + size, max(session.entries, after))
        return await asyncio.to_thread(self._page_of_turns, session, after, until)

    def _with_latest_turns(
        self, session: pb.Session, turns: int, last: int
    ) -> pb.GetSessionResponse:
        entries: list[Entry] = []
        lacking = turns
        # Commands stand between turns, seldom many: then more entries are read, within a bound.
        for _ in range(READS_MAX):
            read = self._journal.read(session.session_id, until=last, last=lacking + PAGE_DEFAULT)
            entries[:0] = read
            lacking -= sum(isinstance(entry.event, Turn | Rejected) for entry in read)
            if lacking <= 0 or not read or read[0].number <= 1:
                break
            last = read[0].number - 1
        return history_out(session, entries, turns_max=turns)

    def _page_of_turns(self, session: Session, after: int, until: int) -> pb.ListTurnsResponse:
        entries = self._journal.read(session.id, after=after, until=until)
        page = history_out(pb.Session(), entries)
        return pb.ListTurnsResponse(
            turns=page.turns,
            commands=page.commands,
            next_page_token=str(until) if until < session.entries else "",
            follow_token=str(until),
        )

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
        page = found[:size]
        return pb.ListSessionsResponse(
            sessions=[session_out(session) for session in page],
            next_page_token=token_after(page[-1]) if len(found) > size else "",
        )

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
