"""The data plane over gRPC: turns in, decisions out."""

import asyncio
import logging
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import grpc
from google.protobuf.message import DecodeError

from sidecar.adapters.convert import (
    TurnBounds,
    TurnReader,
    closing_in,
    content_of,
    duration,
    identifier,
    opening_in,
    texts_cut,
    write_decision,
)
from sidecar.adapters.grpc.authorization import Authorization
from sidecar.adapters.grpc.large_turns import read_turn
from sidecar.adapters.grpc.recall import Recall
from sidecar.adapters.grpc.status import abort
from sidecar.adapters.grpc.stream import Stream
from sidecar.core.directive import Decision
from sidecar.core.opening import Mode, Opening
from sidecar.core.policy import Policy
from sidecar.core.turn import Turn
from sidecar.give_ups import GiveUps
from sidecar.ports import Clock, Recorder, Rejected
from sidecar.refusal import RETRY_AFTER_S, Reason, Refusal, stopping, unreadable
from sidecar.session import Session
from sidecar.sessions import Sessions
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

logger = logging.getLogger(__name__)

GIVE_UPS_READ_MAX = 16
"""Of the totals in one report: more than there are reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBounds:
    """How many streams are served, and what one message may be."""

    streams_max: int = 1024
    message_bytes_max: int = 4 * 1024 * 1024
    labels_max: int = 16
    drain_grace_s: float = 5.0
    """Time between `draining` and the cut."""
    open_timeout_s: float = 10.0
    """Time that a stream may take to send its `open`."""
    client_instances_max: int = 10_000


class ConvergenceService:
    """The servicer of ConvergenceService: Observe and RecordTurn over the sessions."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        recall: Recall,
        key: bytes,
        turn_bounds: TurnBounds,
        stream_bounds: StreamBounds,
        recorder: Recorder,
        authorization: Authorization,
        clock: Clock,
    ) -> None:
        self._sessions = sessions
        self._recall = recall
        self._key = key
        self._turn_bounds = turn_bounds
        self._bounds = stream_bounds
        self._recorder = recorder
        self._authorization = authorization
        self._clock = clock
        self._readers: dict[str, TurnReader] = {}
        self._give_ups = GiveUps(instances_max=stream_bounds.client_instances_max)
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
        stream = Stream(context, drain_grace_s=self._bounds.drain_grace_s, recorder=self._recorder)
        self.streams += 1
        self._unopened.add(stream)
        try:
            await self._admit(context)
            await self._observe(context, stream)
            await stream.settled()
        except Refusal as refusal:
            await self._end(context, stream, refusal)
        except DecodeError:
            await self._end(context, stream, unreadable())
        except asyncio.CancelledError:
            # Either the agent is gone, or somebody ended the stream and says why.
            task = asyncio.current_task()
            if stream.ended_by is None or task is None:
                raise
            task.uncancel()
            await self._end(context, stream, stream.ended_by)
        except grpc.aio.AbortError:
            raise
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
        try:
            self._authorization.check(context)
            return await self._record(request)
        except Refusal as refusal:
            await self._refuse(context, refusal)
        except Exception:
            logger.exception("a turn failed")
            await self._refuse(context, Refusal(Reason.INTERNAL, "the sidecar failed"))

    async def _admit(self, context: "grpc.aio.ServicerContext[Any, Any]") -> None:
        self._authorization.check(context)
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
        reader = self._reader(session.facts.policy)
        answers = session.facts.opening.mode is Mode.ENFORCE
        while (request := await context.read()) is not grpc.aio.EOF:
            match request.WhichOneof("message"):
                case "turn":
                    received_s = self._clock.now_s()
                    event = await read_turn(reader, request.turn)
                    if session.lacks_answer(event.sequence):
                        await self._recall.answers(session)
                    decision = self._decided(session, event, request.turn, received_s=received_s)
                    if answers:
                        response = pb.ObserveResponse()
                        write_decision(decision, response.decision)
                        await stream.write(response)
                case "heartbeat":
                    self._sessions.alive(session)
                    self._count_give_ups(instance, request.heartbeat.give_ups)
                case "close":
                    self._sessions.close(session, closing_in(request.close))
                case "open":
                    raise Refusal(Reason.ALREADY_OPEN, "a stream carries one `open`")
                case _:
                    # A message of a later version: nothing here can be done about it.
                    self._sessions.alive(session)

    async def _first(self, context: "grpc.aio.ServicerContext[Any, Any]", stream: Stream) -> Any:
        within_s = self._bounds.open_timeout_s
        late = Refusal(Reason.OPEN_REQUIRED, f"a stream begins with `open`, within {within_s:g} s")
        limit = asyncio.get_running_loop().call_later(within_s, stream.end, late)
        try:
            return await context.read()
        finally:
            limit.cancel()

    async def _open(self, wire: run_pb2.Open, stream: Stream) -> Session:
        opening = self._opening(wire)
        self._sessions.require_open(opening)
        async with self._recall.of(opening.session_id, opening.previous_session_id) as found:
            session, missing = self._sessions.open(opening, stream, found)
        stream.session = session
        self._unopened.discard(stream)
        self._count_give_ups(wire.client_instance, wire.give_ups)
        await stream.open(pb.ObserveResponse(opened=self._opened(session, missing)))
        return session

    async def _record(self, request: pb.RecordTurnRequest) -> pb.RecordTurnResponse:
        received_s = self._clock.now_s()
        opening = self._opening(request.open)
        self._sessions.require_open(opening)
        async with self._recall.of(opening.session_id, opening.previous_session_id) as found:
            known = self._sessions.find(opening.session_id, found)
            event = await self._read(request, known)
            # From here on nothing comes in between, but before a decision of long ago.
            if known is not None and known.closing is not None and _says_something(request):
                # What was said before is answered as before; `turn` refuses anything else.
                session, missing = known, 0
            else:
                session, missing = self._sessions.open(opening, None, found)
            self._count_give_ups(request.open.client_instance, request.open.give_ups)
            response = pb.RecordTurnResponse()
            if event is not None:
                decision = await self._decide(session, request, event, received_s=received_s)
                if session.facts.opening.mode is Mode.ENFORCE:
                    write_decision(decision, response.decision)
            if request.HasField("close"):
                self._sessions.close(session, closing_in(request.close))
        response.opened.CopyFrom(self._opened(session, missing))
        return response

    async def _read(
        self, request: pb.RecordTurnRequest, known: Session | None
    ) -> Turn | Rejected | None:
        if not request.HasField("turn"):
            return None
        policies = self._sessions.policies
        policy = known.facts.policy if known else policies.named(request.open.policy)
        return await read_turn(self._reader(policy), request.turn)

    async def _decide(
        self,
        session: Session,
        request: pb.RecordTurnRequest,
        event: Turn | Rejected,
        *,
        received_s: float,
    ) -> Decision:
        if event.sequence == 0:
            known = session.turn_ids.get(identifier(request.turn.id))
            request.turn.sequence = known or session.last_sequence + 1
            event = replace(event, sequence=request.turn.sequence)
        if session.lacks_answer(event.sequence):
            await self._recall.answers(session)
        decision = self._decided(session, event, request.turn, received_s=received_s)
        return self._sessions.without_waiting(session, decision)

    def _decided(
        self, session: Session, event: Turn | Rejected, wire: run_pb2.Turn, *, received_s: float
    ) -> Decision:
        last = session.last_sequence
        decision = self._sessions.turn(session, event, content_of(wire), received_s=received_s)
        if decision.rejection is None and last < event.sequence:
            cut = texts_cut(wire, self._turn_bounds)
            if cut:
                self._recorder.lost("text", "text_bytes_max", cut)
        return decision

    def _opening(self, wire: run_pb2.Open) -> Opening:
        beyond = len(wire.labels) - self._bounds.labels_max
        if beyond > 0:
            self._recorder.lost("label", "labels_max", beyond)
        return opening_in(wire, labels_max=self._bounds.labels_max)

    def _opened(self, session: Session, missing: int) -> pb.Opened:
        policy = session.facts.policy
        return pb.Opened(
            session_id=session.id,
            last_sequence=session.last_sequence,
            missing=missing,
            idle_ttl=duration(self._sessions.bounds.session_idle_ttl_s),
            policy=policy.name,
            policy_revision=policy.revision,
            turn_bytes_max=self._bounds.message_bytes_max,
            previous_missing=session.facts.previous_missing,
        )

    def _reader(self, policy: Policy) -> TurnReader:
        reader = self._readers.get(policy.name)
        if reader is None:
            reader = TurnReader(key=self._key, lens=policy.lens, bounds=self._turn_bounds)
            self._readers[policy.name] = reader
        return reader

    def _count_give_ups(self, instance: str, reported: Any) -> None:
        if not reported:
            return
        totals: list[run_pb2.GiveUp] = reported[:GIVE_UPS_READ_MAX]
        new = self._give_ups.new(
            identifier(instance), [(give_up.reason, give_up.count) for give_up in totals]
        )
        for reason, count in new:
            self._recorder.gave_up(reason, count)

    async def _end(
        self,
        context: "grpc.aio.ServicerContext[Any, Any]",
        stream: Stream,
        refusal: Refusal,
    ) -> NoReturn:
        await stream.settled()
        await self._refuse(context, refusal)

    async def _refuse(
        self, context: "grpc.aio.ServicerContext[Any, Any]", refusal: Refusal
    ) -> NoReturn:
        self._recorder.refused(refusal.reason.value)
        await abort(context, refusal)


def _says_something(request: pb.RecordTurnRequest) -> bool:
    return request.HasField("turn") or request.HasField("close")
