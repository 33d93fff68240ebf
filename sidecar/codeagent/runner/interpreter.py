"""A run's interpreter: started when first needed, killed when a step takes too long."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from sidecar.codeagent.runner.alive import START_TIMEOUT_S, Alive, channel, started
from sidecar.codeagent.runner.files import opened
from sidecar.codeagent.runner.frames import (
    TEXT_CHARS_MAX,
    Answered,
    Called,
    ChannelBrokenError,
    Done,
    Hello,
    arguments_of,
    hear,
    opening,
    say,
)
from sidecar.codeagent.runner.isolation import LIMITS, WAYS, Inside, Isolation, Launch
from sidecar.codeagent.runner.step import Ended, Step, Toolbox, ToolRefused, ToolUse

STEP_TIMEOUT_S: Final = 30.0
"""As founded. Tools have bounds of their own, and their time does not count."""
TOOLS_TIMEOUT_S: Final = 240.0
"""Of all tools of a step together: a model call may take 90 s, a page 20 s."""
CALLS_MAX: Final = 32
"""Tool calls of a step: more is a loop over what nobody will read."""
RESULT_CHARS_MAX: Final = 4000
"""Of a tool's result that is kept for the report; the code has all of it."""


class IsolationMissingError(Exception):
    """No way to contain an interpreter works here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a step may take."""

    step_timeout_s: float = STEP_TIMEOUT_S
    tools_timeout_s: float = TOOLS_TIMEOUT_S
    calls_max: int = CALLS_MAX
    limits: Mapping[str, int] = field(default_factory=lambda: LIMITS)


@dataclass(kw_only=True)
class _Progress:
    """What a step has come to so far."""

    left_s: float
    tools_left_s: float
    answer: str | None = None
    uses: list[ToolUse] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def own_time(self) -> AsyncIterator[None]:
        """Counts against the step. Raises TimeoutError when that is used up."""
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(self.left_s):
                yield
        finally:
            self.left_s -= time.monotonic() - began_s
        if self.left_s <= 0:
            raise TimeoutError


class Interpreter:
    """One run's interpreter. For one event loop, one step at a time."""

    def __init__(
        self,
        *,
        toolbox: Toolbox,
        files: Mapping[str, Path] = MappingProxyType({}),
        ways: Sequence[Isolation] = WAYS,
        bounds: Bounds | None = None,
    ) -> None:
        """`files`: what steps may read, by the name under which they find it."""
        self._toolbox = toolbox
        self._files = files
        self._ways = tuple(ways)
        self._way = ""
        self._bounds = bounds or Bounds()
        self._alive: Alive | None = None
        self._names: tuple[str, ...] = ()
        self._number = 0

    @property
    def way(self) -> str:
        """How it is contained, by name; empty before its first start."""
        return self._way

    async def start(self) -> None:
        """Start it, if it is not running. Raises IsolationMissingError."""
        faults = []
        for way in self._ways if self._alive is None else ():
            fault = await self._try(way)
            if not fault:
                self._ways, self._way = (way,), way.name
                return
            faults.append(f"{way.name}: {fault}")
        if self._alive is None:
            raise IsolationMissingError("; ".join(faults))

    async def step(self, code: str) -> Step:
        """Run a block of code. Raises IsolationMissingError if it cannot be started."""
        await self.start()
        self._running.listen()
        self._number += 1
        began_s = time.monotonic()
        progress = _Progress(
            left_s=self._bounds.step_timeout_s, tools_left_s=self._bounds.tools_timeout_s
        )
        try:
            done = await self._until_done(self._running, code, progress)
        except (ChannelBrokenError, TimeoutError) as error:
            ended = Ended.TIMED_OUT if isinstance(error, TimeoutError) else Ended.DIED
            return await self._broken_off(ended, code, progress, began_s)
        except asyncio.CancelledError:
            await self.close()
            raise
        self._names = tuple(name[:60] for name in done.names[:40])
        return self._made(
            Ended.DONE if done.error is None else Ended.RAISED,
            code,
            progress,
            began_s,
            error=done.error,
        )

    async def close(self) -> None:
        """End it. More than once does nothing more."""
        alive, self._alive = self._alive, None
        if alive is not None:
            await alive.end()
            alive.forget()

    async def __aenter__(self) -> "Interpreter":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def _running(self) -> Alive:
        if self._alive is None:
            raise ChannelBrokenError("not started")
        return self._alive

    async def _try(self, way: Isolation) -> str:
        """Start it that way; why that did not do, if it did not."""
        with opened(self._files) as files, channel() as (mine, theirs):
            inside = Inside(channel=theirs.fileno(), files=files.fds, limits=self._bounds.limits)
            launch = way.launch(inside)
            alive = await started(launch, mine, (theirs.fileno(), *files.fds.values()))
        if isinstance(alive, str):
            return alive
        fault = "it was not started"
        try:
            fault = await self._greet(alive, way, launch)
        finally:
            if fault:
                await alive.end()
                said = alive.complaints.take().strip().splitlines()
                alive.forget()
        if fault:
            return said[-1] if said else fault
        self._alive = alive
        return ""

    async def _greet(self, alive: Alive, way: Isolation, launch: Launch) -> str:
        given = {name: f"{launch.files}/{name}" for name in self._files}
        values = {"FILES": given, "ATTACHMENT_PATH": next(iter(given.values()), "")}
        tools = [
            {
                "name": spec.name,
                "signature": spec.signature,
                "summary": spec.summary,
                "file": spec.file,
            }
            for spec in self._toolbox.specs
        ]
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                hello = await hear(alive.reader)
                if not isinstance(hello, Hello):
                    return "it did not say hello"
                if fault := way.fault(hello, alive.user):
                    return fault
                await say(alive.writer, opening(launch.directory, tools, values))
        except ChannelBrokenError as error:
            return str(error)
        except TimeoutError:
            return f"it was not up within {START_TIMEOUT_S:g} s"
        return ""

    async def _until_done(self, alive: Alive, code: str, progress: _Progress) -> Done:
        frame = {"type": "step", "number": self._number, "code": code}
        async with progress.own_time():
            await say(alive.writer, frame)
        while True:
            async with progress.own_time():
                # Frames that are here already are no occasion for anything else to run.
                await asyncio.sleep(0)
                heard = await hear(alive.reader)
            match heard:
                case Called():
                    frame = await self._served(heard, progress)
                    async with progress.own_time():
                        await say(alive.writer, frame)
                case Answered():
                    progress.answer = heard.text[:TEXT_CHARS_MAX].strip() or progress.answer
                case Done() if heard.number == self._number:
                    return heard
                case Done() | Hello():
                    pass  # The code can send what it likes; it ends no step but its own.

    async def _served(self, called: Called, progress: _Progress) -> dict[str, Any]:
        """The answer to a call of a tool."""
        frame: dict[str, Any] = {"type": "result", "id": called.id, "value": None, "error": None}
        if len(progress.uses) >= self._bounds.calls_max:
            # Not kept: a step that goes on calling has only its own time.
            return {**frame, "error": f"no more than {self._bounds.calls_max} calls in a step"}
        try:
            arguments = arguments_of(called)
        except ValueError as error:
            return {**frame, "error": str(error)}
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(progress.tools_left_s):
                frame["value"] = await self._toolbox.call(called.name, arguments, called.content)
        except ToolRefused as error:
            frame["error"] = str(error)
        except TimeoutError:
            frame["error"] = f"the tools of a step have {self._bounds.tools_timeout_s:g} s together"
        spent_s = time.monotonic() - began_s
        progress.tools_left_s = max(0.0, progress.tools_left_s - spent_s)
        progress.uses.append(
            ToolUse(
                name=called.name[:128],
                arguments=arguments,
                result=_shown(frame),
                failed=frame["error"] is not None,
                duration_s=spent_s,
            )
        )
        return frame

    async def _broken_off(
        self, ended: Ended, code: str, progress: _Progress, began_s: float
    ) -> Step:
        alive = self._running
        await alive.end()
        lost, self._names = self._names, ()
        step = self._made(ended, code, progress, began_s, lost=lost)
        alive.forget()
        self._alive = None
        return step

    def _made(
        self,
        ended: Ended,
        code: str,
        progress: _Progress,
        began_s: float,
        *,
        error: str | None = None,
        lost: tuple[str, ...] = (),
    ) -> Step:
        return Step(
            number=self._number,
            code=code,
            ended=ended,
            output=self._running.output.take(),
            complaints=self._running.complaints.take(),
            error=error and error[-TEXT_CHARS_MAX:],
            answer=progress.answer,
            uses=tuple(progress.uses),
            lost=lost,
            timeout_s=self._bounds.step_timeout_s,
            duration_s=time.monotonic() - began_s,
        )


def _shown(frame: Mapping[str, Any]) -> str:
    if frame["error"] is not None:
        return str(frame["error"])
    value = frame["value"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:RESULT_CHARS_MAX]
