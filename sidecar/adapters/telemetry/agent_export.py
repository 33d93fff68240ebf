"""The reference agent's way to a collector: the SDK's providers, as the OTEL_* variables ask.

The agent is a program that a person waits for. So whatever the collector does, it ends within
CLOSE_S of its last word, says in one line what went wrong, and leaves standard output alone.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from opentelemetry.metrics import Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Tracer

from sidecar.adapters.telemetry.exporters import SPANS, Several, choose
from sidecar.adapters.telemetry.metric_exporters import METRICS
from sidecar.adapters.telemetry.process import resource

SERVICE: Final = "codeagent"
CLOSE_S: Final = 3.0
"""For the last batch; one to a collector on the same machine takes milliseconds."""
LOGGER: Final = "opentelemetry"
"""Of the SDK and its exporters, which log a line for each failed attempt."""


@dataclass(slots=True, kw_only=True)
class Exported:
    """Where an agent's spans and measurements go."""

    tracer: Tracer | None = None
    """None: spans are not exported."""
    meter: Meter | None = None
    """None: measurements are not exported."""
    closing: list[Callable[[], None]] = field(default_factory=list)
    """What has to be done at the end."""


@contextmanager
def exported(scope: str, version: str, *, say: Callable[[str], None]) -> Iterator[Exported]:
    """Export for as long as the block lasts, and a little longer. `say` is told what went wrong, a
    line at a time."""
    exporting = Exported()
    complaints = _Complaints()
    with complaints.listening():
        try:
            named = resource(version, name=SERVICE)
            _trace(exporting, named, scope, version, say)
            _measure(exporting, named, scope, version, say)
        except ValueError as error:
            say(f"the OTEL_* variables: {error}")
        try:
            yield exporting
        finally:
            if not _closed(exporting.closing):
                say(f"the collector did not answer within {CLOSE_S:g} s")
            for complaint in complaints.said:
                say(complaint)


def _trace(
    exporting: Exported, named: Resource, scope: str, version: str, say: Callable[[str], None]
) -> None:
    choice = choose(SPANS, console=sys.stderr)
    if choice.problem:
        say(choice.problem)
    if not choice.exporters:
        return
    provider = TracerProvider(resource=named, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Several(choice.exporters)))
    exporting.tracer = provider.get_tracer(scope, version)
    exporting.closing.append(provider.shutdown)


def _measure(
    exporting: Exported, named: Resource, scope: str, version: str, say: Callable[[str], None]
) -> None:
    choice = choose(METRICS, console=sys.stderr)
    if choice.problem:
        say(choice.problem)
    if not choice.exporters:
        return
    readers = [PeriodicExportingMetricReader(exporter) for exporter in choice.exporters]
    provider = MeterProvider(readers, resource=named, shutdown_on_exit=False)
    exporting.meter = provider.get_meter(scope, version)
    exporting.closing.append(provider.shutdown)


def _closed(closing: list[Callable[[], None]]) -> bool:
    """Send what waits. False: it took too long, and some of it may be lost."""
    # The SDK waits up to 30 s; these threads end with the process.
    threads = [threading.Thread(target=close, daemon=True) for close in closing]
    for thread in threads:
        thread.start()
    until_s = time.monotonic() + CLOSE_S
    for thread in threads:
        thread.join(max(0.0, until_s - time.monotonic()))
    return not any(thread.is_alive() for thread in threads)


class _Complaints(logging.Handler):
    """Keeps what the SDK logs, each sort of line once."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._by_message: dict[str, str] = {}

    @property
    def said(self) -> list[str]:
        """The latest line of each sort, the sorts in the order they came."""
        return list(self._by_message.values())

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self._by_message[str(record.msg)] = " ".join(record.getMessage().split())

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take the lines for as long as the block lasts; nobody else sees them."""
        log = logging.getLogger(LOGGER)
        propagated, log.propagate = log.propagate, False
        log.addHandler(self)
        try:
            yield
        finally:
            log.removeHandler(self)
            log.propagate = propagated
