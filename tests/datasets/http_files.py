"""A real HTTP server on loopback that serves files well or badly."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar


@dataclass(kw_only=True)
class Answer:
    """How one request is answered."""

    status: int = 200
    break_after: int | None = None
    """Bytes of the body after which the connection is closed; None: whole."""
    length: bool = True
    """Whether the length of the body is said beforehand."""
    ranges: bool = True
    """Whether a range is answered as one."""
    location: str = ""
    body: bytes | None = None
    """Instead of the file's."""
    content_range: str = ""
    """Instead of the right one."""


@dataclass(kw_only=True)
class Files:
    """What is served, and what was asked for."""

    bodies: dict[str, bytes] = field(default_factory=dict)
    """By path, with the slash that it begins with."""
    answers: list[Answer] = field(default_factory=list)
    """To the next requests; when there are none left, as a good server would."""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Target and Range of each request."""
    address: str = ""


@contextmanager
def served(files: Files) -> Iterator[Files]:
    """The files at `files.address` for as long as it lasts."""

    class Handler(_Handler):
        served: ClassVar[Files] = files

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    files.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield files
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: a client that has enough closes the connection."""


class _Handler(BaseHTTPRequestHandler):
    served: ClassVar[Files]

    def do_GET(self) -> None:
        files, wanted = self.served, self.headers.get("Range")
        files.asked.append((self.path, wanted))
        answer = files.answers.pop(0) if files.answers else Answer()
        # A proxy is asked for the whole address.
        path = self.path.partition("://")[2].partition("/")[2] if "://" in self.path else ""
        body = files.bodies.get(f"/{path}" if path else self.path)
        if body is None and answer.status == 200 and answer.body is None:
            answer = Answer(status=404, body=b"")
        self._answer(answer, answer.body if answer.body is not None else body or b"", wanted)

    def _answer(self, answer: Answer, body: bytes, wanted: str | None) -> None:
        status, first = answer.status, 0
        if status == 200 and wanted and answer.ranges:
            first = int(wanted.removeprefix("bytes=").removesuffix("-"))
            status = 206 if first < len(body) else 416
        self.send_response(status)
        if answer.location:
            self.send_header("Location", answer.location)
        if status == 206:
            right = f"bytes {first}-{len(body) - 1}/{len(body)}"
            self.send_header("Content-Range", answer.content_range or right)
        sent = body[first:] if status in (200, 206) else b""
        if answer.length:
            self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent if answer.break_after is None else sent[: answer.break_after])
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name there)
        """Nothing: the test says what it has seen."""
