"""Who may speak to the HTTP endpoint: a caller on this machine that knows the token, and no page.

A page on the web can make a browser send requests to a loopback port, and by DNS rebinding read
the answers as well; `Host` and `Origin` give it away. Every other process of this machine can
connect as well, and is kept out by the token. All of it is looked at before a body is read.
"""

import hmac
import json
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final

from mcp_types import UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.types import ASGIApp, Receive, Scope, Send

from sidecar.addresses import Address

PATH: Final = "/mcp"
VERSION_HEADER: Final = "mcp-protocol-version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """Why a request goes no further."""

    status: HTTPStatus
    text: str
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()


class Guard:
    """An ASGI application in front of another, which it lets requests through to."""

    def __init__(self, application: ASGIApp, *, address: Address, token: str) -> None:
        """`address` is where it is listened, with the port that it came to be."""
        self._application = application
        names = ("127.0.0.1", "localhost", "::1", address.host)
        self._hosts = frozenset(replace(address, host=name).target.lower() for name in names)
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or have it answered."""
        if scope["type"] != "http":
            return
        denial = self._denial(scope)
        if denial is None:
            await self._application(scope, receive, send)
        else:
            await _deny(denial, send)

    def _denial(self, scope: Scope) -> Denial | None:
        headers = _headers(scope)
        if {host.lower() for host in headers.get("host", [])} - self._hosts or not headers["host"]:
            return Denial(
                status=HTTPStatus.FORBIDDEN, text=f"Host must be one of {sorted(self._hosts)}"
            )
        if {origin.lower() for origin in headers.get("origin", [])} - self._origins:
            return Denial(status=HTTPStatus.FORBIDDEN, text="Origin must be this server, or absent")
        if scope["path"] != PATH:
            return Denial(status=HTTPStatus.NOT_FOUND, text=f"not found; there is {PATH}")
        if not self._knows_token(headers.get("authorization", [])):
            return Denial(
                status=HTTPStatus.UNAUTHORIZED,
                text="send the token: Authorization: Bearer TOKEN",
                headers=(("WWW-Authenticate", "Bearer"),),
            )
        return _of_version(headers.get(VERSION_HEADER, []))

    @property
    def _origins(self) -> frozenset[str]:
        return frozenset(f"http://{host}" for host in self._hosts)

    def _knows_token(self, given: list[str]) -> bool:
        scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
        same = hmac.compare_digest(token.strip().encode("latin-1"), self._token)
        return same and scheme.lower() == "bearer"


def _of_version(given: list[str]) -> Denial | None:
    """The protocol of 2026-07-28 has no sessions, and a run has to be told from another: its
    clients are sent to the versions before it, which they take."""
    if not set(given) - set(HANDSHAKE_PROTOCOL_VERSIONS):
        return None
    error: dict[str, Any] = {
        "code": UNSUPPORTED_PROTOCOL_VERSION,
        "message": "a run is bound to an HTTP session: speak a version with `initialize`",
        "data": {"supported": list(HANDSHAKE_PROTOCOL_VERSIONS), "requested": given[0][:64]},
    }
    return Denial(
        status=HTTPStatus.BAD_REQUEST,
        text=json.dumps({"jsonrpc": "2.0", "id": None, "error": error}),
        content_type="application/json",
    )


def _headers(scope: Scope) -> dict[str, list[str]]:
    """By name in lower case, each with all its values."""
    headers: dict[str, list[str]] = {"host": []}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


async def _deny(denial: Denial, send: Send) -> None:
    body = f"{denial.text}\n".encode()
    headers = (
        ("content-type", denial.content_type),
        ("content-length", str(len(body))),
        ("cache-control", "no-store"),
        # The rest of the request is not read.
        ("connection", "close"),
        *denial.headers,
    )
    encoded = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": denial.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
