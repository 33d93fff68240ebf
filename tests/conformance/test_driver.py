"""The process around a client under test: what it does wrong is told."""

import asyncio
import gc
import shlex
import sys
from typing import Any

import pytest

from sidecar.conformance import driver
from sidecar.conformance.driver import Driver
from sidecar.conformance.faults import Departure

pytestmark = pytest.mark.process


async def test_a_line_without_end_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_LINE_BYTES_MAX", 1000)
    script = "import sys; input(); print(5000 * 'x', end='', flush=True); input()"
    started = await Driver.started(_running(script))
    try:
        with pytest.raises(Departure, match="a line of more than 1000 bytes"):
            await started.ask({"do": "start", "options": {}})
    finally:
        await started.kill()


async def test_a_reply_that_nobody_awaits_any_more_prints_nothing() -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
    started = await Driver.started(_running("input(); input()"))
    started.ask({"do": "start", "options": {}})
    await started.kill()
    gc.collect()
    assert complaints == []


async def test_a_reply_that_is_nested_too_deep_is_told_at_once() -> None:
    started = await Driver.started(_running("input(); print(100_000 * '[', flush=True); input()"))
    try:
        with pytest.raises(Departure, match="not a JSON object of one line"):
            await started.ask({"do": "start", "options": {}})
    finally:
        await started.kill()


ANSWERS = "import sys; input(); print(dict(), flush=True); "


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("sys.stdin.read()", ""),
        ("sys.stdin.read(); print('bye')", r"the driver says what nobody asked: b'bye\n'"),
        (
            "sys.stdin.read(); sys.exit(3)",
            "the driver exits with 3 at the end of its input, not with 0",
        ),
    ],
)
async def test_how_a_driver_leaves_is_told(script: str, fault: str) -> None:
    started = await Driver.started(_running(ANSWERS + script))
    reply = await started.ask({"do": "start", "options": {}})

    assert reply.body == {}
    assert await started.leave() == fault


def _running(script: str) -> str:
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(script)}"
