"""A sidecar that behaves: it answers whatever comes, where a case needs no script."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from google.protobuf.message import DecodeError

from sidecar.conformance.ledger import Ledger, proceed_to
from sidecar.conformance.streams import ServedStream, Streams
from sidecar.v1 import convergence_service_pb2 as wire


class Behaving:
    """Opens every stream where the ledger stands, and lets every turn proceed."""

    def __init__(self, streams: Streams, ledger: Ledger) -> None:
        self._streams = streams
        self._ledger = ledger
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.create_task(self._accept())

    def take(self, stream: ServedStream, session_id: str) -> None:
        """Goes on with a stream that the script has opened."""
        self._go(self._converse(stream, session_id))

    async def stop(self) -> None:
        """Answers nothing more; streams stay as they are."""
        tasks = (self._accepting, *self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self) -> None:
        while True:
            self._go(self._converse(await self._streams.opened.get(), ""))

    def _go(self, talk: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(talk)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, stream: ServedStream, session_id: str) -> None:
        try:
            while (message := await stream.received.get()) is not None:
                request = wire.ObserveRequest.FromString(message)
                if request.HasField("open"):
                    session_id = request.open.session_id
                    await self._open(stream, request)
                elif request.HasField("turn"):
                    self._ledger.note(session_id, request.turn.sequence)
                    answer = proceed_to(request.turn.sequence)
                    await stream.send(answer.SerializeToString())
            stream.end(None)
        except DecodeError:
            stream.end(None)

    async def _open(self, stream: ServedStream, request: wire.ObserveRequest) -> None:
        session_id = request.open.session_id
        response = wire.ObserveResponse()
        response.opened.session_id = session_id
        held = self._ledger.last_sequence(session_id)
        response.opened.last_sequence = max(held, request.open.first_available_sequence - 1)
        response.opened.idle_ttl.seconds = 3600
        response.opened.turn_bytes_max = 4 * 1024 * 1024
        await stream.send(response.SerializeToString())
