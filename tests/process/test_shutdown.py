"""P6: it stops when told, within five seconds, without losing what it acknowledged."""

import itertools
import re
import signal
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import grpc
import pytest

from sidecar.testing import SidecarProcess
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import convergence_service_pb2_grpc, run_pb2
from tests.process.streams import ANSWER_WITHIN_S, agents, open_turn
from tests.process.test_health_matrix import DRAINS_LONG, WITHIN_S, answers, until
from tests.wire.served import reason_of

pytestmark = pytest.mark.process

ROUNDING_S = 15.0
"""What a busy machine may add to a bound."""
SOON_S = 30.0
"""For what waits for nobody: a busy machine has it, and whoever waits takes far longer."""
SPANS = 12
BATCH_BY_BATCH = {"OTEL_EXPORTER_OTLP_TIMEOUT": "8", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"}
"""A collector that is silent would take eight seconds for each span, if nobody gave them up."""
LAST_CALLS = """
from sidecar import serve
from sidecar.cli import main

serve.LAST_CALLS_S = 5.0
main()
"""
"""A sidecar whose callers have time for one more call, however busy the machine is."""


@pytest.fixture
def sidecar(tmp_path: Path) -> Iterator[SidecarProcess]:
    """One that waits for its streams for as long as a test may take."""
    with SidecarProcess(tmp_path, flags=[DRAINS_LONG, "--open-timeout-s=300"]) as running:
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
        exit_code = sidecar.process.wait(WITHIN_S)
        took_s = time.monotonic() - began

    assert set(codes) == {grpc.StatusCode.OK}
    assert exit_code == 0
    assert took_s < SOON_S


def test_callers_without_a_stream_hear_that_it_is_stopping(tmp_path: Path) -> None:
    started, ends = threading.Barrier(5), SimpleQueue[Any]()

    def call_until_refused(sidecar: SidecarProcess, name: str) -> None:
        with grpc.insecure_channel(sidecar.agent) as channel:
            stub = convergence_service_pb2_grpc.ConvergenceServiceStub(channel)
            try:
                for sequence in itertools.count(1):
                    turn = run_pb2.Turn(sequence=sequence)
                    opening = run_pb2.Open(session_id=name)
                    request = pb.RecordTurnRequest(open=opening, turn=turn)
                    stub.RecordTurn(request, timeout=WITHIN_S)
                    if sequence == 1:
                        started.wait(WITHIN_S)
            except grpc.RpcError as refused:
                ends.put(refused)

    command = (sys.executable, "-c", LAST_CALLS)
    with SidecarProcess(tmp_path, flags=[DRAINS_LONG], command=command) as sidecar:
        callers = [
            threading.Thread(target=call_until_refused, args=(sidecar, name)) for name in "abcd"
        ]
        for caller in callers:
            caller.start()
        started.wait(WITHIN_S)
        assert sidecar.stop() == 0
        for caller in callers:
            caller.join()

    reasons = [reason_of(ends.get_nowait()).reason for _ in callers]
    assert reasons == ["DRAINING"] * 4


def test_agents_that_do_not_go_are_cut_in_time_and_the_exit_code_says_so(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar, agents(sidecar, 2) as fleet:
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
        silent = [stub.Observe(iter(nothing.get, None), timeout=ANSWER_WITHIN_S) for _ in range(3)]
        # Answered after them on the same connection, so they have come.
        stub.RecordTurn(open_turn("s"), timeout=WITHIN_S)
        began = time.monotonic()
        exit_code = sidecar.stop()
        took_s = time.monotonic() - began
        codes = [stream.code() for stream in silent]
        for _ in silent:
            nothing.put(None)

    assert exit_code == 0
    assert took_s < SOON_S
    assert set(codes) == {grpc.StatusCode.UNAVAILABLE}


def test_a_collector_that_swallows_everything_does_not_hold_it_up(tmp_path: Path) -> None:
    with socket.socket() as black_hole:
        black_hole.bind(("127.0.0.1", 0))
        black_hole.listen(1)
        port = black_hole.getsockname()[1]
        endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}
        environment = {**endpoint, **BATCH_BY_BATCH}
        with SidecarProcess(tmp_path, environment=environment) as sidecar:
            with agents(sidecar, 1) as fleet:
                for sequence in range(1, 50):
                    fleet[0].turn(sequence)
                fleet[0].close()
            began = time.monotonic()
            exit_code = sidecar.stop()

    assert exit_code == 0
    assert time.monotonic() - began < 5 + ROUNDING_S
    assert re.search(r"lost 0 journal entries and \d+ spans by stopping", sidecar.log)
    assert "store is recoverable" not in sidecar.log, "it was closed, which is no fault"


def test_a_collector_is_waited_for_as_long_as_is_configured_and_no_longer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as black_hole:
        environment = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{black_hole.getsockname()[1]}",
            **BATCH_BY_BATCH,
        }
        flags = ["--flush-timeout-s=0.5", DRAINS_LONG]
        with SidecarProcess(tmp_path, environment=environment, flags=flags) as sidecar:
            with agents(sidecar, 1) as fleet:
                for sequence in range(1, SPANS):
                    fleet[0].turn(sequence)
                fleet[0].close()
            began = time.monotonic()
            assert sidecar.stop() == 0
            assert time.monotonic() - began < 0.5 + ROUNDING_S


def test_a_second_signal_ends_it_now(sidecar: SidecarProcess) -> None:
    with agents(sidecar, 1) as fleet:
        fleet[0].turn(1)
        sidecar.process.send_signal(signal.SIGTERM)
        fleet[0].wait_drained()
        began = time.monotonic()
        exit_code = sidecar.stop()

    assert exit_code == 1
    assert time.monotonic() - began < SOON_S
    assert "cut" not in sidecar.log, "it waited for its streams"
    assert not list(sidecar.directory.glob("*.sock"))
    assert sidecar.log.count("told to stop a second time") == 1


def test_a_terminal_that_is_closed_twice_has_it_end_in_peace(sidecar: SidecarProcess) -> None:
    with agents(sidecar, 1) as fleet:
        fleet[0].turn(1)
        sidecar.process.send_signal(signal.SIGHUP)
        fleet[0].wait_drained()
        sidecar.process.send_signal(signal.SIGHUP)
        fleet[0].half_close()
        assert sidecar.process.wait(WITHIN_S) == 0


def test_a_sidecar_that_is_to_outlive_its_terminal_does(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` does; what starts has it too
    try:
        with SidecarProcess(tmp_path) as sidecar, agents(sidecar, 1) as fleet:
            sidecar.process.send_signal(signal.SIGHUP)
            fleet[0].turn(1)
            with grpc.insecure_channel(sidecar.agent) as channel:
                stub: Any = convergence_service_pb2_grpc.ConvergenceServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
                stub.RecordTurn(open_turn("new"), timeout=WITHIN_S)  # refused while it drains
            fleet[0].close()
            assert sidecar.process.poll() is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_decision_in_flight_arrives_whole(sidecar: SidecarProcess) -> None:
    with agents(sidecar, 1) as fleet:
        agent = fleet[0]
        for sequence in range(1, 30):
            agent.send(sequence)
        sidecar.process.send_signal(signal.SIGTERM)
        sequences = agent.read_all_decisions_until(29)

    assert sequences == list(range(1, 30))


def test_nothing_acknowledged_is_lost_by_stopping(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path, flags=[DRAINS_LONG]) as sidecar:
        with agents(sidecar, 1) as fleet:
            for sequence in range(1, 201):
                fleet[0].turn(sequence)
            sidecar.process.send_signal(signal.SIGTERM)
            fleet[0].leave_when_drained()
            assert sidecar.process.wait(WITHIN_S) == 0
        sidecar.restart()
        with agents(sidecar, 1) as fleet:
            assert fleet[0].last_sequence == 200


def test_what_came_without_a_stream_is_in_a_snapshot_after_a_stop(sidecar: SidecarProcess) -> None:
    with grpc.insecure_channel(sidecar.agent) as channel:
        stub: Any = convergence_service_pb2_grpc.ConvergenceServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
        for _ in range(3):
            stub.RecordTurn(open_turn("s"), timeout=WITHIN_S)
    assert sidecar.stop() == 0
    with closing(sqlite3.connect(sidecar.state_directory / "sidecar.db")) as database:
        entries = database.execute("SELECT max(number) FROM journal").fetchall()
        snapshots = database.execute("SELECT number FROM snapshot").fetchall()

    assert entries == snapshots == [(4,)]


def test_it_is_alive_and_not_ready_until_the_last_span_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as black_hole:
        environment = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{black_hole.getsockname()[1]}",
            **BATCH_BY_BATCH,
        }
        flags = ["--flush-timeout-s=120", DRAINS_LONG]
        with SidecarProcess(tmp_path, environment=environment, flags=flags) as sidecar:
            with agents(sidecar, 1) as fleet:
                for sequence in range(1, SPANS):
                    fleet[0].turn(sequence)
                fleet[0].close()
            sidecar.process.send_signal(signal.SIGTERM)
            assert until(lambda: not list(tmp_path.glob("*.sock")))
            assert answers(sidecar) == (200, 503)
            assert sidecar.process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_no_socket_is_left_behind(sidecar: SidecarProcess, number: signal.Signals) -> None:
    assert sidecar.stop(number) == 0

    assert "Traceback" not in sidecar.log
    assert not list(sidecar.directory.glob("*.sock"))


def test_new_work_is_refused_while_it_drains(sidecar: SidecarProcess) -> None:
    with agents(sidecar, 1) as fleet:
        fleet[0].turn(1)
        sidecar.process.send_signal(signal.SIGTERM)
        fleet[0].wait_drained()
        with grpc.insecure_channel(sidecar.agent) as channel:
            stub: Any = convergence_service_pb2_grpc.ConvergenceServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
            with pytest.raises(grpc.RpcError) as refused:
                stub.RecordTurn(open_turn("late"), timeout=WITHIN_S)
        fleet[0].half_close()

    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
