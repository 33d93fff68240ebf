"""What a turn costs as JSON over HTTP, against a bare handler of the same server.

Both are asked in turn over one kept connection each, by a client that does next to nothing.
"""

import asyncio
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from google.protobuf import json_format

from sidecar.adapters.json_http.server import HttpSettings, JsonListener
from sidecar.addresses import Address, parse_address
from sidecar.nowhere import NoRecorder
from sidecar.testing import SidecarProcess
from tests.bench.load import turn_of

WARM_UP = 200
TURNS = 3000


class Echo:
    """Answers each request with what a sidecar answers to a plain turn."""

    body = json.dumps(
        {
            "opened": {
                "session_id": "s",
                "last_sequence": 1,
                "idle_ttl": "3600s",
                "policy": "default",
            },
            "decision": {
                "sequence": 1,
                "cause": "CAUSE_TURN",
                "state": "STATE_HEALTHY",
                "proceed": {},
            },
            "padding": "x" * 60,
        }
    ).encode()

    async def __call__(self, _: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body", False):
            pass
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(self.body)),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


async def main(path: str) -> None:
    settings = HttpSettings(address=Address(path=path), connections_max=16)
    listener = JsonListener(settings, recorder=NoRecorder())
    await listener.start(Echo())  # type: ignore[arg-type]  # an application of ASGI, as the other
    print("ready", flush=True)  # noqa: T201 - what starts this process waits for it
    await asyncio.Event().wait()


class Caller:
    """One connection that sends turns and waits for each answer."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path)

    def ask(self, body: bytes) -> float:
        """Seconds until the answer was there in full."""
        head = (
            "POST /v1/sessions/s/turns HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        began = time.perf_counter()
        self._socket.sendall(head.encode() + body)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._socket.recv(65_536)
        lines, _, rest = answer.partition(b"\r\n\r\n")
        length = int(lines.lower().partition(b"content-length:")[2].split()[0])
        while len(rest) < length:
            rest += self._socket.recv(65_536)
        took = time.perf_counter() - began
        if not lines.startswith(b"HTTP/1.1 200"):
            raise AssertionError(rest)
        return took

    def close(self) -> None:
        self._socket.close()


@contextmanager
def echo(path: Path) -> Iterator[Caller]:
    command = [sys.executable, "-m", "tests.bench.json_http", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        caller = Caller(str(path))
        try:
            yield caller
        finally:
            caller.close()
            process.terminate()


def bodies(kind: str, count: int) -> list[bytes]:
    """Turns as JSON, numbered by the sidecar."""
    found = []
    for number in range(count):
        wire = turn_of(kind, number)
        wire.ClearField("sequence")
        turn = json_format.MessageToDict(wire, preserving_proto_field_name=True)
        found.append(json.dumps({"turn": turn}).encode())
    return found


def json_cost(directory: Path, kind: str) -> tuple[float, float]:
    """Milliseconds of the median turn, and how much of them the bare handler takes."""
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with (
        SidecarProcess(directory, environment=environment) as running,
        echo(directory / "echo.sock") as bare,
    ):
        full = Caller(parse_address(running.addresses["agent_http_address"]).path)
        echoed, answered = [], []
        for body in bodies(kind, WARM_UP + TURNS):
            echoed.append(bare.ask(body))
            answered.append(full.ask(body))
        full.close()
    p50 = statistics.median(answered[WARM_UP:])
    return 1e3 * p50, statistics.median(echoed[WARM_UP:]) / p50


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
