"""P8: three answers that tell the truth, whatever is broken."""

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidecar.testing import SidecarProcess
from tests.process.streams import agents

pytestmark = pytest.mark.process

WITHIN_S = 60.0
"""Only ends a test that hangs."""
DRAINS_LONG = "--shutdown-timeout-s=300"
"""So that what is true of a sidecar that drains is asked while it does: it goes with its agents."""
SERVICES = ("", "sidecar.v1.ConvergenceService", "sidecar.v1.AnswerService")
"""Whose health agents may ask for over gRPC; the empty one is the process."""
BLOCKING = """
import asyncio, sys
from sidecar import serve
from sidecar.cli import main

beat = serve.Sidecar._beat

def stand_still():
    sys.stdin.readline()
    sys.stdin.readline()

async def beat_and_block(self):
    asyncio.get_running_loop().add_reader(sys.stdin, stand_still)
    await beat(self)

serve.Sidecar._beat = beat_and_block
main()
"""
"""A sidecar whose event loop stands still from one line of its input to the next."""


def ask(address: str, page: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{address}/{page}", timeout=WITHIN_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def until(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        if time.monotonic() > deadline:
            return False
    return True


def answers(sidecar: SidecarProcess) -> tuple[int, int]:
    address = sidecar.addresses["telemetry_address"]
    return ask(address, "livez")[0], ask(address, "readyz")[0]


def component(sidecar: SidecarProcess, name: str) -> str:
    _, body = ask(sidecar.addresses["admin_http_address"], "statusz")
    found: str = json.loads(body)["components"].get(name, {}).get("status", "absent")
    return found


def serving(address: str, services: tuple[str, ...]) -> set[str]:
    """What gRPC's health says of each."""
    with grpc.insecure_channel(address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
        requests = [health_pb2.HealthCheckRequest(service=service) for service in services]
        found = [stub.Check(request, timeout=WITHIN_S).status for request in requests]
    return {health_pb2.HealthCheckResponse.ServingStatus.Name(status) for status in found}


def test_all_is_well(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        assert answers(sidecar) == (200, 200)
        assert until(lambda: component(sidecar, "store") == "OK")
        assert serving(sidecar.agent, SERVICES) == {"SERVING"}
        assert serving(sidecar.admin, ("", "sidecar.v1.SessionService")) == {"SERVING"}


def test_a_sidecar_that_keeps_nothing_has_nothing_to_complain_of(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path, flags=["--state-directory="]) as sidecar:
        assert answers(sidecar) == (200, 200)
        assert until(lambda: component(sidecar, "store") == "OK")


def test_an_exporter_that_is_down_shows_in_statusz_only(tmp_path: Path) -> None:
    environment = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
    }
    sidecar = SidecarProcess(tmp_path, environment=environment)
    with sidecar, agents(sidecar, 1) as fleet:
        fleet[0].turn(1)
        assert until(lambda: component(sidecar, "exporter") == "RECOVERABLE")
        assert answers(sidecar) == (200, 200)
        assert fleet[0].turn(2).sequence == 2


def test_a_state_directory_that_cannot_be_written_shows_in_statusz_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    flags = [f"--state-directory={tmp_path}/file/state"]
    with SidecarProcess(tmp_path, flags=flags) as sidecar:
        assert until(lambda: component(sidecar, "store") == "RECOVERABLE")
        assert answers(sidecar) == (200, 200)


def test_a_sidecar_that_drains_is_alive_and_not_ready(tmp_path: Path) -> None:
    sidecar = SidecarProcess(tmp_path, flags=[DRAINS_LONG])
    with sidecar, agents(sidecar, 1) as fleet:
        fleet[0].turn(1)
        sidecar.process.send_signal(signal.SIGTERM)
        fleet[0].wait_drained()
        assert answers(sidecar) == (200, 503)
        assert serving(sidecar.agent, SERVICES) == {"NOT_SERVING"}
        fleet[0].half_close()


@contextmanager
def blockable(directory: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """The telemetry address of a sidecar, and what blocks its event loop or lets it go on."""
    command = [
        sys.executable, "-c", BLOCKING, "serve",
        f"--agent-address={directory}/agent.sock",
        f"--admin-address={directory}/admin.sock",
        "--agent-tcp-address=127.0.0.1:0",
        "--telemetry-address=127.0.0.1:0",
        "--admin-http-address=",
        "--state-directory=",
    ]  # fmt: skip
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0) as process:
        assert process.stdin is not None and process.stdout is not None
        turn = partial(process.stdin.write, b"\n")
        words = process.stdout.readline().decode().split()
        addresses = dict(word.split("=", 1) for word in words[1:])
        try:
            yield addresses["telemetry_address"], turn
        finally:
            process.kill()


def test_a_loop_that_is_blocked_is_not_alive_and_then_is_again(tmp_path: Path) -> None:
    with blockable(tmp_path) as (address, turn):
        assert until(lambda: ask(address, "livez")[0] == 200)
        turn()
        assert until(lambda: ask(address, "livez")[0] == 503)
        turn()
        assert until(lambda: ask(address, "livez")[0] == 200)
