"""Metrics as prometheus_client has them, built from the inventory."""

import re
from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from sidecar.adapters.semconv import Metric

AGENT_LABEL: Final = "agent"
"""A metric with this label also has the operator's."""

_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_]")


class Children(dict[tuple[str, ...], Counter]):
    """A counter's series by their label values; `labels()` takes 1 us, a look here 0.1."""

    def __init__(self, family: Counter) -> None:
        """Begin with none."""
        super().__init__()
        self._family = family

    def __missing__(self, values: tuple[str, ...]) -> Counter:
        """A series that is counted for the first time."""
        child = self[values] = self._family.labels(*values)
        return child


class Families:
    """Makes each metric of the inventory, in one registry."""

    def __init__(self, registry: CollectorRegistry, *, label_keys: Sequence[str]) -> None:
        """Add a label for each of the operator's `label_keys` to the metrics by agent.

        Raises ValueError where two keys make the same label.
        """
        self._registry = registry
        self._extra = tuple(f"label_{_NOT_IN_NAMES.sub('_', key)}" for key in label_keys)
        if len(set(self._extra)) < len(self._extra):
            raise ValueError(f"label_keys is {list(label_keys)}: two of them make the same label")

    def counter(self, metric: Metric) -> Counter:
        """A counter."""
        return Counter(metric.name, metric.help, self._labels(metric), registry=self._registry)

    def children(self, metric: Metric) -> Children:
        """A counter with labels."""
        return Children(self.counter(metric))

    def gauge(self, metric: Metric) -> Gauge:
        """A gauge."""
        return Gauge(metric.name, metric.help, self._labels(metric), registry=self._registry)

    def histogram(self, metric: Metric) -> Histogram:
        """A histogram."""
        return Histogram(
            metric.name,
            metric.help,
            self._labels(metric),
            buckets=metric.buckets,
            registry=self._registry,
        )

    def _labels(self, metric: Metric) -> tuple[str, ...]:
        return metric.labels + (self._extra if AGENT_LABEL in metric.labels else ())
