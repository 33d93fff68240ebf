"""An exporter that serves the sidecar's own metrics with values of a test's choice."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(slots=True, kw_only=True)
class Objectives:
    """Counters behind the two objectives, which grow at every scrape; and memory."""

    decisions: int = 0
    slow: int = 0
    without: int = 0
    slow_of_thousand: int = 0
    without_of_thousand: int = 0
    memory_percent: int = 50
    """Of the limit."""
    step: int = 1000
    """Decisions by which each scrape adds."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def mend(self) -> None:
        """From now on all is well, and so often that what was before is a small share."""
        with self.lock:
            self.slow_of_thousand = self.without_of_thousand = 0
            self.memory_percent = 50
            self.step = 1_000_000

    def render(self, _: str) -> str:
        """The page."""
        with self.lock:
            self.decisions += self.step
            self.slow += self.step * self.slow_of_thousand // 1000
            self.without += self.step * self.without_of_thousand // 1000
            name = "sidecar_decision_duration_seconds"
            buckets = [("0.05", self.decisions - self.slow), ("0.1", self.decisions)]
            return "\n".join(
                [
                    'sidecar_build_info{version="test",python_version="3"} 1',
                    *(f'{name}_bucket{{le="{le}"}} {count}' for le, count in buckets),
                    f'{name}_bucket{{le="+Inf"}} {self.decisions}',
                    f"{name}_count {self.decisions}",
                    f'sidecar_client_fail_open_total{{reason="timeout"}} {self.without}',
                    f"process_resident_memory_bytes {self.memory_percent}",
                    "sidecar_memory_limit_bytes 100",
                    "",
                ]
            )


@contextmanager
def exporter(render: Callable[[str], str]) -> Iterator[str]:
    """A server whose every path is what `render` makes of the path: its host and port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = render(self.path).encode()
            self.send_response(200)
            self.send_header("Content-Type", TYPE)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):  # a scrape that timed out
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
