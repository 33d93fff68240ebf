"""Where the JSON is served: uvicorn's HTTP/1.1, on the event loop that serves gRPC too.

Of uvicorn only the protocol is used: signals, reloading and workers are this process's own affair.
"""

import asyncio
import logging
import ssl
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from uvicorn import Config
from uvicorn.server import ServerState

from sidecar.adapters.json_http.application import Application
from sidecar.adapters.json_http.connection import HEAD_BYTES_MAX, HEAD_TIMEOUT_S, Connection
from sidecar.adapters.sockets import listening_socket
from sidecar.addresses import Address
from sidecar.ports import Recorder

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
    handshake_timeout_s: float = HEAD_TIMEOUT_S
    """For a handshake of TLS. Until it is over, a connection is not among those counted."""


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
        listening = await asyncio.to_thread(
            listening_socket, given, mode=settings.socket_mode, group=settings.socket_group
        )
        if not given.path:
            self.address = replace(given, port=listening.getsockname()[1])
        config = Config(
            application,
            interface="asgi3",
            http=Connection,
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
        tls = None if given.path else settings.tls
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(
                config,
                self._state,
                connections_max=settings.connections_max,
                recorder=self._recorder,
            ),
            sock=listening,
            ssl=tls,
            ssl_handshake_timeout=settings.handshake_timeout_s if tls else None,
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
