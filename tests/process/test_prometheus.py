"""A real Prometheus scrapes the telemetry listener and finds every metric of the inventory."""

import json
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from sidecar.adapters.http import HttpListener, telemetry_pages
from sidecar.adapters.semconv import METRICS, Kind, Metric
from sidecar.adapters.telemetry import TelemetrySettings, build
from sidecar.addresses import Address
from sidecar.core.breaker import State
from sidecar.health import Health
from sidecar.testing import FakeClock
from tests.edges.telemetry_samples import POLICY, TRACE_ID, decision, everything, facts, turn
from tests.observability.programs import free_port

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        shutil.which("prometheus") is None or shutil.which("promtool") is None,
        reason="no prometheus and promtool here: run scripts/install-test-tools.sh",
    ),
]

DEADLINE_S = 60.0
"""More than a start and a scrape take; a test that waits so long has failed."""


def wait_for(ask: Callable[[], Any]) -> Any:
    """The first answer that is one; raises TimeoutError when there is none."""
    turnstile = threading.Event()
    until_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < until_s:
        try:
            if answer := ask():
                return answer
        except (urllib.error.URLError, OSError):
            pass
        turnstile.wait(0.05)
    raise TimeoutError


@pytest.fixture(scope="module")
def scraped() -> Iterator[Address]:
    """Where telemetry is served that everything has happened to."""
    clock, registry, exporter = (
        FakeClock(now_s=time.time()),
        CollectorRegistry(),
        InMemorySpanExporter(),
    )
    health = Health(clock)
    telemetry = build(
        TelemetrySettings(version="1.2.3"),
        registry=registry,
        clock=clock,
        health=health,
        exporter=exporter,
    )
    now_s = clock.now_s()
    everything(telemetry, now_s)
    changed = decision(3, overridden=True, state=State.WARNING)
    telemetry.decided(facts(), turn(3), changed, received_s=now_s)
    telemetry.configured([POLICY], {"sessions_max": 10_000})
    telemetry.loop_lag(0.004)
    listener = HttpListener(Address(host="127.0.0.1"), telemetry_pages(health, registry))
    listener.start()
    yield listener.address
    listener.close()
    telemetry.close(within_s=10)


@pytest.fixture(scope="module")
def prometheus(scraped: Address, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Prometheus that scrapes it."""
    with running(tmp_path_factory.mktemp("prometheus"), scraped) as base:
        wait_for(lambda: asked(base, "query", query="up == 1"))
        yield base


@contextmanager
def running(directory: Path, scraped: Address) -> Iterator[str]:
    """A Prometheus, ready to be asked."""
    config = directory / "prometheus.yml"
    target = json.dumps(scraped.target)
    config.write_text(
        "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
        f"scrape_configs: [{{job_name: sidecar, static_configs: [{{targets: [{target}]}}]}}]\n"
    )
    port = free_port()
    log = directory / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={directory / 'tsdb'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--enable-feature=exemplar-storage",
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_for(lambda: read(f"http://127.0.0.1:{port}/-/ready"))
            yield f"http://127.0.0.1:{port}"
        except TimeoutError:
            raise RuntimeError(f"prometheus does not answer:\n{log.read_text()}") from None
        finally:
            process.terminate()
            process.wait(DEADLINE_S)


def read(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:  # noqa: S310 - a fixed scheme
        body: bytes = answer.read()
    return body


def asked(base: str, what: str, **parameters: str) -> Any:
    """The result of a query."""
    answer = json.loads(read(f"{base}/api/v1/{what}?{urllib.parse.urlencode(parameters)}"))
    assert answer["status"] == "success"
    data = answer["data"]
    return data["result"] if isinstance(data, dict) else data


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_each_metric_of_the_inventory_can_be_queried(prometheus: str, metric: Metric) -> None:
    name = f"{metric.name}_bucket" if metric.kind is Kind.HISTOGRAM else metric.name
    found = wait_for(lambda: asked(prometheus, "query", query=name))
    for series in found:
        assert set(metric.labels) <= set(series["metric"])


def test_each_metric_has_the_type_and_help_of_the_inventory(prometheus: str) -> None:
    metadata = wait_for(
        lambda: json.loads(read(f"{prometheus}/api/v1/targets/metadata?limit=1000"))["data"]
    )
    found = {each["metric"]: (each["type"], each["help"]) for each in metadata}
    for metric in METRICS:
        if not metric.foreign:
            # OpenMetrics names the family of a counter without its _total.
            family = metric.name.removesuffix("_total")
            assert found[family] == (metric.kind.value, metric.help)


def test_exemplars_arrive_with_the_trace(prometheus: str, scraped: Address) -> None:
    parameters = {
        "query": "sidecar_decision_duration_seconds_bucket",
        "start": str(time.time() - 600),
        "end": str(time.time() + 600),
    }
    found = wait_for(lambda: asked(prometheus, "query_exemplars", **parameters))
    traces = {each["labels"]["trace_id"] for series in found for each in series["exemplars"]}
    assert traces == {f"{TRACE_ID:032x}"}


def test_no_series_is_made_for_the_birth_of_another(prometheus: str) -> None:
    names = asked(prometheus, "label/__name__/values")
    assert "sidecar_turns_total" in names
    assert not [name for name in names if name.endswith("_created")]


def test_promtool_finds_no_fault_with_our_metrics(scraped: Address) -> None:
    checked = subprocess.run(
        ["promtool", "check", "metrics"],
        input=read(f"http://{scraped.target}/metrics"),
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")
