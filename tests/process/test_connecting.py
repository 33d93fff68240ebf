"""What a command says of an address at which there is something, but no sidecar for it."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidecar.addresses import parse_address
from sidecar.config.keys import Config
from sidecar.connecting import connected
from sidecar.testing import SidecarProcess

pytestmark = pytest.mark.process

AS_A_USER = (
    ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
)
"""root may open every socket, unless it gives that right up."""


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*AS_A_USER, sys.executable, "-m", "sidecar.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_socket_that_is_for_others_is_not_said_to_have_no_sidecar(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path, flags=["--socket-mode=0000"]) as sidecar:
        ended = run("sessions", f"--admin={sidecar.admin}")

    assert ended.returncode == 3
    assert ended.stderr == (
        f"sidecar: {sidecar.admin} may not be opened by this user: the socket_mode and "
        "socket_group of its sidecar say who may\n"
    )


def test_an_address_of_http_is_told_from_that_of_a_sidecar_that_hangs(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        telemetry = sidecar.addresses["telemetry_address"]
        config = tmp_path / "sidecar.yaml"
        config.write_text(f"telemetry_address: {telemetry}\nadmin_address: {tmp_path}/admin.sock\n")
        known = run("sessions", "--config", str(config), f"--admin={telemetry}")
        unknown = run("health", f"--address={tmp_path}/agent-http.sock")

    assert (known.returncode, unknown.returncode) == (3, 3)
    assert known.stderr == (
        f"sidecar: {telemetry} speaks HTTP/1, not gRPC: it is telemetry_address here, and "
        f"admin_address is {tmp_path}/admin.sock\n"
    )
    assert unknown.stderr.startswith(
        f"sidecar: unix:{tmp_path}/agent-http.sock speaks HTTP/1, not gRPC: agent_address is "
    )


def test_no_thread_that_a_channel_gave_work_outlasts_it(tmp_path: Path) -> None:
    def ask_until_it_is_closed(channel: grpc.Channel) -> None:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        try:
            while True:
                stub.Check(health_pb2.HealthCheckRequest())
        except (ValueError, grpc.RpcError):
            pass

    with SidecarProcess(tmp_path) as sidecar:
        with connected(Config(), parse_address(sidecar.agent), key="agent_address") as channel:
            threads = [
                Thread(target=ask_until_it_is_closed, args=[channel], daemon=True)
                for _ in range(16)
            ]
            for thread in threads:
                thread.start()

        assert not any(thread.is_alive() for thread in threads)
