"""A sidecar whose clock is an hour off is measured like any other: Prometheus goes by its own."""

import json
import platform
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess
from tests.observability.conftest import JOB, shipped_rules
from tests.observability.faults import repeated, turn
from tests.observability.programs import Prometheus, prometheus, read, shipped_config

pytestmark = pytest.mark.observability

LIBRARY = Path(f"/usr/lib/{platform.machine()}-linux-gnu/faketime/libfaketime.so.1")
HOUR_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Skewed:
    """A sidecar with a clock of its own, scraped."""

    sidecar: SidecarProcess
    prometheus: Prometheus
    ahead_s: int


@pytest.fixture(params=[HOUR_S, -HOUR_S], ids=["ahead", "behind"])
def skewed(request: pytest.FixtureRequest, programs: None, tmp_path: Path) -> Iterator[Skewed]:
    if not LIBRARY.exists():
        pytest.skip("no libfaketime: run scripts/install-test-tools.sh observability")
    environment = {
        "LD_PRELOAD": str(LIBRARY),
        "FAKETIME": f"{request.param:+d}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    with ExitStack() as stack:
        sidecar = stack.enter_context(SidecarProcess(tmp_path, environment=environment))
        targets = {JOB: [sidecar.addresses["telemetry_address"]]}
        config = shipped_config(targets, rules=shipped_rules())
        running = stack.enter_context(prometheus(tmp_path / "prometheus", config))
        act = repeated(lambda n: turn(sidecar, "run", output_lines=n), pause_s=0.2)
        stack.enter_context(act)
        yield Skewed(sidecar=sidecar, prometheus=running, ahead_s=request.param)


def test_a_clock_that_is_an_hour_off_spoils_neither_rates_nor_alerts(skewed: Skewed) -> None:
    ask = skewed.prometheus
    status = json.loads(read(f"http://{skewed.sidecar.addresses['admin_http_address']}/statusz"))
    its_time_s = status["components"]["store"]["since_s"]
    assert abs(its_time_s - time.time() - skewed.ahead_s) < HOUR_S / 2  # it is off
    ask.wait("instance:sidecar_decisions:rate5m > 0")
    ask.wait("agent_model:sidecar_turns:increase5m > 0")
    (scraped,) = ask.instant("scrape_samples_scraped")
    (kept,) = ask.instant("scrape_samples_post_metric_relabeling")
    assert float(scraped["value"][1]) == float(kept["value"][1]) > 0
    assert ask.instant('ALERTS{alertstate="firing"}') == []
    assert ask.instant('{__name__=~".+:.+:.+"} < 0') == []
