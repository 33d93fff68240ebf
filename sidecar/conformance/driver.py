"""The driver: the process around the client under test, asked line by line."""

import asyncio
import json
import os
import shlex
import signal
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, Self

from sidecar.conformance.faults import Departure

# A virtual machine that starts on a busy core.
REPLIES_WITHIN_S: Final = 30.0
LEAVES_WITHIN_S: Final = 5.0
_LINE_BYTES_MAX: Final = 64 * 1024 * 1024
_STDERR_LINES_MAX: Final = 200
_HAS_ENDED: Final = "the driver has ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the driver answered, and how long that took as seen from here, in seconds."""

    body: dict[str, Any]
    took_s: float


class Driver:
    """One process of the command. Raises Departure for whatever it does against the README."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._awaited: deque[tuple[float, asyncio.Future[Reply]]] = deque()
        self._stderr: deque[str] = deque(maxlen=_STDERR_LINES_MAX)
        self._fault = ""
        self._has_answered = False
        self._tasks = (
            asyncio.create_task(self._read_replies()),
            asyncio.create_task(self._read_stderr()),
        )

    @classmethod
    async def started(cls, command: str) -> Self:
        """Starts it. Raises OSError where there is no such command."""
        process = await asyncio.create_subprocess_exec(
            *shlex.split(command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE_BYTES_MAX,
            start_new_session=True,
        )
        return cls(process)

    def ask(self, request: dict[str, Any]) -> "asyncio.Future[Reply]":
        """Writes one request; the future has the reply."""
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        # A case that has failed awaits no reply any more, and asyncio would print a traceback.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        if self._fault:
            future.set_exception(Departure(self._fault))
            return future
        self._awaited.append((monotonic(), future))
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
        return future

    @property
    def is_silent(self) -> bool:
        """Whether it runs, was asked and has not answered once."""
        return bool(self._awaited) and not self._has_answered and not self._fault

    def take_stderr(self) -> str:
        """What it has written to standard error since the last time."""
        lines = "".join(self._stderr)
        self._stderr.clear()
        return lines

    async def leave(self) -> str:
        """Ends its input and waits for it; returns what was wrong with how it left."""
        if fault := self._fault:
            await self.kill()
            return fault
        return await self._left()

    async def _left(self) -> str:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(LEAVES_WITHIN_S):
                code = await self._process.wait()
        except TimeoutError:
            await self.kill()
            return f"the driver runs on {LEAVES_WITHIN_S:g} s after the end of its input"
        await self._ended()
        if code:
            return f"the driver exits with {code} at the end of its input, not with 0"
        return "" if self._fault == _HAS_ENDED else self._fault

    async def kill(self) -> None:
        """Ends it with everything that it has started."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._process.returncode is None:
            with suppress(ProcessLookupError):  # it may have ended by itself just now
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        await self._ended()

    async def _ended(self) -> None:
        await asyncio.wait(self._tasks, timeout=LEAVES_WITHIN_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read_replies(self) -> None:
        output = self._process.stdout
        try:
            while output is not None and (line := await output.readline()):
                self._take(line)
        except ValueError:  # asyncio's word for a line beyond its limit
            self._fail(f"the driver says a line of more than {_LINE_BYTES_MAX} bytes")
        else:
            self._fail(_HAS_ENDED)

    def _take(self, line: bytes) -> None:
        if not self._awaited:
            self._fail(f"the driver says what nobody asked: {line[:200]!r}")
            return
        self._has_answered = True
        asked_s, future = self._awaited.popleft()
        if not future.done():
            self._settle(future, line, monotonic() - asked_s)

    def _settle(self, future: "asyncio.Future[Reply]", line: bytes, took_s: float) -> None:
        try:
            body = json.loads(line)
        except (ValueError, RecursionError):  # the latter for what is nested too deep
            body = None
        match body:
            case {"error": why}:
                future.set_exception(Departure(f"the driver cannot do it: {why}"))
            case dict():
                future.set_result(Reply(body=body, took_s=took_s))
            case _:
                future.set_exception(Departure(f"not a JSON object of one line: {line[:200]!r}"))

    def _fail(self, fault: str) -> None:
        # What came first is why.
        self._fault = self._fault or fault
        while self._awaited:
            _, future = self._awaited.popleft()
            if not future.done():
                future.set_exception(Departure(self._fault))

    async def _read_stderr(self) -> None:
        errors = self._process.stderr
        while errors is not None and (line := await errors.readline()):
            self._stderr.append(line.decode("utf-8", "replace"))
