"""A small HTTP server on loopback, for pages and searches."""

import gzip
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a path answers with."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Site:
    """A server that is up."""

    port: int
    asked: list[tuple[str, Mapping[str, str]]]
    """Paths and headers of the requests so far."""

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        """Of a path."""
        return f"http://{host}:{self.port}{path}"


def page(text: str, kind: str = "text/html; charset=utf-8") -> Reply:
    """A page that has this text."""
    return Reply(body=text.encode(), headers={"Content-Type": kind})


def packed(body: bytes) -> Reply:
    """A page in gzip."""
    headers = {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
    return Reply(body=gzip.compress(body), headers=headers)


def moved(to: str) -> Reply:
    """A redirect."""
    return Reply(status=302, headers={"Location": to})


@contextmanager
def site(answer: Callable[[str], Reply]) -> Iterator[Site]:
    """A server that answers each path so."""
    asked: list[tuple[str, Mapping[str, str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, dict(self.headers)))
            reply = answer(self.path)
            self.send_response(reply.status)
            for name, text in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield Site(port=server.server_address[1], asked=asked)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
