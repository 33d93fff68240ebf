"""The data plane over gRPC: turns in, decisions out."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any, NoReturn

import grpc

from sidecar.adapters.calls import TurnCalls
from sidecar.adapters.calls.authorization import Authorization
from sidecar.adapters.calls.recall import Recall
from sidecar.adapters.convert import closing_in, write_decision
from sidecar.adapters.grpc.authorization import require_authorized
from sidecar.adapters.grpc.status import OneCall, refuse
from sidecar.adapters.grpc.stream import Stream
from sidecar.core.opening import Mode
from sidecar.ports import Recorder
from sidecar.refusal import RETRY_AFTER_S, Reason, Refusal, stopping
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import Sessions
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBounds:
    """How many streams are served, and for how long they are waited for."""

    streams_max: int = 1024
    drain_grace_s: float = 5.0
    """Time between `draining` and the cut."""
    open_timeout_s: float = 10.0
    """Time that a stream may take to send its `open`."""


class ConvergenceService:
    """The servicer of ConvergenceService: Observe and RecordTurn over the sessions."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        turns: TurnCalls,
        recall: Recall,
        stream_bounds: StreamBounds,
        recorder: Recorder,
        authorization: Authorization,
    ) -> None:
        self._sessions = sessions
        self._turns = turns
        self._recall = recall
        self._bounds = stream_bounds
        self._recorder = recorder
        self._authorization = authorization
        self._unopened: set[Stream] = set()
        self._draining = False
        self.streams = 0
        """Streams open now."""

    def drain(self) -> None:
        """End the streams without a session, which no `draining` reaches: nothing is lost by it."""
        self._draining = True
        for stream in self._unopened:
            stream.end(stopping())

    async def Observe(  # noqa: N802 - the name is the protocol's
        self, request_iterator: Any, context: "grpc.aio.ServicerContext[Any, Any]"
    ) -> None:
        """One agent's stream, by the eight rules of the service's comment."""
        stream = Stream(
            context,
            cohort=self._turns.cohort,
            drain_grace_s=self._bounds.drain_grace_s,
            recorder=self._recorder,
        )
        self.streams += 1
        self._unopened.add(stream)
        try:
            await self._admit(context)
            await self._observe(context, stream)
            await stream.settled()
        except Refusal as refusal:
            await self._end(context, stream, refusal)
        except asyncio.CancelledError:
            # Either the agent is gone, or somebody ended the stream and says why.
            task = asyncio.current_task()
            if stream.ended_by is None or task is None:
                raise
            task.uncancel()
            await self._end(context, stream, stream.ended_by)
        except grpc.aio.AbortError:
            raise
        except grpc.aio.InternalError:
            # So gRPC says that the agent went in the middle of a write.
            logger.debug("a write failed", exc_info=True)
        except Exception:
            logger.exception("a stream failed")
            await self._end(context, stream, Refusal(Reason.INTERNAL, "the sidecar failed"))
        finally:
            self.streams -= 1
            self._unopened.discard(stream)
            if stream.session is not None:
                self._sessions.detach(stream.session, stream)
            await stream.close()

    async def RecordTurn(  # noqa: N802 - the name is the protocol's
        self,
        request: pb.RecordTurnRequest,
        context: "grpc.aio.ServicerContext[Any, Any]",
    ) -> pb.RecordTurnResponse:
        """One turn of a caller without a stream."""
        async with OneCall(context, self._authorization, self._recorder):
            return await self._turns.record(request)

    async def _admit(self, context: "grpc.aio.ServicerContext[Any, Any]") -> None:
        require_authorized(self._authorization, context)
        if self._draining:
            raise stopping()
        if self.streams > self._bounds.streams_max:
            raise Refusal(
                Reason.STREAMS_MAX,
                f"{self._bounds.streams_max} streams are open, which is streams_max",
                retry_after_s=RETRY_AFTER_S,
            )

    async def _observe(self, context: "grpc.aio.ServicerContext[Any, Any]", stream: Stream) -> None:
        first = await self._first(context, stream)
        if first is grpc.aio.EOF:
            return
        if first.WhichOneof("message") != "open":
            raise Refusal(Reason.OPEN_REQUIRED, "the first message of a stream is `open`")
        session = await self._open(first.open, stream)
        instance = first.open.client_instance
        answers = session.facts.opening.mode is Mode.ENFORCE
        while (request := await context.read()) is not grpc.aio.EOF:
            match request.WhichOneof("message"):
                case "turn":
                    with self._turns.cohort:
                        decision = await self._turns.turn(session, request.turn)
                        if answers:
                            response = pb.ObserveResponse()
                            write_decision(decision, response.decision)
                            await stream.write(response)
                case "heartbeat":
                    self._sessions.alive(session)
                    self._turns.count_give_ups(session, instance, request.heartbeat.give_ups)
                case "close":
                    self._sessions.close(session, closing_in(request.close))
                case "open":
                    raise Refusal(Reason.ALREADY_OPEN, "a stream carries one `open`")
                case _:
                    # A message of a later version: nothing here can be done about it.
                    self._sessions.alive(session)
            # It may have 4 MiB, and the next one may be an hour away.
            del request

    async def _first(self, context: "grpc.aio.ServicerContext[Any, Any]", stream: Stream) -> Any:
        within_s = self._bounds.open_timeout_s
        late = Refusal(Reason.OPEN_REQUIRED, f"a stream begins with `open`, within {within_s:g} s")
        limit = asyncio.get_running_loop().call_later(within_s, stream.end, late)
        try:
            return await context.read()
        finally:
            limit.cancel()

    async def _open(self, wire: run_pb2.Open, stream: Stream) -> Session:
        opening = self._turns.opening(wire)
        self._sessions.require_open(opening)
        async with self._recall.of(opening.session_id, opening.previous_session_id) as found:
            session, missing = self._turns.open(wire, opening, stream, found)
        stream.session = session
        self._unopened.discard(stream)
        self._turns.count_give_ups(session, wire.client_instance, wire.give_ups)
        await stream.open(pb.ObserveResponse(opened=self._turns.opened(session, missing)))
        return session

    async def _end(
        self,
        context: "grpc.aio.ServicerContext[Any, Any]",
        stream: Stream,
        refusal: Refusal,
    ) -> NoReturn:
        await stream.settled()
        await refuse(context, refusal, self._recorder)
