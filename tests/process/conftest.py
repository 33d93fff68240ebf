"""What the tests of a process share."""

import os
import signal
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from sidecar.adapters.telemetry import Telemetry, TelemetrySettings, build
from sidecar.health import Health
from sidecar.testing import FakeClock
from tests.process.exporting import CLOSE_S, Built, World


@pytest.fixture(autouse=True)
def _hangups_are_heard() -> Iterator[None]:
    """What a test starts inherits which signals are ignored: under `nohup make test` SIGHUP is."""
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Iterator[Built]:
    """Builds telemetry under OTEL_* variables, and closes it."""
    open_ones: list[Telemetry] = []
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)

    def make(own_ports: frozenset[int] = frozenset(), **variables: str) -> World:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        clock, registry = FakeClock(), CollectorRegistry()
        health = Health(clock)
        settings = TelemetrySettings(version="1.2.3", own_ports=own_ports)
        telemetry = build(settings, registry=registry, clock=clock, health=health)
        open_ones.append(telemetry)
        return World(telemetry=telemetry, health=health, registry=registry, now_s=clock.now_s())

    yield make
    for telemetry in open_ones:
        telemetry.close(within_s=CLOSE_S)
