"""What listens at the address that the client is given: the scripted sidecar behind a relay, or
something that is no sidecar."""

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Any, Final

from sidecar.conformance.faults import TableError

_CHUNK_BYTES: Final = 64 * 1024
_HTTP_1: Final = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nno\n"
)
# Neither HTTP/2 frames nor TLS records, the same each time.
_GARBAGE: Final = bytes((index * 37 + 11) % 256 for index in range(4096))
_RESET: Final = struct.pack("ii", 1, 0)

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


class Front:
    """One address, and what answers there. Connections can be cut, frozen and garbled."""

    def __init__(self, *, directory: Path, transport: str) -> None:
        self._path = directory / "agent.sock"
        self._backend = directory / "backend.sock"
        self._is_unix = transport == "unix"
        self._port = 0 if self._is_unix else _free_port()
        self._server: asyncio.Server | None = None
        self._full: list[socket.socket] = []
        self._pairs: set[tuple[asyncio.StreamWriter, ...]] = set()
        self._talks: set[asyncio.Task[None]] = set()
        self.accepted_s: list[float] = []
        """When clients have made connections so far, by the monotonic clock."""
        self._flows = asyncio.Event()
        self._flows.set()

    @property
    def address(self) -> str:
        """As a client is given it."""
        return f"unix:{self._path}" if self._is_unix else f"127.0.0.1:{self._port}"

    @property
    def backend(self) -> str:
        """Where the scripted sidecar listens."""
        return f"unix:{self._backend}"

    @property
    def connections(self) -> int:
        """Connections of clients that are open."""
        return len(self._pairs)

    async def listen(self, kind: str) -> None:
        """Puts something of that kind at the address. Raises TableError for one there is not."""
        await self.unlisten()
        if kind in ("absent", "stale", "directory", "black_hole"):
            self._occupy(kind)
            return
        talk = self._talks_by_kind.get(kind)
        if talk is None:
            raise TableError(f"no listener {kind!r}")
        await self._serve(talk)

    async def unlisten(self) -> None:
        """Takes it away; connections stay."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for one in self._full:
            one.close()
        self._full.clear()
        if self._path.is_dir():
            self._path.rmdir()
        else:
            self._path.unlink(missing_ok=True)

    def cut(self) -> None:
        """Breaks every connection."""
        for pair in tuple(self._pairs):
            for writer in pair:
                _abort(writer)

    def freeze(self) -> None:
        """From now on no byte passes, in either direction."""
        self._flows.clear()

    def thaw(self) -> None:
        """Bytes pass again, those held back first."""
        self._flows.set()

    def garble(self) -> None:
        """Sends bytes into every connection that are no HTTP/2."""
        for client, *_ in self._pairs:
            client.write(_GARBAGE)

    async def stop(self) -> None:
        """Ends everything."""
        await self.unlisten()
        self.thaw()
        self.cut()
        await asyncio.sleep(0)  # a connection that was just accepted is told of in the next round
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    def _occupy(self, kind: str) -> None:
        if not self._is_unix and kind in ("stale", "directory"):
            raise TableError(f"{kind} is for Unix sockets only")
        match kind:
            case "stale":
                bound = socket.socket(socket.AF_UNIX)
                bound.bind(str(self._path))
                bound.close()
            case "directory":
                self._path.mkdir()
            case "black_hole":
                self._fill_backlog()
            case _:
                pass

    def _fill_backlog(self) -> None:
        """A queue of one that nobody takes from: the kernel lets no other in."""
        listener = self._bound()
        listener.listen(0)
        self._full.append(listener)
        while len(self._full) < 8:
            one = socket.socket(listener.family)
            self._full.append(one)
            one.setblocking(False)  # noqa: FBT003 (the socket module's own signature)
            one.connect_ex(listener.getsockname())

    def _bound(self) -> socket.socket:
        if self._is_unix:
            bound = socket.socket(socket.AF_UNIX)
            bound.bind(str(self._path))
        else:
            bound = socket.socket()
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(("127.0.0.1", self._port))
        bound.setblocking(False)  # noqa: FBT003 (the socket module's own signature)
        return bound

    async def _serve(self, talk: Talk) -> None:
        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.accepted_s.append(monotonic())
            task = asyncio.create_task(_quietly(talk(reader, writer)))
            self._talks.add(task)
            task.add_done_callback(self._talks.discard)
            # Not within the task: one that is cancelled before its first step closes nothing.
            task.add_done_callback(lambda _: writer.close())

        bound = self._bound()
        if self._is_unix:
            self._server = await asyncio.start_unix_server(connected, sock=bound)
        else:
            self._server = await asyncio.start_server(connected, sock=bound)

    # What is said to a connection, by kind.

    @property
    def _talks_by_kind(self) -> Mapping[str, Talk]:
        return MappingProxyType(
            {
                "sidecar": self._relay,
                "silent": self._silence,
                "hang_up": self._hang_up,
                "http1": self._http_1,
                "garbage": self._speak_garbage,
            }
        )

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_unix_connection(str(self._backend))
        pair = (writer, inner_writer)
        self._pairs.add(pair)
        copies = [
            asyncio.create_task(self._copy(reader, inner_writer)),
            asyncio.create_task(self._copy(inner_reader, writer)),
        ]
        try:
            await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._pairs.discard(pair)
            inner_writer.close()
            for copy in copies:
                copy.cancel()
            await asyncio.gather(*copies, return_exceptions=True)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(_CHUNK_BYTES):
            await self._flows.wait()
            writer.write(chunk)
            await writer.drain()

    async def _silence(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._pairs.add((writer,))
        try:
            while await reader.read(_CHUNK_BYTES):
                pass
        finally:
            self._pairs.discard((writer,))

    async def _hang_up(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _abort(writer)

    async def _http_1(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(_CHUNK_BYTES)
        writer.write(_HTTP_1)
        await writer.drain()

    async def _speak_garbage(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(_GARBAGE)
        await self._silence(reader, writer)


async def _quietly(talk: Coroutine[Any, Any, None]) -> None:
    with suppress(OSError):  # a connection that breaks is what many cases are about
        await talk


def _abort(writer: asyncio.StreamWriter) -> None:
    found = writer.get_extra_info("socket")
    if found is not None and found.family == socket.AF_INET and found.fileno() >= 0:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
