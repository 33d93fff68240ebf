"""A sidecar that says nothing: a report to it is under way until it lets go."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sidecar.mcp.run import Terms


class SilentSidecar:
    """For one event loop."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "silent.sock"
        self.terms = Terms(address=f"unix:{self._path}", options={"timeout_s": 20.0})
        """Of runs that report to it."""
        self.asked = asyncio.Event()
        self.lets_go = asyncio.Event()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Until the end, at which it lets go."""
        async with await asyncio.start_unix_server(self._take, str(self._path)):
            try:
                yield
            finally:
                self.lets_go.set()

    async def _take(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.set()
        await self.lets_go.wait()
        writer.close()
