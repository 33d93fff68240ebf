"""Streamable HTTP: many MCP sessions in one process, each with a run and a server of its own.

The SDK's own table of sessions serves all of them by one server, which would have to find the run
of each call; here a session is a task that holds its run, and ends with it.
"""

import logging
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.shared.dispatcher import coerce_request_id
from mcp_types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    RequestId,
    jsonrpc_message_adapter,
)
from starlette.responses import PlainTextResponse, Response
from starlette.types import Message, Receive, Scope, Send

from sidecar.adapters.json_http.body import Gone, body_of
from sidecar.adapters.json_http.problem import HttpRefusal
from sidecar.mcp.requests import has_odd_id, no_request, refusal_of
from sidecar.mcp.run import Run
from sidecar.mcp.server import server_of
from sidecar.mcp.surrogates import without_halves

logger = logging.getLogger(__name__)

SESSIONS_MAX: Final = 64
"""At a time: each holds a stream to the sidecar. A machine has a handful of agents."""

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
"""As much as the sidecar takes of a turn."""

BODY_TIMEOUT_S: Final = 10.0
"""For a message to arrive: hosts are on this machine."""

CLOSES_WITHIN_S: Final = 2.0


class HttpSessions:
    """An ASGI application; serves while `open` is entered."""

    def __init__(self, new_run: Callable[[], Run], *, sessions_max: int, idle_s: float) -> None:
        """A session is closed after `idle_s` seconds without a request, unless its host holds a
        stream open."""
        self._new_run = new_run
        self._sessions_max = sessions_max
        self._idle_s = idle_s
        self._transports: dict[str, StreamableHTTPServerTransport] = {}
        self._in_flight: set[tuple[str, RequestId | None]] = set()
        """Requests that are being answered, with their sessions."""
        self._tasks: TaskGroup | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Serve sessions; at the end all are closed."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield
            finally:
                await self.close()
                self._tasks = None

    async def close(self) -> None:
        """End every session, and with it the streams that its host waits on."""
        for transport in list(self._transports.values()):
            await transport.terminate()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = dict(scope["headers"])
        try:
            body = await body_of(
                receive,
                content_length=headers.get(b"content-length", b"").decode("ascii"),
                bytes_max=BODY_BYTES_MAX,
                timeout_s=BODY_TIMEOUT_S,
            )
        except Gone:
            return
        except HttpRefusal as refusal:
            await _refuse(refusal, scope, receive, send)
            return
        await self._route(without_halves(body), scope, receive, send)

    async def _route(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        message = _message(body)
        wrong: JSONRPCError | None = None
        if message is None and scope["method"] == "POST":
            wrong = refusal_of(body)
        elif message is not None and has_odd_id(message, body):
            wrong = no_request(asked=None)
        if wrong is not None:
            answer = wrong.model_dump_json(by_alias=True, exclude_unset=True)
            kind = "application/json"
            await Response(answer, HTTPStatus.BAD_REQUEST, media_type=kind)(scope, receive, send)
            return
        giving = _giving(body, receive)
        named = next((v for k, v in scope["headers"] if k == MCP_SESSION_ID_HEADER.encode()), None)
        if named is None:
            await self._begin(scope, giving, send)
            return
        session_id = named.decode("latin-1")
        transport = self._transports.get(session_id)
        if transport is None:
            # The SDKs begin a new session at this status, as the specification has it.
            refusal = HttpRefusal(HTTPStatus.NOT_FOUND, "no such session")
            await _refuse(refusal, scope, receive, send)
            return
        asked = (session_id, _request_id(message))
        if asked in self._in_flight:
            # The SDK would give the answer to one of the two, and leave the other waiting for good.
            refusal = HttpRefusal(HTTPStatus.CONFLICT, "a request with this id is in flight")
            await _refuse(refusal, scope, receive, send)
            return
        if asked[1] is not None:
            self._in_flight.add(asked)
        try:
            await transport.handle_request(scope, giving, send)
        finally:
            self._in_flight.discard(asked)
        if transport.is_terminated:
            self._forget(transport)

    async def _begin(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Make a session, which stays if its first request was an `initialize` that went well."""
        if self._tasks is None or len(self._transports) >= self._sessions_max:
            text = f"{self._sessions_max} sessions are open; try again when one has ended"
            refusal = HttpRefusal(HTTPStatus.SERVICE_UNAVAILABLE, text)
            await _refuse(refusal, scope, receive, send)
            return
        transport = StreamableHTTPServerTransport(
            uuid.uuid4().hex, is_json_response_enabled=True, idle_timeout=self._idle_s
        )
        self._transports[str(transport.mcp_session_id)] = transport
        status = HTTPStatus.INTERNAL_SERVER_ERROR.value

        async def watched(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._tasks.start(self._serve, transport)
            await transport.handle_request(scope, receive, watched)
        finally:
            if status >= HTTPStatus.BAD_REQUEST:
                with anyio.CancelScope(shield=True):
                    await transport.terminate()
                self._forget(transport)

    async def _serve(
        self,
        transport: StreamableHTTPServerTransport,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """One session from its first request to its end."""
        run = self._new_run()
        server = server_of(run)
        try:
            async with transport.connect() as (incoming, outgoing):
                task_status.started()
                with transport.idle_scope or anyio.CancelScope():
                    await server.run(incoming, outgoing, server.create_initialization_options())
        except Exception:  # one session's fault is not the others'
            logger.warning("a session broke off", exc_info=True)
        finally:
            self._forget(transport)
            with anyio.move_on_after(CLOSES_WITHIN_S, shield=True):
                await transport.terminate()
                await run.close()

    def _forget(self, transport: StreamableHTTPServerTransport) -> None:
        self._transports.pop(str(transport.mcp_session_id), None)


def _message(body: bytes) -> JSONRPCMessage | None:
    try:
        return jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValueError:
        return None  # the SDK says what is wrong with it


def _request_id(message: JSONRPCMessage | None) -> RequestId | None:
    """The id of the request, as the SDK tells requests apart; None: it is none."""
    return coerce_request_id(message.id) if isinstance(message, JSONRPCRequest) else None


def _giving(body: bytes, receive: Receive) -> Receive:
    """Gives the body as one message, then whatever comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message


async def _refuse(refusal: HttpRefusal, scope: Scope, receive: Receive, send: Send) -> None:
    answer = PlainTextResponse(f"{refusal.message}\n", refusal.status, refusal.headers)
    await answer(scope, receive, send)
