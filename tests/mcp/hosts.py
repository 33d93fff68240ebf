"""MCP hosts for tests: the SDK's own client, over a pipe and over HTTP, to a real `sidecar mcp`."""

import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from sidecar.testing import SidecarProcess
from sidecar.v1 import session_service_pb2 as admin_pb
from sidecar.v1 import session_service_pb2_grpc

COMMAND = (sys.executable, "-c", "from sidecar.cli import main; main()", "mcp")
ENDS_WITHIN_S = 20.0
PATIENT = "--timeout=20"
"""A decision is waited for however busy the machine is."""


@asynccontextmanager
async def over_stdio(address: str, *options: str) -> AsyncIterator[Client]:
    """A host with a process of its own; when it leaves it closes the process's standard input."""
    parameters = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], f"--address={address}", *options]
    )
    async with Client(parameters) as client:
        await client.list_tools()  # from then on it validates what tools give
        yield client


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A `sidecar mcp --http`."""

    url: str
    token_file: Path
    process: "subprocess.Popen[str]"

    @property
    def headers(self) -> dict[str, str]:
        """What a caller sends."""
        return {"authorization": f"Bearer {self.token_file.read_text().strip()}"}

    @property
    def mode(self) -> int:
        """Who may read the token."""
        return stat.S_IMODE(self.token_file.stat().st_mode)

    @asynccontextmanager
    async def host(self) -> AsyncIterator[Client]:
        """A host with an HTTP session of its own, which it ends when it leaves."""
        async with httpx2.AsyncClient(headers=self.headers, timeout=ENDS_WITHIN_S) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport) as client:
                await client.list_tools()
                yield client

    def post(self, message: Mapping[str, Any], **headers: str) -> httpx2.Response:
        """One message by hand; a header of "" is left out."""
        usual = {"accept": "application/json, text/event-stream", **self.headers}
        sent = {name: value for name, value in (usual | headers).items() if value}
        return httpx2.post(self.url, json=message, headers=sent, timeout=ENDS_WITHIN_S)

    def delete(self, **headers: str) -> int:
        """A session ended by hand; the status."""
        sent = {**self.headers, **headers}
        return httpx2.delete(self.url, headers=sent, timeout=ENDS_WITHIN_S).status_code

    def begin(self) -> str:
        """A session begun by hand; its Mcp-Session-Id."""
        return str(self.post(INITIALIZE).headers["mcp-session-id"])


INITIALIZE: Mapping[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}

INITIALIZED: Mapping[str, Any] = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def calling(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The message that calls a tool."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}


@contextmanager
def over_http(address: str, directory: Path, *options: str) -> Iterator[Endpoint]:
    """The endpoint, ready; ended at the end."""
    token_file = directory / "mcp" / "token"
    command = [*COMMAND, f"--address={address}", "--http=127.0.0.1:0"]
    process = subprocess.Popen(
        [*command, f"--http-token-file={token_file}", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    try:
        assert process.stdout is not None
        word, url, _ = process.stdout.readline().split()
        assert word == "ready"
        yield Endpoint(url=url, token_file=token_file, process=process)
    finally:
        process.terminate()
        process.wait(ENDS_WITHIN_S)
        if process.stdout is not None:
            process.stdout.close()


def control(sidecar: SidecarProcess) -> Any:
    """A stub of SessionService."""
    return session_service_pb2_grpc.SessionServiceStub(grpc.insecure_channel(sidecar.admin))  # type: ignore[no-untyped-call, unused-ignore]


def session_of(sidecar: SidecarProcess, session_id: str) -> admin_pb.Session:
    """The session as an operator sees it."""
    request = admin_pb.GetSessionRequest(session_id=session_id)
    found: admin_pb.GetSessionResponse = control(sidecar).GetSession(request, timeout=ENDS_WITHIN_S)
    return found.session


def wait_closed(sidecar: SidecarProcess, session_id: str) -> None:
    """Wait until the session is closed; raises RpcError when it is not in time."""
    request = admin_pb.WatchSessionRequest(session_id=session_id)
    for response in control(sidecar).WatchSession(request, timeout=ENDS_WITHIN_S):
        if response.session.closed:
            return
    assert session_of(sidecar, session_id).closed


LOOPING: Mapping[str, Any] = {
    "tool_calls": [{"name": "Grep", "arguments": {"q": "a"}, "result": "a.py:1: nothing"}]
}


async def give(client: Client, tool: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """What a tool gives."""
    result = await client.call_tool(tool, dict(arguments or {}))
    assert not result.is_error, result.content
    return result.structured_content


async def explanation(client: Client) -> str:
    """The resource."""
    (contents,) = (await client.read_resource("sidecar://run/explanation")).contents
    return str(getattr(contents, "text", ""))
