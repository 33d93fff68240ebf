"""A listener for a handful of pages, in threads of its own.

Threads, because `/livez` has to answer while the event loop is blocked, which no server on that
loop can; the standard library's `http.server`, because a handful of pages needs no more.
"""

import errno
import os
import selectors
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sidecar.adapters.http.exchange import Exchange
from sidecar.adapters.http.message import Page
from sidecar.adapters.sockets import listening_socket
from sidecar.addresses import Address

CONNECTIONS_MAX: Final = 32
"""At a time; a scraper and a supervisor need two. For one more, whoever has kept us waiting longest
gives way; where all are being answered, it waits in the kernel's queue."""

REQUEST_TIMEOUT_S: Final = 2.0
"""For reading a request, and again for writing the answer: everybody who asks is near."""

CLOSE_TIMEOUT_S: Final = 2.0
BUSY_S: Final = 0.05
"""Between two looks for a free place, or after an accept that failed."""


class HttpListener:
    """Serves pages by their exact path, to GET and HEAD only."""

    def __init__(
        self,
        address: Address,
        pages: Mapping[str, Page],
        *,
        connections_max: int = CONNECTIONS_MAX,
        request_timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> None:
        """Nothing is bound before `start`."""
        self._address = address
        self._pages = pages
        self._request_timeout_s = request_timeout_s
        self._places = threading.BoundedSemaphore(connections_max)
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._awaited: dict[socket.socket, None] = {}
        """Those open that only their peer holds up, the longest first."""
        self._closed = threading.Event()
        self._socket: socket.socket | None = None
        self._acceptor: threading.Thread | None = None
        self._spare: int | None = None
        """A descriptor to accept with where no other is left: a supervisor that gets no answer
        would end a process that serves its agents."""
        self._wakers: tuple[socket.socket, ...] = ()
        """Two ends; a byte sent into the first ends the acceptor's wait."""

    @property
    def address(self) -> Address:
        """Where it listens: with port 0 asked for, the port that was found."""
        return self._address

    def start(self) -> None:
        """Bind and serve. Raises OSError naming an address that cannot be had."""
        path = self._address.path
        self._socket = listening_socket(self._address)
        if not path:
            self._address = replace(self._address, port=self._socket.getsockname()[1])
        self._socket.settimeout(0)  # a connection may be gone again before it is accepted
        self._wakers = socket.socketpair()
        self._take_spare()
        self._acceptor = threading.Thread(
            target=self._accept, args=(self._socket, self._wakers[1]), name="http", daemon=True
        )
        self._acceptor.start()

    def close(self) -> None:
        """Stop, cutting what is open; within CLOSE_TIMEOUT_S. Once closed it stays closed."""
        if self._closed.is_set():
            return
        self._closed.set()
        if self._socket is None or self._acceptor is None:
            return
        deadline_s = time.monotonic() + CLOSE_TIMEOUT_S
        self._wakers[0].send(b"\0")
        self._acceptor.join(CLOSE_TIMEOUT_S)
        with self._lock:
            still_open = list(self._open.items())
        for connection, _ in still_open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for _, thread in still_open:
            thread.join(max(0.0, deadline_s - time.monotonic()))
        if self._address.path:
            Path(self._address.path).unlink(missing_ok=True)
        self._let_spare_go()
        for each in (self._socket, *self._wakers):
            each.close()

    def _accept(self, listening: socket.socket, wake: socket.socket) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(listening, selectors.EVENT_READ)
            selector.register(wake, selectors.EVENT_READ)
            while not self._closed.is_set():
                selector.select()
                if self._closed.is_set() or not self._has_place():
                    continue
                try:
                    connection, peer = self._accepted(listening)
                except OSError:  # the peer is gone again, or somebody else had the spare descriptor
                    self._places.release()
                    self._closed.wait(BUSY_S)
                    continue
                self._serve(connection, peer)

    def _accepted(self, listening: socket.socket) -> tuple[socket.socket, Any]:
        try:
            return listening.accept()
        except OSError as fault:
            if fault.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            self._let_spare_go()
            return listening.accept()

    def _take_spare(self) -> None:
        with self._lock, suppress(OSError):
            if self._spare is None and not self._closed.is_set():
                self._spare = os.dup(self._wakers[0].fileno())

    def _let_spare_go(self) -> None:
        with self._lock:
            if self._spare is not None:
                os.close(self._spare)
                self._spare = None

    def _has_place(self) -> bool:
        if self._places.acquire(blocking=False):
            return True
        self._hang_up_on_the_longest()
        return self._places.acquire(timeout=BUSY_S)

    def _hang_up_on_the_longest(self) -> None:
        with self._lock:
            for connection in self._awaited:
                del self._awaited[connection]
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                return

    @contextmanager
    def _await(self, connection: socket.socket) -> Iterator[None]:
        with self._lock:
            self._awaited[connection] = None
        try:
            yield
        finally:
            with self._lock:
                self._awaited.pop(connection, None)

    def _serve(self, connection: socket.socket, peer: Any) -> None:
        thread = threading.Thread(
            target=self._exchange, args=(connection, peer), name="http request", daemon=True
        )
        with self._lock:
            self._open[connection] = thread
        try:
            thread.start()
        except RuntimeError:  # there are no threads to be had
            self._release(connection)

    def _exchange(self, connection: socket.socket, peer: Any) -> None:
        try:
            with suppress(OSError):  # the peer is gone: nobody is left to tell
                Exchange(
                    connection,
                    peer,
                    pages=self._pages,
                    awaited=self._await,
                    timeout_s=self._request_timeout_s,
                )
        finally:
            self._release(connection)

    def _release(self, connection: socket.socket) -> None:
        with self._lock:
            del self._open[connection]
        connection.close()
        self._take_spare()  # at once, or a listener for agents accepts one more with it
        self._places.release()
