"""The lines that a host writes, read beside the event loop by a thread that holds nothing up.

A read that waits for a host cannot be cancelled, and Python waits for every thread at its end but
for daemons. Those of the SDK and of asyncio are none, so a process whose host has left without
closing its end would stay.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from threading import Semaphore, Thread
from typing import TypeAlias

from sidecar.mcp.surrogates import without_halves

Read: TypeAlias = bytes | OSError
"""A line, an empty one at the end, or why there is none."""


class Lines:
    """The host's messages; what is no UTF-8 in them is read as U+FFFD, as the SDK itself does."""

    latest = ""
    """The one that was read last."""

    def __init__(self, descriptor: int) -> None:
        """The descriptor stays open."""
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        """All that are not blank. Raises OSError where they cannot be read."""
        read: asyncio.Queue[Read] = asyncio.Queue()
        wanted = Semaphore(0)
        arguments = self._descriptor, asyncio.get_running_loop(), read, wanted
        Thread(target=_read, args=arguments, name="lines", daemon=True).start()
        while True:
            wanted.release()
            line = await read.get()
            if isinstance(line, OSError):
                raise line
            if not line:
                return
            if not line.isspace():
                self.latest = without_halves(line).decode("utf-8", "replace")
                yield self.latest


def _read(
    descriptor: int,
    loop: asyncio.AbstractEventLoop,
    read: "asyncio.Queue[Read]",
    wanted: Semaphore,
) -> None:
    """Read a line whenever one is wanted, for as long as the loop runs."""
    # A file of its own: Python closes sys.stdin at its end, and dies of a thread that reads it.
    with suppress(RuntimeError), open(descriptor, "rb", closefd=False) as lines:
        line: Read = b"\n"
        while line and not isinstance(line, OSError):
            wanted.acquire()
            try:
                line = lines.readline()
            except OSError as fault:
                line = fault
            loop.call_soon_threadsafe(read.put_nowait, line)
