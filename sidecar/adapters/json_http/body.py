"""The body of a request, within bounds."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from sidecar.adapters.json_http.problem import HttpRefusal
from sidecar.refusal import Reason

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
"""As ASGI has it."""

CALLER_ENDED: Final = "caller_ended"
"""In the state of a request's scope: an asyncio.Event, set when its caller has ended its side of
the connection. Whether that caller is gone or reads on, a network does not tell."""


class Incoming:
    """The messages of one request, and whether a lot may be behind those that were received."""

    def __init__(self, receive: Receive, headers: Mapping[str, str], *, bytes_max: int) -> None:
        """`headers` have names in lower case; more than `bytes_max` bytes are a lot."""
        self._receive = receive
        self.is_rest_large = (
            "transfer-encoding" in headers or int(headers.get("content-length", "0")) > bytes_max
        )
        """Whether hanging up is better than reading what nobody wants to its end."""

    async def __call__(self) -> MutableMapping[str, Any]:
        """The next message."""
        message = await self._receive()
        self.is_rest_large = self.is_rest_large and message.get("more_body", False)
        return message


class Gone(Exception):  # noqa: N818 - says what is the case
    """The caller has hung up: nobody is left to tell."""


class MayBeGone(HttpRefusal):
    """The caller has ended its side: for its answer no more money is spent."""

    def __init__(self) -> None:
        super().__init__(
            HTTPStatus.BAD_REQUEST,
            "a call of a model ends with its caller: keep your side of the connection open",
        )


async def body_of(
    receive: Receive, *, content_length: str, bytes_max: int, timeout_s: float
) -> bytes:
    """All of it; `content_length` is the header's, or empty.

    Raises HttpRefusal for one of more than `bytes_max` bytes, without reading it where its length
    is given, and for one that takes longer than `timeout_s` seconds; Gone where it breaks off.
    """
    if int(content_length or "0") > bytes_max:
        raise _too_large(bytes_max)
    try:
        async with asyncio.timeout(timeout_s):
            return await _received(receive, bytes_max)
    except TimeoutError:
        raise HttpRefusal(
            HTTPStatus.REQUEST_TIMEOUT,
            f"send the body within {timeout_s:g} s",
            headers={"Connection": "close"},
        ) from None


async def _received(receive: Receive, bytes_max: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        body += message.get("body", b"")
        if len(body) > bytes_max:
            raise _too_large(bytes_max)
        if not message.get("more_body", False):
            return bytes(body)


def _too_large(bytes_max: int) -> HttpRefusal:
    return HttpRefusal(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"at most {bytes_max} bytes are taken",
        reason=Reason.MESSAGE_BYTES_MAX,
        metadata={"message_bytes_max": str(bytes_max)},
        headers={"Connection": "close"},
    )
