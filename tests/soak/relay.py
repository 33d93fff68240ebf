"""A Unix socket that leads to another, and can be cut: agents' connections break as they do where a
network does, with bytes of a message under way."""

import asyncio
from pathlib import Path

CHUNK_BYTES = 64 * 1024


class Relay:
    """Listens at `path` and carries every connection to `target`."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path = path
        self._target = target
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._carrying: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.start_unix_server(self._carry, self.path)

    async def stop(self) -> None:
        """Listen no more, and cut what there is."""
        if self._server is not None:
            self._server.close()
            self.cut()
            await asyncio.gather(*self._carrying)

    def cut(self) -> int:
        """Break all connections at once; how many there were."""
        for writer in self._writers:
            writer.transport.abort()
        return len(self._writers) // 2

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(self._target)
        except OSError:  # the sidecar is away: so is what leads to it
            writer.transport.abort()
            return
        carrying = asyncio.current_task()
        assert carrying is not None
        both = {writer, far_writer}
        self._writers |= both
        self._carrying.add(carrying)
        try:
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        finally:
            self._writers -= both
            self._carrying.discard(carrying)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(CHUNK_BYTES):
            writer.write(chunk)
            await writer.drain()
    except OSError:  # cut, at this end or at the other
        pass
    finally:
        writer.close()
