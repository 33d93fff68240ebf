"""One connection: a request read within its bounds, a page's answer written."""

import io
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

from sidecar.adapters.http.message import Page, Request, Response

HEAD_BYTES_MAX: Final = 16 * 1024
"""Request line and headers. Prometheus sends about 400 bytes."""

LEFTOVER_BYTES_MAX: Final = 64 * 1024
"""Of a body that nobody asked for; what is left unread makes the kernel reset the connection, and
the peer may lose the answer."""

METHODS: Final = ("GET", "HEAD")


class Exchange(BaseHTTPRequestHandler):
    """Reads one request from a connection and answers it; HTTP/1.0, so the connection ends."""

    error_message_format = "%(code)d %(message)s\n"
    error_content_type = "text/plain; charset=utf-8"

    def __init__(
        self,
        connection: socket.socket,
        peer: Any,
        *,
        pages: Mapping[str, Page],
        awaited: Callable[[socket.socket], AbstractContextManager[None]],
        timeout_s: float,
    ) -> None:
        """Handle the connection to its end; raises OSError where the peer is gone or too slow.

        Reading may take `timeout_s` seconds, and writing as many again. Whatever waits for the
        peer alone stands in `awaited`.
        """
        self._pages = pages
        self._awaited = awaited
        self._timeout_s = timeout_s
        self.requestline = self.command = ""
        self.request_version = "HTTP/1.0"
        super().__init__(connection, peer, None)  # type: ignore[arg-type]  # needs no server

    def handle(self) -> None:
        """Read, answer, and leave the connection so that the answer arrives."""
        try:
            with self._awaited(self.connection):
                head = self._read_head()
        except TimeoutError:
            head = b""
            self.send_error(HTTPStatus.REQUEST_TIMEOUT)
        self.connection.settimeout(self._timeout_s)
        if head:
            self.rfile.close()
            self.rfile = io.BufferedReader(io.BytesIO(head))
            self.raw_requestline = self.rfile.readline()
            if self.parse_request():  # which has answered where it could not
                self._send(self._answer())
        with self._awaited(self.connection):
            self._linger()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Keep quiet: a scrape changes nothing."""

    def version_string(self) -> str:
        """The name only: which Python this is concerns nobody."""
        return "sidecar"

    def _read_head(self) -> bytes:
        """Everything up to the empty line; empty where the peer hung up or sent too much."""
        deadline_s = time.monotonic() + self._timeout_s
        head = bytearray()
        while b"\r\n\r\n" not in head and b"\n\n" not in head:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            self.connection.settimeout(left_s)
            part = self.connection.recv(4096)
            if not part:
                return b""
            head += part
            if len(head) > HEAD_BYTES_MAX:
                self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
                return b""
        return bytes(head)

    def _answer(self) -> Response:
        if self.command not in METHODS:
            return Response(
                status=HTTPStatus.METHOD_NOT_ALLOWED, headers=(("Allow", ", ".join(METHODS)),)
            )
        path, _, query = self.path.partition("?")
        page = self._pages.get(path)
        if page is None:
            return Response(status=HTTPStatus.NOT_FOUND, body=b"not found\n")
        headers = {name.lower(): value for name, value in reversed(self.headers.items())}
        return page(Request(path=path, query=query, headers=headers))

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in response.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(response.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)

    def _linger(self) -> None:
        """Say that the answer is complete, then read what the peer still sends, within bounds."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            deadline_s = time.monotonic() + self._timeout_s
            left = LEFTOVER_BYTES_MAX
            while left > 0 and (left_s := deadline_s - time.monotonic()) > 0:
                self.connection.settimeout(left_s)
                part = self.connection.recv(4096)
                if not part:
                    return
                left -= len(part)
