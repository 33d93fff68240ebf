"""What a sidecar takes while it runs, and whether that grows."""

import statistics
import sys
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import psutil

from sidecar.testing import SidecarProcess

HOUR_S: Final = 3600.0
MIB: Final = 1024 * 1024
PART: Final = 5
"""A fifth of the samples is compared with another: a single one says as much of the moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One look at the process and its metrics."""

    age_s: float
    """Since the process was ready."""
    rss_mib: float
    fds: int
    threads: int
    series: int


def sample(sidecar: SidecarProcess, *, age_s: float) -> Sample:
    """Look, and scrape /metrics. Raises AssertionError when the process is gone."""
    assert sidecar.process.poll() is None, f"gone: {sidecar.process.poll()}\n{sidecar.log}"
    page = metrics(sidecar)
    process = psutil.Process(sidecar.process.pid)
    return Sample(
        age_s=age_s,
        rss_mib=process.memory_info().rss / MIB,
        fds=process.num_fds(),
        threads=process.num_threads(),
        series=sum(not line.startswith("#") for line in page),
    )


def tell(what: object) -> None:
    """Say how it goes, for whoever reads along."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def metrics(sidecar: SidecarProcess) -> list[str]:
    """The lines of /metrics."""
    address = sidecar.addresses["telemetry_address"]
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=20) as page:
        return [line.decode() for line in page.read().splitlines()]


def total(page: Sequence[str], name: str, *labels: str) -> float:
    """The sum of a metric's series that have all these labels, each as `name="value"`."""
    return sum(
        float(line.rsplit(" ", 1)[1])
        for line in page
        if line.partition(" ")[0].partition("{")[0] == name
        and all(label in line for label in labels)
    )


def slope_per_hour(points: Sequence[tuple[float, float]]) -> float:
    """The slope of (seconds, amount) by least squares, per hour."""
    seconds, amounts = zip(*points, strict=True)
    return HOUR_S * statistics.linear_regression(seconds, amounts).slope


def growth(amounts: Sequence[float]) -> float:
    """The median of the last fifth less that of the first."""
    count = max(1, len(amounts) // PART)
    return statistics.median(amounts[-count:]) - statistics.median(amounts[:count])
