"""P6: it stops when told, within five seconds, without losing what it acknowledged."""

import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from sidecar.testing import SidecarProcess
from sidecar.v1 import convergence_service_pb2_grpc
from tests.process.streams import agents, open_turn

pytestmark = pytest.mark.process

ROUNDING_S = 3.0


@pytest.fixture
def sidecar(tmp_path: Path) -> Iterator[SidecarProcess]:
    with SidecarProcess(tmp_path) as running:
        yield running


def test_agents_that_go_when_asked_end_with_ok_and_the_sidecar_is_gone_at_once(
    sidecar: SidecarProcess,
) -> None:
    with agents(sidecar, 20) as fleet:
        for agent in fleet:
            agent.turn(1)
        began = time.monotonic()
        sidecar.process.send_signal(signal.SIGTERM)
        codes = [agent.leave_when_drained() for agent in fleet]
        exit_code = sidecar.process.wait(10)
        took_s = time.monotonic() - began

    assert set(codes) == {grpc.StatusCode.OK}
    assert exit_code == 0
    assert took_s < 4


def test_agents_that_do_not_go_are_cut_in_time_and_the_exit_code_says_so(
    sidecar: SidecarProcess,
) -> None:
    with agents(sidecar, 2) as fleet:
        for agent in fleet:
            agent.turn(1)
        began = time.monotonic()
        exit_code = sidecar.stop()
        took_s = time.monotonic() - began

    assert exit_code == 1
    assert took_s < 5 + ROUNDING_S
    assert "cut 2 streams that did not go" in sidecar.log


def test_streams_that_never_opened_a_session_do_not_hold_it_up(sidecar: SidecarProcess) -> None:
    nothing: SimpleQueue[None] = SimpleQueue()
    with grpc.insecure_channel(sidecar.agent) as channel:
        stub: Any = convergence_service_pb2_grpc.ConvergenceServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
        silent = [stub.Observe(iter(nothing.get, None), timeout=20) for _ in range(3)]
        # Answered after them on the same connection, so they have come.
        stub.RecordTurn(open_turn("s"), timeout=5)
        began = time.monotonic()
        exit_code = sidecar.stop()
        took_s = time.monotonic() - began
        codes = [stream.code() for stream in silent]
        for _ in silent:
            nothing.put(None)

    assert exit_code == 0
    assert took_s < 4
    assert set(codes) == {grpc.StatusCode.UNAVAILABLE}


def test_a_collector_that_swallows_everything_does_not_hold_it_up(tmp_path: Path) -> None:
    with socket.socket() as black_hole:
        black_hole.bind(("127.0.0.1", 0))
        black_hole.listen(1)
        port = black_hole.getsockname()[1]
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
        with SidecarProcess(tmp_path, environment=environment) as sidecar:
            with agents(sidecar, 1) as fleet:
                for sequence in range(1, 50):
                    fleet[0].turn(sequence)
                fleet[0].close()
            began = time.monotonic()
            exit_code = sidecar.stop()

    assert exit_code == 0
    assert time.monotonic() - began < 5 + ROUNDING_S


def test_a_second_signal_ends_it_now(sidecar: SidecarProcess) -> None:
    with agents(sidecar, 1) as fleet:
        fleet[0].turn(1)
        sidecar.process.send_signal(signal.SIGTERM)
        fleet[0].wait_drained()
        began = time.monotonic()
        exit_code = sidecar.stop()

    assert exit_code == 1
    assert time.monotonic() - began < 4


def test_a_decision_in_flight_arrives_whole(sidecar: SidecarProcess) -> None:
    with agents(sidecar, 1) as fleet:
        agent = fleet[0]
        for sequence in range(1, 30):
            agent.send(sequence)
        sidecar.process.send_signal(signal.SIGTERM)
        sequences = agent.read_all_decisions_until(29)

    assert sequences == list(range(1, 30))


def test_nothing_acknowledged_is_lost_by_stopping(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        with agents(sidecar, 1) as fleet:
            for sequence in range(1, 201):
                fleet[0].turn(sequence)
            sidecar.process.send_signal(signal.SIGTERM)
            fleet[0].leave_when_drained()
            assert sidecar.process.wait(10) == 0
        sidecar.restart()
        with agents(sidecar, 1) as fleet:
            assert fleet[0].last_sequence == 200


def test_no_socket_is_left_behind(sidecar: SidecarProcess) -> None:
    assert sidecar.stop() == 0

    assert not list(sidecar.directory.glob("*.sock"))


def test_new_work_is_refused_while_it_drains(sidecar: SidecarProcess) -> None:
    with agents(sidecar, 1) as fleet:
        fleet[0].turn(1)
        sidecar.process.send_signal(signal.SIGTERM)
        fleet[0].wait_drained()
        with grpc.insecure_channel(sidecar.agent) as channel:
            stub: Any = convergence_service_pb2_grpc.ConvergenceServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
            with pytest.raises(grpc.RpcError) as refused:
                stub.RecordTurn(open_turn("late"), timeout=2)
        fleet[0].half_close()

    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
