"""Telemetry that exports what a test decides, and collectors that it exports to."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry

from sidecar.adapters.telemetry import Telemetry
from sidecar.health import Health
from tests.edges.otlp_receiver import Received, grpc_receiver, http_receiver
from tests.edges.telemetry_samples import decision, facts, turn

CLOSE_S = 60.0
"""Only ends a test that hangs."""

RECEIVERS: dict[str, Callable[[], AbstractContextManager[tuple[Received, int]]]] = {
    "grpc": grpc_receiver,
    "http/protobuf": http_receiver,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Telemetry that was built from the environment."""

    telemetry: Telemetry
    health: Health
    registry: CollectorRegistry
    now_s: float

    def decide(self, sequence: int = 1, made: Any = None) -> None:
        self.telemetry.decided(
            facts(), turn(sequence), made or decision(sequence), received_s=self.now_s
        )


Built = Callable[..., World]
