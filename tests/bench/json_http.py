"""What a turn costs as JSON over HTTP, against two handlers of the same server.

All are asked in turn over one kept connection each, by a client that does next to nothing.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from google.protobuf import json_format

from sidecar.adapters.json_http.reading import message_of
from sidecar.adapters.json_http.server import HttpSettings, JsonListener
from sidecar.adapters.json_http.writing import json_of
from sidecar.addresses import Address, parse_address
from sidecar.nowhere import NoRecorder
from sidecar.testing import SidecarProcess
from sidecar.v1 import convergence_service_pb2 as pb
from tests.bench.load import turn_of

WARM_UP = 200
TURNS = 3000

ANSWER: Final = json_format.Parse(
    """{"opened": {"session_id": "s", "last_sequence": 1, "idle_ttl": "3600s", "policy": "default",
    "policy_revision": "84c0b16c3d11", "turn_bytes_max": 4194304},
    "decision": {"decision_id": "0ae436aecb9fd231", "sequence": 1, "cause": "CAUSE_TURN",
    "state": "STATE_HEALTHY", "proceed": {}, "policy_revision": "84c0b16c3d11"}}""",
    pb.RecordTurnResponse(),
)
"""What a sidecar answers to a plain turn."""


class Bare:
    """Looks at no request, and answers each with what a sidecar answers to a plain turn."""

    body = json_of(ANSWER)

    async def __call__(self, _: Any, receive: Any, send: Any) -> None:
        content = b""
        more = True
        while more:
            event = await receive()
            content += event["body"]
            more = event.get("more_body", False)
        answer = self.answer(content)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(answer)),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    def answer(self, _: bytes) -> bytes:
        """The answer, whatever was asked."""
        return self.body


class Echo(Bare):
    """Reads and writes the messages as well, as the echo server of gRPC does."""

    def answer(self, content: bytes) -> bytes:
        """The same answer, written anew."""
        request = pb.RecordTurnRequest()
        message_of(content, request)
        response = pb.RecordTurnResponse()
        response.CopyFrom(ANSWER)
        return json_of(response)


BASELINES = {"bare": Bare, "echo": Echo}


async def main(name: str, path: str) -> None:
    settings = HttpSettings(address=Address(path=path), connections_max=16)
    listener = JsonListener(settings, recorder=NoRecorder())
    handler: Any = BASELINES[name]()  # an application of ASGI, as the sidecar's
    await listener.start(handler)
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
def baseline(name: str, path: Path) -> Iterator[Caller]:
    command = [sys.executable, "-m", "tests.bench.json_http", name, str(path)]
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


@dataclass(frozen=True, slots=True)
class Cost:
    """Of the median turn."""

    p50_ms: float
    of_bare: float
    """The bare handler's time, as a share of it."""
    of_echo: float
    """The echo handler's."""


def json_cost(directory: Path, kind: str) -> Cost:
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with (
        SidecarProcess(directory, environment=environment) as running,
        baseline("bare", directory / "bare.sock") as bare,
        baseline("echo", directory / "echo.sock") as echo,
    ):
        full = Caller(parse_address(running.addresses["agent_http_address"]).path)
        asked = [
            [caller.ask(body) for caller in (bare, echo, full)]
            for body in bodies(kind, WARM_UP + TURNS)
        ]
        full.close()
    of_bare, of_echo, p50 = map(statistics.median, zip(*asked[WARM_UP:], strict=True))
    return Cost(p50_ms=1e3 * p50, of_bare=of_bare / p50, of_echo=of_echo / p50)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
