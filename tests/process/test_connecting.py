"""What a command says of an address at which there is something, but no sidecar for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
