"""Serving MCP over standard input and output, or over HTTP on this machine."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from mcp.server.stdio import stdio_server
from uvicorn.server import ServerState

from sidecar.adapters.json_http.connection import HEAD_BYTES_MAX, Connection
from sidecar.addresses import Address
from sidecar.mcp.dialogue import Dialogue
from sidecar.mcp.guard import Guard
from sidecar.mcp.http_sessions import CLOSES_WITHIN_S, SESSIONS_MAX, HttpSessions
from sidecar.mcp.lines import Lines
from sidecar.mcp.run import Run, Terms
from sidecar.mcp.server import server_of
from sidecar.nowhere import NoRecorder
from sidecar.stopping import stopping_signals

CONNECTIONS_MAX: Final = 4 * SESSIONS_MAX
"""Hosts hold one for the server's messages, and one or two for calls."""


async def serve_stdio(terms: Terms) -> None:
    """One run, until the host closes standard input and is answered, or ends this process by a
    signal. Raises OSError where standard input or output fails before: a host that reads no more
    has left."""
    run = Run(terms)
    server = server_of(run)
    leaving: set[asyncio.Task[None]] = set()

    def leave(number: signal.Signals) -> None:
        leaving.add(asyncio.create_task(_leave(run, number)))

    for number in stopping_signals():
        asyncio.get_running_loop().add_signal_handler(number, leave, number)
    try:
        # Of its input the SDK asks for its lines, and nothing else.
        lines = Lines(sys.stdin.fileno())
        async with stdio_server(stdin=lines) as streams:  # type: ignore[arg-type]
            dialogue = Dialogue(*streams, latest_line=lambda: lines.latest)
            await server.run(
                dialogue.messages(),  # type: ignore[arg-type]  # it is iterated over and closed
                dialogue,
                server.create_initialization_options(),
            )
    except ExceptionGroup as group:
        fault = group.exceptions[0]
        while isinstance(fault, ExceptionGroup):
            fault = fault.exceptions[0]
        # Of the SDK's tasks two use a file: those streams.
        raise fault if isinstance(fault, OSError) else group from None
    finally:
        await run.close()


async def _leave(run: Run, number: signal.Signals) -> None:
    """Close the run, then die of the signal."""
    await run.close()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


async def serve_http(
    terms: Terms, listening: socket.socket, address: Address, *, token: str, idle_s: float
) -> None:
    """A run for each HTTP session, until SIGTERM, SIGINT or SIGHUP; `address` is the socket's, by
    the name that callers know it by."""
    # A session id of one's own names one run.
    sessions_max = 1 if terms.options.get("session_id") else SESSIONS_MAX
    sessions = HttpSessions(lambda: Run(terms), sessions_max=sessions_max, idle_s=idle_s)
    server = _Server(
        uvicorn.Config(
            Guard(sessions, address=address, token=token),
            lifespan="off",
            ws="none",
            http=_BoundConnection,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=HEAD_BYTES_MAX,
            timeout_graceful_shutdown=int(CLOSES_WITHIN_S),
        )
    )
    # Its warnings are of what callers send, who need no token for that.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    stopped = asyncio.Event()
    for number in stopping_signals():
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with sessions.open():
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        waiting = asyncio.create_task(stopped.wait())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        # First the sessions: uvicorn waits for the streams that hosts hold open.
        await sessions.close()
        server.should_exit = True
        await serving


class _BoundConnection(Connection):
    """A connection as the sidecar's own: bounded before anybody has shown the token."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """The arguments are those of uvicorn, which serves no state: there is no lifespan."""
        super().__init__(
            config, server_state, connections_max=CONNECTIONS_MAX, recorder=NoRecorder()
        )


class _Server(uvicorn.Server):
    """Leaves signals alone: uvicorn would raise them again before the runs are closed."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Captures none."""
        yield
