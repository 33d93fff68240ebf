"""What Alertmanager's webhooks are told, kept by a server of the test."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One alert in one message."""

    receiver: str
    """Path of the webhook, without its slash."""
    status: str
    """firing or resolved."""
    labels: Mapping[str, str]
    annotations: Mapping[str, str]

    @property
    def name(self) -> str:
        """The alert's."""
        return self.labels["alertname"]

    @property
    def namespace(self) -> str:
        """That of its target."""
        return self.labels.get("namespace", "")


@dataclass(slots=True, kw_only=True)
class Inbox:
    """Everything that came, in its order, from any thread."""

    told: list[Told] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def add(self, receiver: str, body: bytes) -> None:
        """Keep a message."""
        with self.changed:
            for alert in json.loads(body)["alerts"]:
                self.told.append(
                    Told(
                        receiver=receiver,
                        status=alert["status"],
                        labels=alert["labels"],
                        annotations=alert["annotations"],
                    )
                )
            self.changed.notify_all()

    def find(self, status: str, name: str, namespace: str) -> list[Told]:
        """The alerts with that status."""
        with self.changed:
            return [
                told
                for told in self.told
                if (told.status, told.name, told.namespace) == (status, name, namespace)
            ]

    def wait(self, holds: Callable[[], bool], *, within_s: float) -> bool:
        """Whether it holds after one of the messages to come, or now."""
        with self.changed:
            return self.changed.wait_for(holds, within_s)


@contextmanager
def webhook() -> Iterator[tuple[Inbox, str]]:
    """A server for webhooks on loopback, and its base address."""
    inbox = Inbox()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            inbox.add(self.path.strip("/"), body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield inbox, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
