"""One agent's stream: the only writer to it."""

import asyncio
from collections import deque
from typing import Any, Final

import grpc

from sidecar.adapters.calls.cohort import Cohort
from sidecar.adapters.convert import duration, write_decision
from sidecar.core.directive import Decision
from sidecar.ports import Recorder
from sidecar.refusal import Refusal
from sidecar.sessions.session import Session
from sidecar.v1 import convergence_service_pb2 as pb

UNASKED_MAX: Final = 64
"""Decisions waiting for a slow agent; a person does not command faster. The newest are in force, so
it is the oldest that are dropped beyond it."""


class Stream:
    """Writes what answers a turn at once, and what nobody asked for from a task of its own."""

    def __init__(
        self,
        context: "grpc.aio.ServicerContext[Any, Any]",
        *,
        cohort: Cohort,
        drain_grace_s: float,
        recorder: Recorder,
    ) -> None:
        self.session: Session | None = None
        self.ended_by: Refusal | None = None
        self._context = context
        self._cohort = cohort
        self._drain_grace_s = drain_grace_s
        self._recorder = recorder
        self._serving = asyncio.current_task()
        self._writing = False
        """Whether an answer is being written, or waits to be: nothing unasked begins meanwhile."""
        self._opened = False
        self._unasked: deque[pb.ObserveResponse] = deque()
        self._draining: pb.ObserveResponse | None = None
        self._sender: asyncio.Task[None] | None = None

    async def open(self, response: pb.ObserveResponse) -> None:
        """Write the answer to `open`, which nothing may come before: what is sent meanwhile waits
        for it."""
        await self.write(response)
        self._opened = True
        self._send()

    async def write(self, response: pb.ObserveResponse) -> None:
        """Write the answer to a turn, after what is being written unasked. Raises the Refusal that
        ended the stream meanwhile.

        A flag instead of a lock: nearly every write finds the stream free, and asyncio's lock
        costs as much as reading a turn.
        """
        self._writing = True
        try:
            if self._sender is not None:
                await self.settled()
            await self._send_earlier(response.decision.sequence)
            await self._cohort.abreast()
            await self._context.write(response)
        finally:
            self._writing = False
        self._send()
        if self.ended_by is not None:
            raise self.ended_by

    def send(self, decision: Decision) -> None:
        """Send a decision that no turn asked for."""
        response = pb.ObserveResponse()
        write_decision(decision, response.decision)
        self._unasked.append(response)
        if len(self._unasked) > UNASKED_MAX:
            self._unasked.popleft()
            self._recorder.lost("decision", "slow_agent")
        self._send()

    def drain(self) -> None:
        """Say that the sidecar is about to stop."""
        grace = duration(self._drain_grace_s)
        self._draining = pb.ObserveResponse(draining=pb.Draining(grace=grace))
        self._send()

    def end(self, refusal: Refusal) -> None:
        """End the stream: the serving task is woken from its read and aborts with the refusal. Out
        of a write it comes by itself: gRPC takes no status before that is done."""
        if self.ended_by is None and self._serving is not None:
            self.ended_by = refusal
            if not self._writing:
                self._serving.cancel()

    async def settled(self) -> None:
        """Wait for what is being written unasked, so that a status can follow."""
        while self._sender is not None and not self._sender.done():
            await asyncio.wait((self._sender,))

    async def close(self) -> None:
        """Leave no task behind."""
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.gather(self._sender, return_exceptions=True)

    def _send(self) -> None:
        is_due = self._unasked or self._draining is not None
        is_free = self._opened and not self._writing
        if is_due and is_free and (self._sender is None or self._sender.done()):
            self._sender = asyncio.create_task(self._send_unasked())

    async def _send_earlier(self, sequence: int) -> None:
        """Send what was decided unasked before the turn of this sequence, which comes first."""
        while self._unasked and self._unasked[0].decision.sequence < sequence:
            await self._context.write(self._unasked.popleft())

    async def _send_unasked(self) -> None:
        while (
            not (self._writing or self.ended_by) and (response := self._next_unasked()) is not None
        ):
            try:
                await self._context.write(response)
            except (grpc.RpcError, grpc.aio.InternalError, asyncio.InvalidStateError):
                # The agent is gone; its serving task finds out by itself.
                self._unasked.clear()

    def _next_unasked(self) -> pb.ObserveResponse | None:
        if self._unasked:
            return self._unasked.popleft()
        draining, self._draining = self._draining, None
        return draining
