"""Agents that work through session after session, whatever becomes of their sidecar, and keep a
ledger of each."""

import asyncio
import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import grpc

from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import convergence_service_pb2_grpc, run_pb2
from tests.process.uninterrupted import turns
from tests.soak.ledger import Ledger
from tests.soak.wire import ANSWER_WITHIN_S, Broken, Wire, broken_by

RETRY_S: Final = 0.5
"""At most, between two attempts."""
TURNS: Final = (20, 80)
"""Of a session: some end every second, and none is longer than what an agent sends again."""
BURST_SHARE: Final = 0.1
"""Of steps in which an agent sends three turns before it reads an answer."""
ABANDONED_SHARE: Final = 0.25
"""Of sessions that end without `close`, so that the sidecar has to let them go."""


@dataclass(slots=True, kw_only=True)
class Fleet:
    """What the agents have in common."""

    pause_s: float
    """Between two turns of one agent, on average."""
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    live: dict[str, Ledger] = field(default_factory=dict)
    """Sessions of streams, under way."""
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    async def settle(self, ledger: Ledger) -> None:
        """A session is over."""
        self.live.pop(ledger.session_id, None)
        async with ledger.steering:
            ledger.settle()
        self.counts["sessions"] += 1
        self.counts["turns"] += len(ledger.heard)
        self.counts["heard again"] += ledger.heard_again
        self.counts["told unasked"] += len(ledger.unasked)
        self.faults += ledger.faults


class StreamAgent:
    """Reports by `Observe`."""

    def __init__(self, fleet: Fleet, channel: grpc.aio.Channel, seed: int) -> None:
        self._fleet = fleet
        self._channel = channel
        self._draw = random.Random(seed)
        self._name = f"agent-{seed}"

    async def work(self) -> None:
        """Session after session, until the fleet ends."""
        number = 0
        await self._pause(self._fleet.pause_s)
        while not self._fleet.ending.is_set():
            number += 1
            await self._session(f"{self._name}-{number}")

    async def _session(self, session_id: str) -> None:
        ledger = Ledger(session_id)
        self._fleet.live[session_id] = ledger
        run = turns(self._draw.randint(*TURNS), self._draw.getrandbits(32))
        is_over = False
        while not is_over:
            wire = Wire(self._channel)
            try:
                is_over = await self._attached(wire, ledger, run)
            except Broken as broken:
                is_over = self._is_over(broken, ledger)
            finally:
                wire.drop()
            if not is_over:
                await self._pause(RETRY_S)
        await self._fleet.settle(ledger)

    def _is_over(self, broken: Broken, ledger: Ledger) -> bool:
        """Whether the session is, by how its stream ended."""
        self._fleet.counts[f"broken: {broken.code.name} {broken.reason}"] += 1
        if broken.reason == "SESSION_CLOSED":
            return True
        if not broken.is_outage:
            ledger.fault(f"the stream broke: {broken}")
        return False

    async def _attached(self, wire: Wire, ledger: Ledger, run: list[run_pb2.Turn]) -> bool:
        """One stream, as long as it holds; whether the session is over."""
        await self._resume(wire, ledger)
        while True:
            await self._hear_while_pausing(wire, ledger)
            if wire.is_draining:
                await self._leave(wire, ledger)
                return False
            left = run[len(ledger.sent) :]
            if not left or ledger.is_halted or self._fleet.ending.is_set():
                return await self._end(wire, ledger)
            count = 3 if self._draw.random() < BURST_SHARE else 1
            for turn in left[:count]:
                if ledger.heard:
                    turn.directive_seen = len(ledger.heard)
                ledger.sent.append(turn)
            await self._report(wire, ledger, after=len(ledger.heard))

    async def _resume(self, wire: Wire, ledger: Ledger) -> None:
        opening = run_pb2.Open(session_id=ledger.session_id, agent_name="soak")
        await wire.send(pb.ObserveRequest(open=opening))
        response = await wire.hear(ANSWER_WITHIN_S)
        if response is None or not response.HasField("opened"):
            ledger.fault(f"`open` was answered by {response}")
            raise Broken(grpc.StatusCode.UNAVAILABLE, "", "not opened")
        opened = response.opened
        if opened.missing or opened.last_sequence > len(ledger.sent):
            ledger.fault(f"resumed at {opened.last_sequence}, {opened.missing} missing")
        if ledger.sent:
            self._fleet.counts["resumed"] += 1
        if opened.last_sequence < len(ledger.heard):
            self._fleet.counts["resumed behind what was heard"] += 1
        # Also what is held already, where the answer did not arrive.
        await self._report(wire, ledger, after=min(opened.last_sequence, len(ledger.heard)))

    async def _report(self, wire: Wire, ledger: Ledger, *, after: int) -> None:
        """Send all turns after one, and hear the decision on each."""
        last = len(ledger.sent)
        for turn in ledger.sent[after:]:
            await wire.send(pb.ObserveRequest(turn=turn))
        for expected in range(after + 1, last + 1):
            await self._hear(wire, ledger, expected)

    async def _hear(self, wire: Wire, ledger: Ledger, expected: int) -> None:
        while (response := await wire.hear(ANSWER_WITHIN_S)) is not None:
            decision = response.decision
            if response.HasField("decision") and decision.cause == run_pb2.CAUSE_TURN:
                ledger.hear_turn(decision, expected=expected)
                return
            self._hear_else(wire, response, ledger)
        ledger.fault(f"no decision on {expected} in {ANSWER_WITHIN_S} s")
        raise Broken(grpc.StatusCode.UNAVAILABLE, "", "no decision")

    def _hear_else(self, wire: Wire, response: pb.ObserveResponse, ledger: Ledger) -> None:
        """What no turn asked for."""
        if response.HasField("decision"):
            ledger.hear_unasked(response.decision)
        elif response.HasField("draining"):
            wire.is_draining = True
        else:
            ledger.fault(f"heard {response}")

    async def _hear_while_pausing(self, wire: Wire, ledger: Ledger) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._draw.uniform(0.4, 1.6) * self._fleet.pause_s
        while not wire.is_draining and (left := until - loop.time()) > 0:
            response = await wire.hear(left)
            if response is not None:
                self._hear_else(wire, response, ledger)

    async def _end(self, wire: Wire, ledger: Ledger) -> bool:
        if self._draw.random() < ABANDONED_SHARE and not self._fleet.ending.is_set():
            self._fleet.counts["abandoned"] += 1
            return True
        await wire.send(pb.ObserveRequest(close=run_pb2.Close()))
        await self._leave(wire, ledger)
        return True

    async def _leave(self, wire: Wire, ledger: Ledger) -> None:
        """Half-close, and hear the stream out. Raises Broken where it does not end with OK."""
        await wire.half_close()
        try:
            while (response := await wire.hear(ANSWER_WITHIN_S)) is not None:
                self._hear_else(wire, response, ledger)
        except Broken as broken:
            if broken.code is not grpc.StatusCode.OK:
                raise
        else:
            ledger.fault(f"half-closed, and not ended in {ANSWER_WITHIN_S} s")

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._fleet.ending.wait(), self._draw.uniform(0, seconds))


class HookAgent(StreamAgent):
    """Reports by `RecordTurn`, a call for each turn, as hooks do."""

    def __init__(self, fleet: Fleet, channel: grpc.aio.Channel, seed: int) -> None:
        super().__init__(fleet, channel, seed)
        self._stub: Any = convergence_service_pb2_grpc.ConvergenceServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]

    async def _session(self, session_id: str) -> None:
        ledger = Ledger(session_id)
        for turn in turns(self._draw.randint(*TURNS), self._draw.getrandbits(32)):
            if ledger.is_halted or self._fleet.ending.is_set():
                break
            ledger.sent.append(turn)
            await self._record(ledger)
            await self._pause(2 * self._fleet.pause_s)
        await self._call(ledger, close=run_pb2.Close())
        await self._fleet.settle(ledger)

    async def _record(self, ledger: Ledger) -> None:
        """Report the latest turn, and before it whatever the sidecar has lost."""
        at = len(ledger.sent)
        while at <= len(ledger.sent):
            try:
                response = await self._call(ledger, turn=ledger.sent[at - 1])
            except Broken as broken:
                if broken.reason != "SEQUENCE_GAP" or at == 1:
                    raise
                self._fleet.counts["resumed behind what was heard"] += 1
                at -= 1
            else:
                ledger.hear_turn(response.decision, expected=at)
                at += 1

    async def _call(self, ledger: Ledger, **said: Any) -> pb.RecordTurnResponse:
        """One call, again and again while the sidecar is away. Raises Broken."""
        opening = run_pb2.Open(session_id=ledger.session_id, agent_name="hook")
        request = pb.RecordTurnRequest(open=opening, **said)
        while True:
            try:
                answer: pb.RecordTurnResponse = await self._stub.RecordTurn(
                    request, timeout=ANSWER_WITHIN_S
                )
                return answer
            except grpc.aio.AioRpcError as error:
                broken = broken_by(error)
                if not broken.is_outage:
                    raise broken from None
                self._fleet.counts[f"recorded again: {broken.code.name} {broken.reason}"] += 1
                await self._pause(RETRY_S)
