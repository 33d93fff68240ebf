"""The real programs, started once for all tests here: a busy sidecar, a Prometheus beside it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.observability.fleet import Busy, busy
from tests.observability.programs import (
    GRAFANA,
    MISSING,
    Prometheus,
    prometheus,
    shipped_config,
)

JOB = "agent-sidecar"
"""As in the scrape config."""

ROUNDS_MIN = 3
"""Rounds of work before the first question: of the fleet or of the spender."""
ROUNDS_WITHIN_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A busy sidecar and the Prometheus that scrapes it, with the shipped rules loaded."""

    busy: Busy
    prometheus: Prometheus


@pytest.fixture(scope="session")
def programs() -> None:
    """Prometheus, Alertmanager and their tools are here; else the tests say so and are skipped."""
    if MISSING:
        pytest.skip(f"no {', '.join(MISSING)}: run scripts/install-test-tools.sh observability")


@pytest.fixture(scope="session")
def busy_sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Busy]:
    """A real sidecar with agents at work."""
    with busy(tmp_path_factory.mktemp("busy")) as one:
        yield one


@pytest.fixture(scope="session")
def observed(
    programs: None, busy_sidecar: Busy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Observed]:
    """A busy sidecar, scraped every second by a real Prometheus under the shipped scrape config,
    recording rules and alerts; its agents have done some rounds."""
    config = shipped_config({JOB: [busy_sidecar.metrics_address]}, rules=shipped_rules())
    with prometheus(tmp_path_factory.mktemp("prometheus"), config) as running:
        running.wait(f'up{{job="{JOB}"}} == 1')
        busy_sidecar.rounds.wait_for(ROUNDS_MIN, within_s=ROUNDS_WITHIN_S)
        yield Observed(busy=busy_sidecar, prometheus=running)


def shipped_rules() -> list[Path]:
    """The rule files that are shipped: recording rules and alerts."""
    return sorted([*GRAFANA.glob("rules/*.yaml"), *GRAFANA.glob("alerts/*.yaml")])
