"""An operator who looks at sessions and steers some of them, and notes on whose turn that was."""

import itertools
from typing import Any, Final

import grpc

from sidecar.v1 import run_pb2, session_service_pb2_grpc
from sidecar.v1 import session_service_pb2 as pb
from tests.soak.agents import Fleet
from tests.soak.ledger import Ledger

WITHIN_S: Final = 30.0
EACH: Final = 4
"""Sessions that are continued, reset and closed at one time."""


class Operator:
    """Over the admin listener."""

    def __init__(self, fleet: Fleet, channel: grpc.aio.Channel) -> None:
        self._fleet = fleet
        self._service: Any = session_service_pb2_grpc.SessionServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
        self._numbers = itertools.count(1)

    async def act(self) -> int:
        """Look at all sessions, and continue, reset and close some; how many were steered."""
        listed = await self._service.ListSessions(
            pb.ListSessionsRequest(page_size=1000), timeout=WITHIN_S
        )
        held = {session.session_id for session in listed.sessions if session.last_sequence > 1}
        chosen = iter([one for name, one in self._fleet.live.items() if name in held])
        done = 0
        for act in (self._continue, self._reset, self._close):
            for ledger in itertools.islice(chosen, EACH):
                async with ledger.steering:
                    done += await self._steered(ledger, act)
        return done

    async def _steered(self, ledger: Ledger, act: Any) -> bool:
        """Whether it came in time: a session may have ended meanwhile."""
        try:
            await self._service.GetSession(
                pb.GetSessionRequest(session_id=ledger.session_id, turns_max=100), timeout=WITHIN_S
            )
            await act(ledger, f"r{next(self._numbers)}")
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.FAILED_PRECONDITION:
                raise
            return False
        return True

    async def _continue(self, ledger: Ledger, request_id: str) -> None:
        facts: dict[str, Any] = {"reason": "go on", "extra_turns": 5, "request_id": request_id}
        answer = await self._service.ContinueSession(
            pb.ContinueSessionRequest(session_id=ledger.session_id, **facts), timeout=WITHIN_S
        )
        made = run_pb2.Command(after_sequence=answer.session.last_sequence)
        getattr(made, "continue").MergeFrom(run_pb2.ContinueCommand(**facts))
        ledger.commands.append(made)

    async def _reset(self, ledger: Ledger, request_id: str) -> None:
        facts = {"reason": "afresh", "request_id": request_id}
        answer = await self._service.ResetSession(
            pb.ResetSessionRequest(session_id=ledger.session_id, **facts), timeout=WITHIN_S
        )
        made = run_pb2.Command(
            after_sequence=answer.session.last_sequence, reset=run_pb2.ResetCommand(**facts)
        )
        ledger.commands.append(made)

    async def _close(self, ledger: Ledger, _: str) -> None:
        await self._service.CloseSession(
            pb.CloseSessionRequest(session_id=ledger.session_id, reason="enough"), timeout=WITHIN_S
        )
