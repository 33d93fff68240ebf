"""A host that cancels a call: what it waited for ends, and the run goes on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client

from sidecar.mcp.run import Run
from sidecar.testing import SidecarProcess
from tests.mcp.hosts import ENDS_WITHIN_S, PATIENT, give, over_http, over_stdio
from tests.mcp.silent import SilentSidecar


class SilentModel:
    """The API of a model that is asked and never answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.left = asyncio.Event()
        """Whoever asked has hung up."""

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        """Its base URL, for as long as it listens."""
        async with await asyncio.start_server(self._take, "127.0.0.1", 0) as server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            self.asked.set()
            await reader.read()
        finally:
            self.left.set()
            writer.close()


async def test_a_cancelled_report_is_a_turn_of_the_run(tmp_path: Path) -> None:
    silent = SilentSidecar(tmp_path)
    async with silent.listening():
        run = Run(silent.terms)
        reporting = asyncio.create_task(run.report({"approach": "grep"}))
        await asyncio.wait_for(silent.asked.wait(), ENDS_WITHIN_S)
        reporting.cancel()
        await asyncio.wait({reporting})
        status = await run.status({})
        told_of = run.explanation()
        await run.close()

    assert reporting.cancelled()
    assert status["last_sequence"] == 1
    assert "1. grep (iterations 1)" in told_of


@pytest.mark.process
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_cancelled_request_for_an_answer_ends_the_model_call_and_not_the_run(
    tmp_path: Path, transport: str
) -> None:
    model = SilentModel()
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(model.served())
        environment = {"ANTHROPIC_API_KEY": "a-key", "ANTHROPIC_BASE_URL": url}
        sidecar = stack.enter_context(SidecarProcess(tmp_path, environment=environment))
        host = await stack.enter_async_context(_host(transport, sidecar.agent, tmp_path))
        first = await give(host, "report_turn")
        asking = asyncio.create_task(host.call_tool("request_commit", {"question": "What?"}))
        await asyncio.wait_for(model.asked.wait(), ENDS_WITHIN_S)
        asking.cancel()
        await asyncio.wait_for(model.left.wait(), ENDS_WITHIN_S)
        second = await give(host, "report_turn")

    assert [each["sequence"] for each in (first, second)] == [1, 2]
    assert asking.cancelled()


@asynccontextmanager
async def _host(transport: str, address: str, directory: Path) -> AsyncIterator[Client]:
    if transport == "stdio":
        async with over_stdio(address, PATIENT) as host:
            yield host
        return
    with over_http(address, directory, PATIENT) as endpoint:
        async with endpoint.host() as host:
            yield host
