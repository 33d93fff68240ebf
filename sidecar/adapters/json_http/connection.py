"""One connection over HTTP/1.1, with bounds on what comes before a request is there."""

import asyncio
import math
from http import HTTPStatus
from typing import Final, cast

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from sidecar.adapters.json_http.body import CALLER_ENDED
from sidecar.adapters.json_http.lingering import LingeringTransport
from sidecar.adapters.json_http.problem import (
    PROBLEM,
    HttpRefusal,
    headers_of,
    problem_of,
    status_of,
)
from sidecar.ports import Recorder
from sidecar.refusal import RETRY_AFTER_S, Reason, Refusal

HEAD_BYTES_MAX: Final = 16 * 1024
"""Request line and headers."""

HEAD_TIMEOUT_S: Final = 10.0
"""For these to arrive, from the connection's or their own first byte."""

SILENT_S: Final = 0.1
"""After which one on which nothing was sent yet is idle: everybody who asks is near, and what was
sent may be there and not be read yet."""

ENDED_TIMEOUT_S: Final = 30.0
"""For what is owed to a caller that has ended its side and may be gone. No turn takes as long; what
waits for a person over MCP does."""

LINGERING_MAX: Final = 16
"""Connections beyond the bound that are read on at a time, so that their callers get to read why
they are hung up on: unbounded, they would be as many as like to."""

READ_BYTES_MAX: Final = HEAD_BYTES_MAX
"""Taken in at a time, together with what is there of a head: no head is taken beyond its bound. A
byte a chunk, that are 2,700 chunks of 10 us each; for the 256 KiB that asyncio reads otherwise, the
event loop's other callers would wait half a second."""


class Connection(H11Protocol, asyncio.BufferedProtocol):
    """One connection. What comes before a request is bounded here: how many connections there are,
    and how long a head may take."""

    def __init__(
        self, config: Config, state: ServerState, *, connections_max: int, recorder: Recorder
    ) -> None:
        self._caller_ended = asyncio.Event()
        super().__init__(config, state, {CALLER_ENDED: self._caller_ended})
        self._connections_max = connections_max
        self._recorder = recorder
        self._head_limit: asyncio.TimerHandle | None = None
        self._ended_limit: asyncio.TimerHandle | None = None
        self._buffer = bytearray()
        self._is_beyond = False

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go, at least one; an idle connection holds none.

        A view: asyncio reads the second record of TLS into a slice, a copy where it is of a
        bytearray.
        """
        self._buffer = bytearray(max(1, READ_BYTES_MAX - self._begun_bytes))
        return memoryview(self._buffer)

    def buffer_updated(self, nbytes: int) -> None:
        """So many have come."""
        buffer, self._buffer = self._buffer, bytearray()
        if not self.transport.is_closing():
            self.data_received(bytes(buffer[:nbytes]))

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or say that there are too many."""
        self._lingering = LingeringTransport(transport)
        super().connection_made(cast("asyncio.Transport", self._lingering))
        if self._is_one_too_many and not self._idle_gave_way():
            self._is_beyond = True
            self._refuse(
                Refusal(
                    Reason.STREAMS_MAX,
                    f"{self._connections_max} connections are open, which is the bound",
                    retry_after_s=RETRY_AFTER_S,
                )
            )
            if self._beyond > LINGERING_MAX:
                transport.close()
        else:
            self._limit_head()

    def data_received(self, data: bytes) -> None:
        """Take what was sent."""
        super().data_received(data)
        if self._is_answering:
            self._head_is_there()
        elif self.transport.is_closing():
            return
        elif self._begun_bytes >= HEAD_BYTES_MAX:
            large = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            self._refuse(HttpRefusal(large, f"a head has at most {HEAD_BYTES_MAX} bytes"))
        elif self._head_limit is None:
            self._limit_head()

    def eof_received(self) -> bool:  # type: ignore[override]
        """The peer has ended its side, as `nc -N` does; whether to keep the other one open.

        Over TLS one side cannot end alone. May be called again where reading was paused since.
        """
        if not self._owes_answer or not self.transport.can_write_eof():
            return False
        if self._ended_limit is None:
            self._caller_ended.set()
            self._lingering.peer_ended()
            self._ended_limit = self.loop.call_later(ENDED_TIMEOUT_S, self.transport.close)
        return True

    def on_response_complete(self) -> None:
        """One request is answered; another may have been sent together with it."""
        super().on_response_complete()
        if self._caller_ended.is_set() and not self._owes_answer:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The peer is gone."""
        self._head_is_there()
        if self._ended_limit is not None:
            self._ended_limit.cancel()
        self._lingering.lost()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """The server stops: hang up once nothing is to be answered."""
        if self._lingering.is_lingering:
            self.transport.abort()
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._refuse(HttpRefusal(HTTPStatus.BAD_REQUEST, "not a request of HTTP/1.1"))

    @property
    def idle_since_s(self) -> float:
        """Since when nothing is under way, by the loop's clock; infinite: something is, or a caller
        who has only connected may be about to ask."""
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            return math.inf
        if self.timeout_keep_alive_task is not None:
            return self.timeout_keep_alive_task.when() - self.timeout_keep_alive
        if self._head_limit is None or self._begun_bytes or self._is_answering:
            return math.inf
        connected_s = self._head_limit.when() - HEAD_TIMEOUT_S
        return connected_s if self.loop.time() - connected_s >= SILENT_S else math.inf

    @property
    def _beyond(self) -> int:
        """Connections beyond the bound, which are being told so and hold no place."""
        connections = cast("set[Connection]", self.connections)
        return sum(each._is_beyond for each in connections)

    @property
    def _is_one_too_many(self) -> bool:
        most, there = self._connections_max, len(self.connections)
        return there > most and there - self._beyond > most

    def _idle_gave_way(self) -> bool:
        """Hang up on the connection that is idle longest, which may hold its place for nobody."""
        connections = cast("set[Connection]", self.connections)
        longest = min(connections, key=lambda each: each.idle_since_s)
        if longest.idle_since_s == math.inf:
            return False
        longest.transport.abort()
        return True

    @property
    def _begun_bytes(self) -> int:
        """Those that are there and of no request yet."""
        return len(self.conn.trailing_data[0])

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def _owes_answer(self) -> bool:
        """Whether a request that came whole has had nothing of its answer. A stream that has begun
        ends with its caller's side: it may never write, which alone shows that nobody reads."""
        return (
            self._is_answering
            and not self.cycle.more_body
            and not self.cycle.response_started
            and not self.transport.is_closing()
        )

    def _limit_head(self) -> None:
        self._head_limit = self.loop.call_later(HEAD_TIMEOUT_S, self._too_slow)

    def _head_is_there(self) -> None:
        if self._head_limit is not None:
            self._head_limit.cancel()
            self._head_limit = None

    def _too_slow(self) -> None:
        self._head_limit = None
        if self._begun_bytes:
            late = f"send a request within {HEAD_TIMEOUT_S:g} s"
            self._refuse(HttpRefusal(HTTPStatus.REQUEST_TIMEOUT, late))
        else:
            self.transport.close()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer without a request that was understood, and hang up."""
        self._head_is_there()
        self._recorder.refused(refusal.reason.value)
        body = problem_of(refusal)
        status = status_of(refusal)
        headers = {
            "Content-Type": PROBLEM,
            "Content-Length": str(len(body)),
            "Connection": "close",
            **headers_of(refusal),
        }
        lines = [f"HTTP/1.1 {status.value} {status.phrase}"]
        lines += [f"{name}: {text}" for name, text in headers.items()]
        if not self.transport.is_closing():
            self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
            self.transport.close()
