"""One agent's stream: the only writer to it."""

import asyncio
from typing import Any

import grpc

from sidecar.adapters.convert import duration, write_decision
from sidecar.core.directive import Decision
from sidecar.refusal import Refusal
from sidecar.session import Session
from sidecar.v1 import convergence_service_pb2 as pb

UNASKED_MAX = 64
"""Decisions and drains waiting for a slow agent; a person does not command faster."""


class Stream:
    """Writes what answers a turn at once, and what nobody asked for from a task of its own."""

    def __init__(
        self, context: "grpc.aio.ServicerContext[Any, Any]", *, drain_grace_s: float
    ) -> None:
        self.session: Session | None = None
        self.ended_by: Refusal | None = None
        self._context = context
        self._drain_grace_s = drain_grace_s
        self._serving = asyncio.current_task()
        self._written: asyncio.Event | None = None
        """Set when the write under way is done; None: none is, or nobody waits for it."""
        self._writing = False
        self._unasked: list[pb.ObserveResponse] = []
        self._sender: asyncio.Task[None] | None = None

    async def write(self, response: pb.ObserveResponse) -> None:
        """Write the answer to a turn, after what is being written unasked.

        A flag instead of a lock: nearly every write finds the stream free, and asyncio's lock
        costs as much as reading a turn.
        """
        while self._sender is not None and not self._sender.done():
            await asyncio.wait((self._sender,))
        self._writing = True
        try:
            await self._context.write(response)
        finally:
            self._writing = False
            if self._written is not None:
                self._written.set()

    def send(self, decision: Decision) -> None:
        """Send a decision that no turn asked for."""
        response = pb.ObserveResponse()
        write_decision(decision, response.decision)
        self._send(response)

    def drain(self) -> None:
        """Say that the sidecar is about to stop."""
        grace = duration(self._drain_grace_s)
        self._send(pb.ObserveResponse(draining=pb.Draining(grace=grace)))

    def end(self, refusal: Refusal) -> None:
        """End the stream: the serving task is woken from its read and aborts with the refusal."""
        if self.ended_by is None and self._serving is not None:
            self.ended_by = refusal
            self._serving.cancel()

    async def close(self) -> None:
        """Leave no task behind."""
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.gather(self._sender, return_exceptions=True)

    def _send(self, response: pb.ObserveResponse) -> None:
        if len(self._unasked) >= UNASKED_MAX:
            return
        self._unasked.append(response)
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send_unasked())

    async def _send_unasked(self) -> None:
        if self._writing:
            self._written = asyncio.Event()
            await self._written.wait()
            self._written = None
        while self._unasked:
            response = self._unasked.pop(0)
            try:
                await self._context.write(response)
            except (grpc.RpcError, asyncio.InvalidStateError):
                # The agent is gone; its serving task finds out by itself.
                self._unasked.clear()
