"""Calls over HTTP as an ASGI application: who asks, what is asked, and the answer."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from google.protobuf.message import Message

from sidecar.adapters.calls.authorization import Authorization
from sidecar.adapters.json_http.body import (
    CALLER_ENDED,
    Gone,
    Incoming,
    MayBeGone,
    Receive,
    body_of,
)
from sidecar.adapters.json_http.problem import (
    PROBLEM,
    HttpRefusal,
    headers_of,
    problem_of,
    status_of,
)
from sidecar.adapters.json_http.routes import Route, Routes, not_allowed
from sidecar.adapters.json_http.writing import json_of
from sidecar.adapters.local_callers import foreign
from sidecar.addresses import Address
from sidecar.ports import Recorder
from sidecar.refusal import Reason, Refusal

logger = logging.getLogger(__name__)

LARGE_BYTES: Final = 64 * 1024
"""From here on JSON is read and written by a thread, one body at a time: the event loop has agents
to serve."""

BODY_TIMEOUT_S: Final = 10.0
"""For a body to arrive: everybody who asks is near."""

JSON: Final = "application/json"

VERSIONS: Final = ("1.1", "1.0")

_ABSOLUTE: Final = re.compile(rb"\Ahttps?://([^/]*)(.*)", re.IGNORECASE)
"""A target with its host, which has to be taken (RFC 9112, section 3.2.2)."""

Scope: TypeAlias = MutableMapping[str, Any]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Document: TypeAlias = Callable[[], bytes]
"""JSON that is there to be read."""


class Application:
    """What one listener serves. Called by the server for every request, on the event loop."""

    def __init__(
        self,
        routes: Routes,
        documents: Mapping[str, Document],
        *,
        address: Address,
        authorization: Authorization,
        message_bytes_max: int,
        recorder: Recorder,
        body_timeout_s: float = BODY_TIMEOUT_S,
    ) -> None:
        """`documents` are by path, and for whoever is near; `address` is that of the listener."""
        self._routes = routes
        self._documents = {path.encode(): document for path, document in documents.items()}
        self._address = address
        self._authorization = authorization
        self._message_bytes_max = message_bytes_max
        self._recorder = recorder
        self._body_timeout_s = body_timeout_s
        # Threads read no faster together, and each large body takes fifty times its size meanwhile.
        self._reading_large = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = _headers(scope)
        incoming = Incoming(receive, headers, bytes_max=self._message_bytes_max)
        try:
            body = await self._answer(scope, headers, incoming)
            status, kind, more = HTTPStatus.OK, JSON, dict[str, str]()
        except Gone:
            return
        except MayBeGone as refusal:
            # Not counted: most have hung up, and none has asked for what it may not.
            status, kind, more = refusal.status, PROBLEM, headers_of(refusal)
            body = problem_of(refusal)
        except Refusal as refusal:
            status, kind, more = status_of(refusal), PROBLEM, headers_of(refusal)
            body = self._refused(refusal)
        except Exception:
            logger.exception("a call over HTTP failed")
            body = self._refused(Refusal(Reason.INTERNAL, "the sidecar failed"))
            status, kind, more = HTTPStatus.INTERNAL_SERVER_ERROR, PROBLEM, {}
        if incoming.is_rest_large:
            more["Connection"] = "close"
        answered = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            **more,
        }
        await send(
            {
                "type": "http.response.start",
                "status": int(status),
                "headers": [(name.encode(), text.encode()) for name, text in answered.items()],
            }
        )
        await send({"type": "http.response.body", "body": body})

    def _refused(self, refusal: Refusal) -> bytes:
        self._recorder.refused(refusal.reason.value)
        return problem_of(refusal)

    async def _answer(self, scope: Scope, headers: Mapping[str, str], receive: Receive) -> bytes:
        if scope["http_version"] not in VERSIONS:
            raise HttpRefusal(
                HTTPStatus.BAD_REQUEST,
                "speak HTTP/1.1 or HTTP/1.0",
                headers={"Connection": "close"},
            )
        why = foreign(headers, self._address, scheme=scope["scheme"])
        if why:
            raise HttpRefusal(HTTPStatus.FORBIDDEN, why)
        if "transfer-encoding" in headers and "content-length" in headers:
            # What stands between may go by the length, and take the rest for another's request.
            raise HttpRefusal(
                HTTPStatus.BAD_REQUEST,
                "send Content-Length or Transfer-Encoding, not both",
                headers={"Connection": "close"},
            )
        method, path = scope["method"], _path(scope)
        document = self._documents.get(path)
        if document is not None:
            if method not in ("GET", "HEAD"):
                raise not_allowed(["GET"])
            return document()
        self._authorization.require(
            headers.get("authorization", ""), over_socket=bool(self._address.path)
        )
        found = self._routes.find(method, path)
        if found is None:
            raise HttpRefusal(HTTPStatus.NOT_FOUND, "no such path; /openapi.json lists all")
        route, values = found
        body = await self._body(headers, receive) if route.method == "POST" else b""
        request = await self._read(route, values, scope["query_string"], body)
        if not route.ends_with_caller:
            return await _written(await route.call(request))
        ended = scope["state"][CALLER_ENDED]
        return await _written(await _called_while_heard(route, request, receive, ended))

    async def _read(
        self, route: Route, values: Sequence[str], query: bytes, body: bytes
    ) -> Message:
        if len(body) < LARGE_BYTES:
            return route.request_of(values, query, body)
        async with self._reading_large:
            return await asyncio.to_thread(route.request_of, values, query, body)

    async def _body(self, headers: Mapping[str, str], receive: Receive) -> bytes:
        kind, _, parameters = headers.get("content-type", "").partition(";")
        charset = parameters.replace('"', "").strip().lower()
        if kind.strip().lower() != JSON or charset not in ("", "charset=utf-8"):
            raise HttpRefusal(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send `Content-Type: {JSON}`, in UTF-8"
            )
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise HttpRefusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send it without an encoding")
        return await body_of(
            receive,
            content_length=headers.get("content-length", ""),
            bytes_max=self._message_bytes_max,
            timeout_s=self._body_timeout_s,
        )


async def _called_while_heard(
    route: Route, request: Message, receive: Receive, caller_ended: asyncio.Event
) -> Message:
    if caller_ended.is_set():
        raise MayBeGone
    call = asyncio.ensure_future(route.call(request))
    hung_up = asyncio.ensure_future(receive())
    ended = asyncio.ensure_future(caller_ended.wait())
    tasks: tuple[asyncio.Future[Any], ...] = (call, hung_up, ended)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if call.done():
            return call.result()
        raise Gone if hung_up.done() else MayBeGone
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _written(message: Message) -> bytes:
    if message.ByteSize() < LARGE_BYTES:
        return json_of(message)
    return await asyncio.to_thread(json_of, message)


def _headers(scope: Scope) -> dict[str, str]:
    """By name in lower case; of a repeated header the first, and of hosts that of the target."""
    headers: dict[str, str] = {}
    absolute = _ABSOLUTE.fullmatch(scope["raw_path"])
    if absolute is not None:
        headers["host"] = absolute[1].decode("latin-1")
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    return headers


def _path(scope: Scope) -> bytes:
    """As it was sent, without the host that a target may have."""
    path: bytes = scope["raw_path"]
    return _ABSOLUTE.sub(rb"\2", path)
