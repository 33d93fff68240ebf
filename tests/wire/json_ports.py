"""The services of `served`, as JSON over HTTP on ports and sockets of their own."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from sidecar.adapters.calls.authorization import Authorization
from sidecar.adapters.json_http import (
    Application,
    HttpSettings,
    JsonListener,
    Routes,
    agent_document,
    agent_routes,
    control_document,
    control_routes,
)
from sidecar.addresses import Address
from tests.wire.served import ANSWER_WITHIN_S, Served

LOOPBACK = Address(host="127.0.0.1", port=0)
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """One connection, kept alive."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def to(cls, address: Address) -> "Connection":
        if address.path:
            return cls(*await asyncio.open_unix_connection(address.path))
        return cls(*await asyncio.open_connection(address.host, address.port))

    async def send(self, raw: bytes) -> None:
        self.writer.write(raw)
        await self.writer.drain()

    async def answer(self) -> Answer:
        async with asyncio.timeout(ANSWER_WITHIN_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            line, *lines = head.strip().split("\r\n")
            headers = {
                name.lower(): text.strip()
                for name, _, text in (one.partition(":") for one in lines)
            }
            body = await self.reader.readexactly(int(headers["content-length"]))
        return Answer(status=int(line.split()[1]), headers=headers, body=body)

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        sent = {"Host": "localhost", **(JSON if body is not None else {}), **(headers or {})}
        if body is not None:
            sent.setdefault("Content-Length", str(len(body)))
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in sent.items())]
        await self.send("\r\n".join([*lines, "", ""]).encode() + (body or b""))
        return await self.answer()

    async def post(self, path: str, message: Any, **headers: str) -> Answer:
        return await self.ask("POST", path, json.dumps(message).encode(), headers)

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.ask("GET", path, headers=headers)

    async def ended(self) -> bool:
        """Whether the server hangs up; reads to the end."""
        async with asyncio.timeout(ANSWER_WITHIN_S):
            return await self.reader.read() == b""

    async def close(self) -> None:
        self.writer.close()
        # A server that hung up first may have reset the connection.
        await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Connections to what is served, and where that is."""

    agent: Connection
    admin: Connection
    agent_listener: JsonListener
    agent_address: Address
    admin_address: Address
    socket: Address


@asynccontextmanager
async def ports(
    server: Served, *, connections_max: int = 16, body_timeout_s: float = 10.0
) -> AsyncIterator[Ports]:
    """Serve until the block ends: agents over TCP and a Unix socket, operators over TCP."""
    world = server.world
    for_agents = agent_routes(server.calls.turns, server.calls.answers)
    for_operators = control_routes(server.calls.control)
    socket = Address(path=f"{world.directory}/agent-http.sock")

    def application(routes: Routes, address: Address) -> Application:
        is_admin = routes is for_operators
        document = control_document if is_admin else agent_document
        return Application(
            routes,
            {"/openapi.json": document, **({"/statusz": lambda: b"{}\n"} if is_admin else {})},
            address=address,
            authorization=Authorization(token=world.token),
            message_bytes_max=world.message_bounds.message_bytes_max,
            recorder=world.recorder,
            body_timeout_s=body_timeout_s,
        )

    async with AsyncExitStack() as stack:
        listeners = []
        for address, routes in (
            (LOOPBACK, for_agents),
            (socket, for_agents),
            (LOOPBACK, for_operators),
        ):
            settings = HttpSettings(address=address, connections_max=connections_max)
            listener = JsonListener(settings, recorder=world.recorder)
            await listener.start(application(routes, address))
            stack.push_async_callback(listener.stop, 0)
            listeners.append(listener)
        connections = [await Connection.to(listeners[at].address) for at in (0, 2)]
        for connection in connections:
            stack.push_async_callback(connection.close)
        yield Ports(
            agent=connections[0],
            admin=connections[1],
            agent_listener=listeners[0],
            agent_address=listeners[0].address,
            admin_address=listeners[2].address,
            socket=socket,
        )
