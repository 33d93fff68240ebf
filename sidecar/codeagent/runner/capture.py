"""Output of a process, of which the beginning and the end are kept however much it is."""

import asyncio
import contextlib
import os
from typing import Final

PART_BYTES_MAX: Final = 32 * 1024
"""Kept of the beginning, and of the end: an observation shows a fraction of it."""
READ_BYTES: Final = 64 * 1024
"""What a pipe holds."""
DRAINS_MAX: Final = 64
"""Reads after the end of a step: whoever writes on in the background is not waited for."""


class HeadTail:
    """Bytes, the middle of which is dropped."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self.bytes_dropped = 0

    def add(self, data: bytes) -> None:
        """Take more in."""
        room = PART_BYTES_MAX - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        excess = len(self._tail) - PART_BYTES_MAX
        if excess > 0:
            self.bytes_dropped += excess
            del self._tail[:excess]

    def text(self) -> str:
        """What was kept; where something was dropped, a line says how much."""
        head, tail = (bytes(part).decode("utf-8", "replace") for part in (self._head, self._tail))
        if not self.bytes_dropped:
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        return f"{head}\n[... {self.bytes_dropped:,} bytes left out ...]\n{tail}"


class Capture:
    """The reading end of a pipe, read by the event loop as it fills."""

    def __init__(self) -> None:
        self._fd, self.write_fd = os.pipe()
        os.set_blocking(self._fd, False)
        self._kept = HeadTail()
        self._loop = asyncio.get_running_loop()
        self._ended = False
        self.listen()

    def listen(self) -> None:
        """Take in what comes, until the next `take`."""
        if self._fd >= 0 and not self._ended:
            self._loop.add_reader(self._fd, self._read)

    def started(self) -> None:
        """The process has the other end."""
        os.close(self.write_fd)
        self.write_fd = -1

    def take(self) -> str:
        """All that was written since the last time. What comes now stays in the pipe, so that
        whoever writes on in the background waits, until somebody listens again."""
        for _ in range(DRAINS_MAX):
            if not self._read():
                break
        self._loop.remove_reader(self._fd)
        kept, self._kept = self._kept, HeadTail()
        return kept.text()

    def close(self) -> None:
        """Give up both ends. More than once does nothing more."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
        for fd in (self._fd, self.write_fd):
            if fd >= 0:
                os.close(fd)
        self._fd = self.write_fd = -1

    def _read(self) -> bool:
        data = b""
        with contextlib.suppress(BlockingIOError):
            if self._fd >= 0:
                data = os.read(self._fd, READ_BYTES)
                if not data:
                    self._ended = True
                    self._loop.remove_reader(self._fd)
        self._kept.add(data)
        return bool(data)
