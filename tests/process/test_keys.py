"""Keys of the configuration, seen to reach what they are about in a whole sidecar."""

import sqlite3
import urllib.request
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from sidecar.testing import SidecarProcess
from sidecar.v1 import convergence_service_pb2_grpc, run_pb2
from tests.process.streams import ANSWER_WITHIN_S, open_turn

pytestmark = pytest.mark.process


def stub_of(channel: grpc.Channel) -> Any:
    return convergence_service_pb2_grpc.ConvergenceServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]


def test_open_timeout_s_ends_a_stream_that_says_nothing(tmp_path: Path) -> None:
    nothing: SimpleQueue[None] = SimpleQueue()
    with (
        SidecarProcess(tmp_path, flags=["--open-timeout-s=0.1"]) as sidecar,
        grpc.insecure_channel(sidecar.agent) as channel,
    ):
        silent = stub_of(channel).Observe(iter(nothing.get, None), timeout=ANSWER_WITHIN_S)
        assert silent.code() is grpc.StatusCode.INVALID_ARGUMENT
        nothing.put(None)


def test_retention_s_is_how_long_a_session_is_kept(tmp_path: Path) -> None:
    flags = ["--retention-s=0.001", "--session-idle-ttl-s=0.001"]
    database = tmp_path / "state" / "sidecar.db"
    with SidecarProcess(tmp_path) as sidecar, grpc.insecure_channel(sidecar.agent) as channel:
        stub_of(channel).RecordTurn(open_turn("s"), timeout=ANSWER_WITHIN_S)
        assert sidecar.stop() == 0
    assert sessions_kept(database) == 1
    with SidecarProcess(tmp_path, flags=flags) as sidecar:
        assert sidecar.stop() == 0
    assert sessions_kept(database) == 0


def test_client_instances_max_is_how_many_clients_count_once(tmp_path: Path) -> None:
    with (
        SidecarProcess(tmp_path, flags=["--client-instances-max=1"]) as sidecar,
        grpc.insecure_channel(sidecar.agent) as channel,
    ):
        for number, client in enumerate(("a", "a", "b", "a")):
            request = open_turn(f"{client}{number}")
            request.open.client_instance = client
            request.open.give_ups.append(run_pb2.GiveUp(reason="timeout", count=2))
            stub_of(channel).RecordTurn(request, timeout=ANSWER_WITHIN_S)
        url = f"http://{sidecar.addresses['telemetry_address']}/metrics"
        with urllib.request.urlopen(url, timeout=ANSWER_WITHIN_S) as page:
            metrics = page.read().decode()

    assert 'sidecar_client_fail_open_total{reason="timeout"} 6.0' in metrics


def sessions_kept(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        ((count,),) = connection.execute("SELECT count(*) FROM session").fetchall()
    return int(count)
