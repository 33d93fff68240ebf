"""Where the JSON is served: uvicorn's HTTP/1.1, on the event loop that serves gRPC too.

Of uvicorn only the protocol is used: signals, reloading and workers are this process's own affair.
"""

import asyncio
import logging
import ssl
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Final

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from sidecar.adapters.json_http.application import Application
from sidecar.adapters.json_http.problem import PROBLEM, HttpRefusal, headers_of, problem_of
from sidecar.adapters.json_http.problem import status_of as status_of_refusal
from sidecar.adapters.sockets import listening_socket
from sidecar.addresses import Address
from sidecar.ports import Recorder
from sidecar.refusal import RETRY_AFTER_S, Reason, Refusal

HEAD_BYTES_MAX: Final = 16 * 1024
"""Request line and headers."""

HEAD_TIMEOUT_S: Final = 10.0
"""For these to arrive, from the connection's or their own first byte."""

KEEP_ALIVE_S: Final = 75
"""Without a request, until a connection is closed: longer than most turns take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Where one listener listens, and how many it serves."""

    address: Address
    connections_max: int
    socket_mode: int = 0o600
    socket_group: str = ""
    tls: ssl.SSLContext | None = None
    """For TCP; None: plain."""


class JsonListener:
    """Serves one application at one address."""

    def __init__(self, settings: HttpSettings, *, recorder: Recorder) -> None:
        self._settings = settings
        self._recorder = recorder
        self._state = ServerState()
        self._server: asyncio.Server | None = None
        self.address = settings.address
        """Where it listens, with the port that was found where 0 was asked for."""

    @property
    def answering(self) -> int:
        """Requests that are being answered."""
        return len(self._state.tasks)

    async def start(self, application: Application) -> None:
        """Listen. Raises OSError naming an address that cannot be had."""
        settings = self._settings
        given = settings.address
        try:
            listening = await asyncio.to_thread(
                listening_socket, given, mode=settings.socket_mode, group=settings.socket_group
            )
        except OSError as fault:
            raise OSError(f"cannot listen at {given.target}: {fault}") from fault
        if not given.path:
            self.address = replace(given, port=listening.getsockname()[1])
        config = Config(
            application,
            interface="asgi3",
            http=Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            h11_max_incomplete_event_size=HEAD_BYTES_MAX,
        )
        config.load()
        # Its warnings are of what callers send, who could fill a disk with them.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Protocol(
                config,
                self._state,
                connections_max=settings.connections_max,
                recorder=self._recorder,
            ),
            sock=listening,
            ssl=None if given.path else settings.tls,
        )

    async def stop(self, grace_s: float) -> None:
        """Accept nothing more, and cut what is not answered after the grace, in seconds."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks, timeout=grace_s)
        for task in self._state.tasks:
            task.cancel()
        for connection in list(self._state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        if self._settings.address.path:
            await asyncio.to_thread(Path(self._settings.address.path).unlink, missing_ok=True)


class Protocol(H11Protocol):
    """One connection. What comes before a request is bounded here: how many connections there are,
    and how long a head may take."""

    def __init__(
        self, config: Config, state: ServerState, *, connections_max: int, recorder: Recorder
    ) -> None:
        super().__init__(config, state, {})
        self._connections_max = connections_max
        self._recorder = recorder
        self._head_limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or say that there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self._connections_max:
            self._refuse(
                Refusal(
                    Reason.STREAMS_MAX,
                    f"{self._connections_max} connections are open, which is the bound",
                    retry_after_s=RETRY_AFTER_S,
                )
            )
        else:
            self._limit_head()

    def data_received(self, data: bytes) -> None:
        """Take what was sent."""
        super().data_received(data)
        if self._is_answering:
            self._head_is_there()
        elif self._head_limit is None and not self.transport.is_closing():
            self._limit_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The peer is gone."""
        self._head_is_there()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP."""
        self._refuse(HttpRefusal(HTTPStatus.BAD_REQUEST, "not a request of HTTP/1.1"))

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _limit_head(self) -> None:
        self._head_limit = self.loop.call_later(HEAD_TIMEOUT_S, self._too_slow)

    def _head_is_there(self) -> None:
        if self._head_limit is not None:
            self._head_limit.cancel()
            self._head_limit = None

    def _too_slow(self) -> None:
        self._head_limit = None
        begun, _ = self.conn.trailing_data
        if begun:
            late = f"send a request within {HEAD_TIMEOUT_S:g} s"
            self._refuse(HttpRefusal(HTTPStatus.REQUEST_TIMEOUT, late))
        else:
            self.transport.close()

    def _refuse(self, refusal: Refusal) -> None:
        """Answer without a request that was understood, and hang up."""
        self._recorder.refused(refusal.reason.value)
        body = problem_of(refusal)
        status = status_of_refusal(refusal)
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
