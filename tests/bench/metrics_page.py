"""What a scrape costs: `/metrics` with every label at its full set, over loopback."""

import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sidecar.adapters.http import HttpListener, telemetry_pages
from sidecar.addresses import Address
from tests.edges.full_labels import full_world
from tests.edges.telemetry_samples import series_count

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SCRAPES: Final = 50
ACCEPT: Final = "application/openmetrics-text; version=1.0.0"
"""As Prometheus asks; without compression, which it takes where the page says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrape:
    """What one took."""

    series: int
    kib: float
    ms: float
    """The median."""


def scrape_cost() -> Scrape:
    """Scrape a filled registry, one after the other."""
    spawning = get_context("spawn")
    ours, theirs = spawning.Pipe()
    # In a process of its own, as a sidecar is: the two would wait for one another's lock.
    server = spawning.Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    try:
        target, series = ours.recv()
        taken_s: list[float] = []
        size = 0
        for _ in range(SCRAPES):
            began_s = time.perf_counter()
            size = len(_page(f"http://{target}/metrics"))
            taken_s.append(time.perf_counter() - began_s)
    finally:
        ours.close()
        server.join()
    return Scrape(series=series, kib=size / 1024, ms=1e3 * median(taken_s))


def _serve(caller: "Connection[Any, Any]") -> None:
    """Serve the page, say where and of how many series, until the caller is gone."""
    world = full_world(InMemorySpanExporter())
    listener = HttpListener(
        Address(host="127.0.0.1"), telemetry_pages(world.health, world.registry)
    )
    listener.start()
    try:
        caller.send((listener.address.target, series_count(world.registry)))
        with suppress(EOFError):
            caller.recv()
    finally:
        listener.close()


def _page(url: str) -> bytes:
    request = urllib.request.Request(url, headers={"Accept": ACCEPT})  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        body: bytes = answer.read()
    return body
