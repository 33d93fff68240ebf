"""The metrics of the sidecar itself: losses, refusals, spans, event loop, configuration."""

import platform
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from sidecar.adapters.semconv import Metric
from sidecar.adapters.semconv import metrics as inventory
from sidecar.adapters.telemetry.exporting import Loss
from sidecar.adapters.telemetry.families import Families
from sidecar.adapters.telemetry.label_values import OTHER, LabelValues
from sidecar.adapters.telemetry.memory_limit import MemoryLimitCollector
from sidecar.core.policy import Policy
from sidecar.health import Health, Status
from sidecar.sessions.give_ups import REASONS

REASONS_MAX: Final = 64
"""Reasons are named by this program, and fewer; the bound is against mistakes."""

SPAN: Final = "span"


class ProcessMetrics:
    """Counts what happens to the sidecar. No method blocks or raises."""

    def __init__(self, families: Families, *, version: str) -> None:
        """Register the metrics, and say that `version` runs."""
        self._reasons = LabelValues(REASONS_MAX)
        self._what = LabelValues(REASONS_MAX)
        self._refused = families.children(inventory.REFUSED)
        self._lost = families.children(inventory.LOST)
        self._gave_up = families.children(inventory.CLIENT_FAIL_OPEN)
        self._made = families.counter(inventory.SPANS)
        self._exported = families.counter(inventory.SPANS_EXPORTED)
        self._queued = families.gauge(inventory.SPANS_QUEUED)
        self._loop_lag = families.histogram(inventory.LOOP_LAG)
        self._bound = families.gauge(inventory.BOUND)
        self._policy = families.gauge(inventory.POLICY_INFO)
        families.gauge(inventory.BUILD_INFO).labels(version, platform.python_version()).set(1)
        for reason in REASONS:  # a rate needs to see the 0 before the first 1
            self._gave_up[(reason,)].inc(0)
        for loss in Loss:
            self._lost[SPAN, loss.value].inc(0)

    def refused(self, reason: str) -> None:
        """A call or stream was refused or ended."""
        self._refused[(self._reasons.fold(reason),)].inc()

    def lost_items(self, what: str, reason: str, count: int) -> None:
        """Something accepted was given up."""
        self._lost[self._what.fold(what), self._reasons.fold(reason)].inc(count)

    def gave_up(self, reason: str, count: int) -> None:
        """Clients proceeded without a decision."""
        self._gave_up[(reason if reason in REASONS else OTHER,)].inc(count)

    def made(self) -> None:
        """A span was made."""
        self._made.inc()

    def exported(self, count: int) -> None:
        """A collector took spans."""
        self._exported.inc(count)

    def lost(self, loss: Loss, count: int) -> None:
        """Spans will not arrive."""
        self._lost[SPAN, loss.value].inc(count)

    def queued_by(self, length: Callable[[], int]) -> None:
        """Ask `length` for the spans queued, whenever somebody scrapes."""
        self._queued.set_function(length)

    def loop_lag(self, seconds: float) -> None:
        """The event loop's heartbeat came so late."""
        self._loop_lag.observe(max(0.0, seconds))

    def configured(self, policies: Iterable[Policy], bounds: Mapping[str, float]) -> None:
        """What is in force; replaces what was before."""
        self._policy.clear()
        for policy in policies:
            self._policy.labels(policy.name, policy.revision).set(1)
        for bound, limit in bounds.items():
            self._bound.labels(bound).set(limit)


class HealthCollector(Collector):
    """Health as metrics, read when somebody scrapes."""

    def __init__(self, health: Health) -> None:
        """Read it from `health`."""
        self._health = health

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The names, so that the registry can refuse doubles."""
        return [
            _family(inventory.COMPONENT_STATUS),
            _family(inventory.READY),
            _family(inventory.UPTIME),
        ]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The values."""
        status, ready, uptime = self.describe()
        for name, condition in self._health.components.items():
            for each in Status:
                status.add_metric([name, each.value], float(each is condition.status))
        ready.add_metric([], float(self._health.readyz().ok))
        uptime.add_metric([], self._health.uptime_s)
        return [status, ready, uptime]


def register_process(registry: CollectorRegistry, health: Health) -> None:
    """Health, and what prometheus_client itself knows of the process and its garbage."""
    registry.register(HealthCollector(health))
    registry.register(MemoryLimitCollector())
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)


def _family(metric: Metric) -> GaugeMetricFamily:
    return GaugeMetricFamily(metric.name, metric.help, labels=metric.labels)
