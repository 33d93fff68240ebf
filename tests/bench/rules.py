"""`python -m tests.bench.rules`: do the recording rules and alerts keep up with 500 sidecars?

One exporter serves them all, each with every label at its full set, to a real Prometheus under the
shipped scrape config, rules and intervals. Nothing is asserted: the machine decides a lot. They
keep up where no evaluation was missed and each group takes less than its interval.
"""

import argparse
import re
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any, Final

import psutil
import yaml
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import generate_latest

from tests.bench.rows import Row, print_rows
from tests.edges.full_labels import full_world
from tests.observability.conftest import JOB, shipped_rules
from tests.observability.exporter import exporter
from tests.observability.programs import SCRAPE_CONFIG, Prometheus, prometheus, read, shipped_config

SIDECARS: Final = 500
SAMPLE: Final = re.compile(r"^([^#\s]\S*(?:\{.*\})?) (\S+)$")
LASTED: Final = "prometheus_rule_group_last_duration_seconds"
GROWS: Final = re.compile(r"_total|_bucket|_count|_sum")
MIB: Final = 1024 * 1024
ASKED_EACH_S: Final = 5.0


class Copies:
    """A page that is served for each sidecar, with counters that grow with the time."""

    def __init__(self, page: str) -> None:
        """Take the page of one sidecar as the first of all."""
        self._began_s = time.monotonic()
        self._parts: list[tuple[str, float]] = []
        for line in page.splitlines():
            found = SAMPLE.match(line)
            if found is not None and GROWS.search(found[1]) and float(found[2]) > 0:
                self._parts.append((found[1], float(found[2]) / 60))
            else:
                self._parts.append((line, 0.0))

    def render(self, _: str) -> str:
        """The page as it is now: each counter grows by its first value in a minute."""
        age_s = time.monotonic() - self._began_s
        lines = [
            f"{text} {growth_s * age_s:.0f}" if growth_s else text for text, growth_s in self._parts
        ]
        return "\n".join(lines) + "\n"


def configuration(address: str) -> dict[str, Any]:
    """The shipped one, with five hundred targets at one address."""
    config = shipped_config({JOB: []}, rules=shipped_rules())
    config["global"] = yaml.safe_load(SCRAPE_CONFIG.read_text("utf-8"))["global"]
    config["scrape_configs"][0]["static_configs"] = [
        {
            "targets": [address],
            "labels": {
                "__metrics_path__": f"/{number}",
                "instance": f"sidecar-{number}",
                "cluster": "bench",
                "namespace": f"team-{number % 10}",
            },
        }
        for number in range(SIDECARS)
    ]
    return config


def own_metrics(running: Prometheus, name: str) -> list[tuple[str, float]]:
    """The labels and values that Prometheus has of itself."""
    page = read(f"{running.base}/metrics").decode()
    found = re.findall(rf"^{name}(\{{.*\}})? (\S+)$", page, re.MULTILINE)
    return [(labels, float(value)) for labels, value in found]


def total(running: Prometheus, name: str) -> float:
    """The sum of what Prometheus has of itself."""
    return sum(value for _, value in own_metrics(running, name))


def measure(seconds: float) -> list[Row]:
    """Let it run for so long."""
    turnstile = threading.Event()
    copies = Copies(generate_latest(full_world(InMemorySpanExporter()).registry).decode())
    lasted_s: dict[str, list[float]] = defaultdict(list)
    with (
        tempfile.TemporaryDirectory() as directory,
        exporter(copies.render) as address,
        prometheus(Path(directory), configuration(address)) as running,
    ):
        process = psutil.Process(running.process.pid)
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            turnstile.wait(ASKED_EACH_S)
            for group, took_s in own_metrics(running, LASTED):
                lasted_s[group].append(took_s)
        missed = total(running, "prometheus_rule_group_iterations_missed_total")
        failed = total(running, "prometheus_rule_evaluation_failures_total")
        series = total(running, "prometheus_tsdb_head_series")
        up = running.instant(f'sum(up{{job="{JOB}"}})')[0]["value"][1]
        used = process.cpu_times()
        busy = (used.user + used.system) / seconds
        resident = process.memory_info().rss / MIB
    return [
        Row(what=f"sidecars up, of {SIDECARS}, after {seconds:.0f} s", measured=str(up), bar="all"),
        Row(what="series in Prometheus", measured=f"{series:.0f}"),
        Row(what="evaluations missed, and failed", measured=f"{missed:.0f}, {failed:.0f}", bar="0"),
        Row(
            what="slowest group of rules: median and longest",
            measured=f"{max(map(median, lasted_s.values())):.2f} s, "
            f"{max(map(max, lasted_s.values())):.2f} s",
            bar="<= 15 s",
        ),
        Row(what="Prometheus: cores, memory", measured=f"{busy:.2f}, {resident:.0f} MiB"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.rules")
    parser.add_argument("--seconds", type=float, default=600.0)
    print_rows(measure(parser.parse_args().seconds))


if __name__ == "__main__":
    main()
