"""Serving MCP over standard input and output, or over HTTP on this machine."""

import asyncio
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn
from mcp.server.stdio import stdio_server

from sidecar.addresses import Address
from sidecar.mcp.guard import Guard
from sidecar.mcp.http_sessions import CLOSES_WITHIN_S, SESSIONS_MAX, HttpSessions
from sidecar.mcp.run import Run, Terms
from sidecar.mcp.server import server_of

CONNECTIONS_PER_SESSION: Final = 4
"""Hosts hold one for the server's messages, and one or two for calls."""

HEAD_BYTES_MAX: Final = 16 * 1024
BACKLOG: Final = 128
STOPPING: Final = (signal.SIGTERM, signal.SIGINT)


async def serve_stdio(terms: Terms) -> None:
    """One run, until the host closes standard input, or ends this process by a signal."""
    run = Run(terms)
    server = server_of(run)
    leaving: set[asyncio.Task[None]] = set()

    def leave(number: signal.Signals) -> None:
        leaving.add(asyncio.create_task(_leave(run, number)))

    for number in STOPPING:
        asyncio.get_running_loop().add_signal_handler(number, leave, number)
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await run.close()


async def _leave(run: Run, number: signal.Signals) -> None:
    """Close the run, then die of the signal: a thread waits for the host's next line, and nothing
    but the end of the process ends that."""
    await run.close()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


async def serve_http(terms: Terms, listening: socket.socket, *, token: str, idle_s: float) -> None:
    """A run for each HTTP session, until SIGTERM or SIGINT."""
    # A session id of one's own names one run.
    sessions_max = 1 if terms.options.get("session_id") else SESSIONS_MAX
    sessions = HttpSessions(lambda: Run(terms), sessions_max=sessions_max, idle_s=idle_s)
    server = _Server(
        uvicorn.Config(
            Guard(sessions, port=listening.getsockname()[1], token=token),
            lifespan="off",
            ws="none",
            http="h11",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=CONNECTIONS_PER_SESSION * SESSIONS_MAX,
            h11_max_incomplete_event_size=HEAD_BYTES_MAX,
            timeout_graceful_shutdown=int(CLOSES_WITHIN_S),
        )
    )
    stopped = asyncio.Event()
    for number in STOPPING:
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


class _Server(uvicorn.Server):
    """Leaves signals alone: uvicorn would raise them again before the runs are closed."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Captures none."""
        yield


def listen(address: Address) -> socket.socket:
    """A socket that listens at a loopback address. Raises OSError."""
    family, kind, _, _, where = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM
    )[0]
    listening = socket.socket(family, kind)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(where)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening
