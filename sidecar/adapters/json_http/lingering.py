"""Hanging up on a caller that is still sending, so that it gets to read why."""

import asyncio
from typing import Any, Final

LINGER_S: Final = 2.0
"""For a caller to notice its answer: everybody who asks is near."""


class LingeringTransport:
    """A transport that, told to close, ends its own side and goes on reading for a while.

    A socket that is closed with something unread is reset, and the reset makes the caller forget
    the answer that was on its way (RFC 9112, section 9.6). Over TLS one side cannot end alone, and
    it is closed at once: a caller that reads its answer to the end would wait all that time.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._end: asyncio.TimerHandle | None = None
        self._peer_has_ended = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    @property
    def is_lingering(self) -> bool:
        """Whether what still comes is of no interest."""
        return self._end is not None

    def is_closing(self) -> bool:
        """Whether nothing can be said any more."""
        return self.is_lingering or self._transport.is_closing()

    def close(self) -> None:
        """End what is said, when it is sent, and hang up when the peer does or the time is over."""
        if self.is_closing():
            return
        if self._peer_has_ended or not self._transport.can_write_eof():
            self._transport.close()
            return
        try:
            self._transport.write_eof()
        except OSError:  # the peer is gone, and nobody has read that yet
            self._transport.close()
            return
        self._transport.resume_reading()
        loop = asyncio.get_running_loop()
        self._end = loop.call_later(LINGER_S, self._transport.close)

    def peer_ended(self) -> None:
        """The peer sends nothing more: there is nothing to go on reading for."""
        self._peer_has_ended = True

    def lost(self) -> None:
        """The connection is gone."""
        if self._end is not None:
            self._end.cancel()
