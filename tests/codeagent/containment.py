"""What the tests of the runner share: tools that echo, and interpreters that are closed again."""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from sidecar.codeagent.runner.interpreter import Bounds, Interpreter
from sidecar.codeagent.runner.isolation import WAYS, Isolation
from sidecar.codeagent.runner.step import Step, ToolRefused, ToolSpec

BOUNDS = Bounds(step_timeout_s=60.0, tools_timeout_s=60.0)
"""A busy machine has a minute for what takes milliseconds."""
SHORT = Bounds(step_timeout_s=2.0)
"""For steps that are to be broken off."""
SOON_S = 20.0


class Echo:
    """A toolbox whose tools say what they were given."""

    specs = (
        ToolSpec(name="echo", signature="text, times=1", summary="The text, so many times."),
        ToolSpec(name="length", signature="path", summary="Bytes of a file.", file="path"),
        ToolSpec(name="half", signature="", summary="Half a character, as JSON files may have."),
        ToolSpec(name="refuse", signature="", summary="Refuses."),
        ToolSpec(name="wait", signature="", summary="Never ends."),
    )

    async def call(self, name: str, arguments: Mapping[str, Any], content: bytes | None) -> Any:
        """As the names say."""
        match name:
            case "echo":
                return str(arguments["text"]) * int(arguments["times"])
            case "length":
                return len(content or b"")
            case "half":
                return "\ud800"
            case "wait":
                await asyncio.Event().wait()
        raise ToolRefused(f"{name}: not today")


def made(
    *ways: Isolation, bounds: Bounds = BOUNDS, files: Mapping[str, Path] | None = None
) -> Interpreter:
    """An interpreter with those tools."""
    return Interpreter(toolbox=Echo(), ways=ways or WAYS, bounds=bounds, files=files or {})


async def after(*codes: str, way: Isolation, bounds: Bounds = BOUNDS) -> Step:
    """The last of these steps."""
    async with made(way, bounds=bounds) as interpreter:
        steps = [await interpreter.step(code) for code in codes]
    return steps[-1]


def soon(holds: Callable[[], bool]) -> bool:
    """Whether it comes to hold within seconds."""
    until_s = time.monotonic() + SOON_S
    while not holds():
        if time.monotonic() > until_s:
            return False
    return True


def processes_with(word: str) -> list[psutil.Process]:
    """Processes whose command line has the word, whoever started them."""
    found = []
    for process in psutil.process_iter():
        try:
            if word in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found
