"""What a host says over a pipe, and is answered; it ends when what was asked for is answered.

What is no message is refused: the SDK drops it, and its host would wait for an answer.

At the end of the input the SDK cancels every call under way. A host that writes its last turns and
closes the pipe would lose them: so the end is held back until they are reported and answered.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Final, Self

import anyio
import mcp_types as types
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage

from sidecar.mcp.requests import has_odd_id, refusal_of

ENDS_WITHIN_S: Final = 60.0
"""After the end of the input: the longest --timeout. Turns that no sidecar answers take less, since
after three of them the client waits for none."""

UNAWAITED: Final = "request_commit"
"""A tool whose call ends with the input: it takes minutes and costs money, and nobody is there."""


class Dialogue:
    """Both directions of a pipe; itself it is the one in which answers are sent."""

    def __init__(
        self,
        incoming: ReadStream[SessionMessage | Exception],
        outgoing: WriteStream[SessionMessage],
        *,
        latest_line: Callable[[], str],
    ) -> None:
        """`latest_line` is the one that was read last: the SDK does not say what it could not
        read, and hands over one thing after the other."""
        self._incoming = incoming
        self._latest_line = latest_line
        self._outgoing = outgoing
        self._open: set[types.RequestId] = set()
        """Requests that were read and are not answered."""
        self._answered = asyncio.Event()

    async def messages(self) -> AsyncIterator[SessionMessage]:
        """What the host says, until its end and the answers to it, or until the time is over."""
        async with self._incoming:
            async for item in self._incoming:
                if isinstance(item, SessionMessage) and not has_odd_id(
                    item.message, self._latest_line()
                ):
                    self._read(item.message)
                    yield item
                elif refusal := refusal_of(self._latest_line()):
                    await self.send(SessionMessage(refusal))
            with anyio.move_on_after(ENDS_WITHIN_S):
                while self._open:
                    self._answered.clear()
                    await self._answered.wait()

    async def send(self, item: SessionMessage, /) -> None:
        """Says it to the host."""
        await self._outgoing.send(item)
        match item.message:
            case types.JSONRPCResponse(id=answered) | types.JSONRPCError(id=answered):
                self._close(answered)
            case _:
                pass

    async def aclose(self) -> None:
        """Nothing more is said."""
        await self._outgoing.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _read(self, message: types.JSONRPCMessage) -> None:
        match message:
            case types.JSONRPCRequest(method="tools/call", params={"name": name}) if (
                name == UNAWAITED
            ):
                pass
            case types.JSONRPCRequest(id=asked):
                self._open.add(asked)
            case types.JSONRPCNotification(
                method="notifications/cancelled", params={"requestId": int() | str() as cancelled}
            ):
                self._close(cancelled)  # which is not answered
            case _:
                pass

    def _close(self, request_id: types.RequestId | None) -> None:
        if request_id is not None:
            self._open.discard(request_id)
        self._answered.set()
