"""Whether somebody would watch is asked before anything is paid for."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from sidecar.cli.agent_watch import check_watched
from sidecar.testing.process import SidecarProcess

pytestmark = pytest.mark.process


def refusal(address: str, shown: pytest.CaptureFixture[str]) -> str:
    """What it ends with."""
    with pytest.raises(SystemExit) as ended:
        check_watched(address)
    assert ended.value.code == 2
    return shown.readouterr().err


def test_a_sidecar_that_is_up_watches(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        check_watched(sidecar.agent)


def test_nobody_does_where_there_is_no_socket(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = f"unix:{tmp_path}/none.sock"
    text = refusal(address, capsys)
    assert text == (
        f"sidecar: {address} does not watch (no socket there); start a sidecar, or use "
        "--side without\n"
    )


def test_one_that_does_not_answer_in_time_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(tmp_path / "mute.sock"))
        mute.listen()
        assert "mute.sock does not watch (" in refusal(f"unix:{tmp_path}/mute.sock", capsys)


def test_one_that_takes_no_new_runs_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    servicer = health.HealthServicer()
    servicer.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    address = f"unix:{tmp_path}/draining.sock"
    server.add_insecure_port(address)
    server.start()
    try:
        assert "it takes no new runs" in refusal(address, capsys)
    finally:
        server.stop(None).wait()
