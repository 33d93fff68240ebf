"""The driver: the process around the client under test, asked line by line."""

import asyncio
import json
import os
import shlex
import signal
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, Self

from sidecar.conformance.faults import Departure

# A virtual machine that starts on a busy core.
REPLIES_WITHIN_S: Final = 30.0
LEAVES_WITHIN_S: Final = 5.0
_LINE_BYTES_MAX: Final = 64 * 1024 * 1024
_STDERR_BYTES_MAX: Final = 32 * 1024
_AT_ONCE: Final = 64 * 1024


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
        self._stderr = b""
        self._fault = ""
        self._ending = ""
        self._was_asked = self._has_answered = False
        self._broken = asyncio.Event()
        self._pidfd = self._watched()
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
        self._was_asked = True
        if self._fault:
            future.set_exception(Departure(self._fault))
            return future
        self._awaited.append((monotonic(), future))
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
        return future

    @property
    def is_silent(self) -> bool:
        """Whether it was asked and has not answered once."""
        return self._was_asked and not self._has_answered

    @property
    def stderr(self) -> str:
        """The end of what it has written to standard error since it was taken."""
        return self._stderr.decode("utf-8", "replace")

    def take_stderr(self) -> str:
        """The end of what it has written to standard error since the last time."""
        written, self._stderr = self._stderr, b""
        return written.decode("utf-8", "replace")

    async def unless_broken(self, step: Coroutine[Any, Any, None]) -> None:
        """Does the step. Raises Departure as soon as the driver ends, or breaks the rules of
        drivers, if the step is not done by then: the client will not do what it waits for."""
        doing, breaking = asyncio.create_task(step), asyncio.create_task(self._broken.wait())
        try:
            await asyncio.wait({doing, breaking}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise Departure(self._fault)
            await doing
        finally:
            for task in (doing, breaking):
                task.cancel()
            await asyncio.gather(doing, breaking, return_exceptions=True)

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
        return "" if self._fault == self._ending else self._fault

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
        self._sweep()

    def _watched(self) -> int | None:
        """Sees to it that what the driver has started ends with it: its children may hold its
        output open, and whoever waits for the end of that would wait for them."""
        if not hasattr(os, "pidfd_open"):
            return None  # no Linux: they are killed where the driver has to be
        try:
            pidfd = os.pidfd_open(self._process.pid)
        except ProcessLookupError:  # it has ended already, and was waited for
            self._kill_group()
            return None
        except OSError:
            return None
        asyncio.get_running_loop().add_reader(pidfd, self._sweep)
        return pidfd

    def _sweep(self) -> None:
        if self._pidfd is None:
            return
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._pidfd = None
        self._kill_group()

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _how_it_ended(self) -> str:
        try:
            async with asyncio.timeout(LEAVES_WITHIN_S):
                code = await self._process.wait()
        except TimeoutError:
            return "the driver has closed its output, and runs on"
        how = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
        with suppress(ValueError):  # one without a name
            how = f"by {signal.Signals(-code).name}"
        self._ending = f"the driver has ended, {how}"
        return self._ending

    async def _read_replies(self) -> None:
        output = self._process.stdout
        try:
            while output is not None and (line := await output.readline()):
                self._take(line)
        except ValueError:  # asyncio's word for a line beyond its limit
            self._fail(f"the driver says a line of more than {_LINE_BYTES_MAX} bytes")
        else:
            self._fail(await self._how_it_ended())

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
        self._broken.set()
        while self._awaited:
            _, future = self._awaited.popleft()
            if not future.done():
                future.set_exception(Departure(self._fault))

    async def _read_stderr(self) -> None:
        errors = self._process.stderr
        while errors is not None and (some := await errors.read(_AT_ONCE)):
            self._stderr = (self._stderr + some)[-_STDERR_BYTES_MAX:]
