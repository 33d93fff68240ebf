"""A collector that is away, silent or refuses costs nothing but spans, and each is counted."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import grpc
import pytest
from prometheus_client import CollectorRegistry

from sidecar.adapters.telemetry import Telemetry, TelemetrySettings, build
from sidecar.adapters.telemetry.exporters import DELAY_S, TIMEOUT_MAX_S, TIMEOUT_S
from sidecar.adapters.telemetry.exporting import ABORT_S, Loss
from sidecar.health import Health
from sidecar.testing import FakeClock
from tests.edges.otlp_receiver import grpc_receiver, http_receiver
from tests.edges.telemetry_samples import decision, facts, rotate, series, turn, wait_until

DEADLINE_S = 20.0
"""More than any of this takes; a test that waits so long has failed."""

SLACK_S = 5.0
"""What a busy machine may add to a bound."""

PROTOCOLS = ("grpc", "http/protobuf")


@contextmanager
def nobody() -> Iterator[int]:
    """A port that refuses connections."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        yield found.getsockname()[1]


@contextmanager
def black_hole() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        yield silent.getsockname()[1]


class World:
    """Telemetry that exports to a port."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, protocol: str, port: int) -> None:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
        self.clock = FakeClock()
        self.health = Health(self.clock)
        self.health.accepting()
        self.registry = CollectorRegistry()
        self.telemetry: Telemetry = build(
            TelemetrySettings(version="1"),
            registry=self.registry,
            clock=self.clock,
            health=self.health,
        )

    def decide(self, count: int) -> None:
        for sequence in range(1, count + 1):
            self.telemetry.decided(
                facts(), turn(sequence), decision(sequence), received_s=self.clock.now_s()
            )

    @property
    def status(self) -> str:
        return self.health.components["exporter"].status.value

    @property
    def error(self) -> str:
        return self.health.components["exporter"].error

    def count(self, name: str) -> float:
        return series(self.registry, name)[()]

    def lost(self, loss: Loss) -> float:
        return series(self.registry, "sidecar_lost_total")[(loss.value, "span")]

    @property
    def settled(self) -> float:
        return self.count("sidecar_spans_exported_total") + sum(self.lost(loss) for loss in Loss)


@pytest.mark.process
@pytest.mark.parametrize("away", [nobody, black_hole])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_stopping_is_bounded_and_what_is_lost_is_counted(
    monkeypatch: pytest.MonkeyPatch, protocol: str, away: Callable[[], Iterator[int]]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "8")
    with away() as port:  # type: ignore[attr-defined]
        world = World(monkeypatch, protocol, port)
        world.decide(500)
        started_s = time.monotonic()
        lost = world.telemetry.close(within_s=0.5)
        assert time.monotonic() - started_s < 0.5 + ABORT_S + SLACK_S
        assert lost > 0
        assert world.count("sidecar_spans_total") == 500
        assert world.settled == 500
        assert world.count("sidecar_spans_exported_total") == 0
        wait_until(lambda: "span export" not in {thread.name for thread in threading.enumerate()})
    assert world.settled == 500


@pytest.mark.process
def test_a_silent_collector_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    with black_hole() as port:
        world = World(monkeypatch, "grpc", port)
        world.decide(5_000)
        waiting = world.count("sidecar_span_queue_spans")
        lost = world.lost(Loss.QUEUE_FULL)
        assert 2_048 <= waiting <= 2_048 + 512
        assert waiting + lost == 5_000
        assert world.telemetry.close(within_s=0) == waiting


@pytest.mark.process
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "0.2"),
        ("OTEL_BSP_EXPORT_TIMEOUT", "200"),
    ],
)
def test_a_batch_is_given_up_when_its_time_is_over(
    monkeypatch: pytest.MonkeyPatch, protocol: str, variable: str, value: str
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    monkeypatch.setenv(variable, value)
    with black_hole() as port:
        world = World(monkeypatch, protocol, port)
        started_s = time.monotonic()
        world.decide(3)
        wait_until(lambda: world.status == "recoverable")
        assert time.monotonic() - started_s < TIMEOUT_S
        world.telemetry.close(within_s=0)


@pytest.mark.process
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_exporter_that_is_down_shows_in_the_status_only(
    monkeypatch: pytest.MonkeyPatch, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    with nobody() as port:
        world = World(monkeypatch, protocol, port)
        world.decide(1)
        started_s = time.monotonic()
        wait_until(lambda: world.status == "recoverable")
        assert time.monotonic() - started_s < 10 + SLACK_S
        assert "refused" in world.error.lower()
        assert (world.health.livez().ok, world.health.readyz().ok) == (True, True)
        world.telemetry.close(within_s=0)
    assert {record.name for record in caplog.records} <= {"sidecar.health"}


@pytest.mark.process
@pytest.mark.parametrize(
    ("protocol", "timeout"), [("grpc", ""), ("grpc", "10000"), ("http/protobuf", "10000")]
)
def test_a_collector_that_never_answers_shows_within_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, protocol: str, timeout: str
) -> None:
    assert TIMEOUT_MAX_S + DELAY_S < 10
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", timeout)
    with black_hole() as port:
        world = World(monkeypatch, protocol, port)
        world.decide(1)
        started_s = time.monotonic()
        wait_until(lambda: world.status == "recoverable")
        assert time.monotonic() - started_s < 10 + SLACK_S
        world.telemetry.close(within_s=0)


@pytest.mark.process
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_refusal_is_said_and_costs_no_span_and_is_over_when_it_is_over(
    monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    receiver = grpc_receiver if protocol == "grpc" else http_receiver
    with receiver() as (received, port):
        received.refuse = grpc.StatusCode.INVALID_ARGUMENT
        world = World(monkeypatch, protocol, port)
        world.decide(3)
        wait_until(lambda: world.status == "recoverable")
        assert ("INVALID_ARGUMENT" if protocol == "grpc" else "400") in world.error
        received.refuse = None
        world.decide(2)
        wait_until(lambda: world.settled == 5)
        assert world.count("sidecar_spans_exported_total") == 5
        assert world.status == "ok"
        assert world.telemetry.close(within_s=DEADLINE_S) == 0


@pytest.mark.process
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_collector_that_comes_back_gets_the_spans_made_before_and_since(
    monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")
    receiver = grpc_receiver if protocol == "grpc" else http_receiver
    with receiver() as (_, port):
        pass
    world = World(monkeypatch, protocol, port)
    world.decide(1)
    wait_until(lambda: world.status == "recoverable")
    with receiver(port=port) as (received, _):
        world.telemetry.decided(facts(), turn(2), rotate(2), received_s=world.clock.now_s())
        wait_until(lambda: world.settled == 2)
        assert world.telemetry.close(within_s=DEADLINE_S) == 0
        assert len(received.spans) == world.count("sidecar_spans_exported_total") == 2
