"""Turns, from streams and from single calls: read, numbered, decided on."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Final

from sidecar.adapters.calls.cohort import Cohort
from sidecar.adapters.calls.large_turns import read_turn
from sidecar.adapters.calls.recall import Recall
from sidecar.adapters.convert import (
    Doubts,
    TurnBounds,
    TurnReader,
    closing_in,
    content_of,
    identifier,
    opened_out,
    opening_in,
    texts_cut,
    write_decision,
)
from sidecar.adapters.convert.numbers import TOO_LARGE
from sidecar.adapters.convert.texts import texts_in
from sidecar.core.directive import Decision
from sidecar.core.opening import Mode, Opening
from sidecar.core.policy import Policy
from sidecar.core.turn import Turn
from sidecar.kept_texts import KeptTexts
from sidecar.ports import Clock, Recorder, Rejected
from sidecar.sessions.give_ups import GiveUps
from sidecar.sessions.session import Outbox, Session
from sidecar.sessions.sessions import Found, Sessions
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

GIVE_UPS_READ_MAX: Final = 16
"""Of the totals in one report: more than there are reasons."""

GIVE_UPS_MAX: Final = 2**32
"""Of one client, for one reason: a session has no more turns. A greater total is no measurement,
and added to the counter it would hide for good what all others report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageBounds:
    """What one message may be, and how many clients are told apart."""

    message_bytes_max: int = 4 * 1024 * 1024
    labels_max: int = 16
    client_instances_max: int = 10_000


class TurnCalls:
    """What an agent reports, as the wire's messages, in terms of the sessions."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        recall: Recall,
        key: bytes,
        turn_bounds: TurnBounds,
        message_bounds: MessageBounds,
        recorder: Recorder,
        clock: Clock,
        texts: KeptTexts,
    ) -> None:
        """`key` is that of the digests, 16 to 64 bytes; `texts` keeps the turns' texts, as far as
        it may."""
        self.cohort = Cohort()
        """The turns of streams that are under way."""
        self._sessions = sessions
        self._recall = recall
        self._key = key
        self._turn_bounds = turn_bounds
        self._bounds = message_bounds
        self._recorder = recorder
        self._clock = clock
        self._readers: dict[str, TurnReader] = {}
        self._give_ups = GiveUps(instances_max=message_bounds.client_instances_max)
        self._texts = texts
        if self._texts.keeps:
            sessions.watch(self._forget_closed)

    async def record(self, request: pb.RecordTurnRequest) -> pb.RecordTurnResponse:
        """One turn of a caller without a stream. Raises Refusal."""
        received_s = self._clock.now_s()
        opening = self.opening(request.open)
        self._sessions.require_open(opening)
        async with self._recall.of(opening.session_id, opening.previous_session_id) as found:
            known = self._sessions.find(opening.session_id, found)
            doubts: Doubts = []
            event = await self._read(request, known, doubts)
            # From here on nothing comes in between, but before a decision of long ago.
            if known is not None and known.closing is not None and _says_something(request):
                # What was said before is answered as before; `turn` refuses anything else.
                session, missing = known, 0
            else:
                session, missing = self.open(request.open, opening, None, found)
            self.count_give_ups(session, request.open.client_instance, request.open.give_ups)
            response = pb.RecordTurnResponse()
            if event is not None:
                decision = await self._decide(
                    session, request, event, doubts, received_s=received_s
                )
                if session.facts.opening.mode is Mode.ENFORCE:
                    write_decision(decision, response.decision)
            if request.HasField("close"):
                self._sessions.close(session, closing_in(request.close))
        response.opened.CopyFrom(self.opened(session, missing))
        return response

    async def turn(self, session: Session, wire: run_pb2.Turn) -> Decision:
        """The decision on a turn of a session that is open. Raises Refusal."""
        received_s = self._clock.now_s()
        doubts: Doubts = []
        await self.cohort.abreast()
        reader = self._reader(session.facts.policy)
        event = await read_turn(reader, wire, doubts, cohort=self.cohort)
        await self.cohort.abreast()
        if session.lacks_answer(event.sequence):
            await self._recall.answers(session)
        return self._decided(session, event, wire, doubts, received_s=received_s)

    def opening(self, wire: run_pb2.Open) -> Opening:
        """What an agent says of its run, with as many labels as are kept."""
        return opening_in(wire, labels_max=self._bounds.labels_max)

    def open(
        self, wire: run_pb2.Open, opening: Opening, outbox: Outbox | None, found: Found
    ) -> tuple[Session, int]:
        """Begin or resume a session, as Sessions.open does. Labels beyond the bound are counted as
        lost where one begins: of later openings none is used. Raises Refusal."""
        is_new = self._sessions.find(opening.session_id, found) is None
        session, missing = self._sessions.open(opening, outbox, found)
        beyond = len(wire.labels) - self._bounds.labels_max
        if is_new and beyond > 0:
            self._recorder.lost("label", "labels_max", beyond)
        return session, missing

    def opened(self, session: Session, missing: int) -> pb.Opened:
        """Where the session stands; `missing` turns are lost to both sides."""
        return opened_out(
            session,
            missing=missing,
            idle_ttl_s=self._sessions.bounds.session_idle_ttl_s,
            turn_bytes_max=self._bounds.message_bytes_max,
        )

    def count_give_ups(self, session: Session, instance: str, reported: Any) -> None:
        """Count what a client gave up on since its last report; `reported` are its totals."""
        if not reported:
            return
        read: list[run_pb2.GiveUp] = reported[:GIVE_UPS_READ_MAX]
        totals = [(one.reason, one.count) for one in read if one.count <= GIVE_UPS_MAX]
        if len(totals) < len(read):
            self._recorder.lost("measurement", TOO_LARGE, len(read) - len(totals))
        client = identifier(instance)
        before = session.give_ups if client == session.client_instance else ()
        new = self._give_ups.new(client, totals, before=before)
        for reason, count in new:
            self._recorder.gave_up(session.facts, reason, count)
        if new:
            self._sessions.keep_give_ups(session, client, self._give_ups.counted(client))

    async def _read(
        self, request: pb.RecordTurnRequest, known: Session | None, doubts: Doubts
    ) -> Turn | Rejected | None:
        if not request.HasField("turn"):
            return None
        policies = self._sessions.policies
        policy = known.facts.policy if known else policies.named(request.open.policy)
        return await read_turn(self._reader(policy), request.turn, doubts, cohort=self.cohort)

    async def _decide(
        self,
        session: Session,
        request: pb.RecordTurnRequest,
        event: Turn | Rejected,
        doubts: Doubts,
        *,
        received_s: float,
    ) -> Decision:
        if event.sequence == 0:
            known = session.turn_ids.get(identifier(request.turn.id))
            request.turn.sequence = known or session.last_sequence + 1
            event = replace(event, sequence=request.turn.sequence)
        if session.lacks_answer(event.sequence):
            await self._recall.answers(session)
        decision = self._decided(session, event, request.turn, doubts, received_s=received_s)
        return self._sessions.without_waiting(session, decision)

    def _decided(
        self,
        session: Session,
        event: Turn | Rejected,
        wire: run_pb2.Turn,
        doubts: Doubts,
        *,
        received_s: float,
    ) -> Decision:
        last = session.last_sequence
        decision = self._sessions.turn(session, event, content_of(wire), received_s=received_s)
        if decision.rejection is None and last < event.sequence:
            cut = texts_cut(wire, self._turn_bounds)
            if cut:
                self._recorder.lost("text", "text_bytes_max", cut)
            for reason, count in Counter(doubts).items() if doubts else ():
                self._recorder.lost("measurement", reason, count)
            if self._texts.keeps:
                self._texts.keep(session.id, texts_in(wire))
        return decision

    def _forget_closed(self, session: Session) -> None:
        if session.closing is not None:
            self._texts.forget(session.id)

    def _reader(self, policy: Policy) -> TurnReader:
        reader = self._readers.get(policy.name)
        if reader is None:
            reader = TurnReader(key=self._key, lens=policy.lens, bounds=self._turn_bounds)
            self._readers[policy.name] = reader
        return reader


def _says_something(request: pb.RecordTurnRequest) -> bool:
    return request.HasField("turn") or request.HasField("close")
