"""What the tests of the runner share: tools that echo, and interpreters that are closed again."""

import asyncio
import functools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from sidecar.codeagent.runner.interpreter import Bounds, Interpreter
from sidecar.codeagent.runner.isolation import WAYS, Isolation
from sidecar.codeagent.runner.step import Step, ToolRefused, ToolSpec

BOUNDS = Bounds(step_timeout_s=60.0, tools_timeout_s=60.0)
"""A busy machine has a minute for what takes milliseconds."""
SHORT = Bounds(step_timeout_s=6.0)
"""For steps that are to be broken off, but not before they have done what comes first."""
SOON_S = 20.0
STRANGER = 61_000
"""A user whom nobody is."""


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


async def program(code: str, *arguments: str, user: int | None = None) -> str:
    """What a program prints that runs in a process of its own; as a user, by the system's Python.

    Skips the test where that Python has no access to this package, or nobody may change users.
    """
    run = functools.partial(_run, user)
    if user is not None and (os.geteuid() != 0 or run("import tests.codeagent.containment")[0]):
        pytest.skip("no other user can run this package here")
    status, printed, complaints = await asyncio.to_thread(run, code, *arguments)
    assert status == 0, complaints
    return printed


def _run(user: int | None, *arguments: str) -> tuple[int, str, str]:
    python, environment = sys.executable, dict(os.environ)
    if user is not None:
        python = shutil.which("python3", path="/usr/bin") or python
        places = (Path(__file__).parents[2], Path(msgspec.__file__).parents[1])
        environment = {"PYTHONPATH": ":".join(map(str, places)), "PATH": "/usr/bin"}
    done = subprocess.run(
        [python, "-B", "-c", *arguments],
        env=environment,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        cwd="/" if user else None,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr
