"""Metrics as prometheus_client has them, built from the inventory."""

import re
import threading
from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from sidecar.adapters.semconv import Metric
from sidecar.adapters.telemetry.label_values import OTHER

AGENT_LABEL: Final = "agent"
"""A metric with this label also has the operator's."""

OPERATOR_PREFIX: Final = "label_"

OUTSIDE_LABELS: Final = frozenset({AGENT_LABEL, "model", "policy", "tool"})
"""Labels whose values come from agents and operators; those of all others are this program's."""

_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_]")


class Allowance:
    """Series of all counters with labels together: each label is bounded, and their product is not.

    The last quarter is kept for what this program itself names (a directive, a reason): however
    many agents there are, the first `halt` is counted as one. May be asked from any thread.
    """

    def __init__(self, series_max: int) -> None:
        """Allow so many."""
        self._left = series_max
        self._kept = series_max // 4
        self._lock = threading.Lock()

    def take(self, *, is_named_here: bool) -> bool:
        """Whether one more may be made, which then counts."""
        with self._lock:
            may = self._left > (0 if is_named_here else self._kept)
            self._left -= may
            return may


class Children(dict[tuple[str, ...], Counter]):
    """A counter's series by their label values; `labels()` takes 1 us, a look here 0.1."""

    def __init__(self, family: Counter, labels: Sequence[str], allowance: Allowance) -> None:
        """Begin with none. `labels` are the family's."""
        super().__init__()
        self._family = family
        self._is_outside = tuple(
            label in OUTSIDE_LABELS or label.startswith(OPERATOR_PREFIX) for label in labels
        )
        self._allowance = allowance

    def __missing__(self, values: tuple[str, ...]) -> Counter:
        """A series that is counted for the first time: its own, or where too many are there one in
        which the names from outside are `other`, and at last one in which every value is."""
        folded = tuple(
            OTHER if outside else value
            for outside, value in zip(self._is_outside, values, strict=True)
        )
        if self._allowance.take(is_named_here=values == folded):
            child = self[values] = self._family.labels(*values)
            return child
        if values != folded:
            return self[folded]
        return self._family.labels(*(OTHER for _ in values))


class Families:
    """Makes each metric of the inventory, in one registry."""

    def __init__(
        self, registry: CollectorRegistry, *, label_keys: Sequence[str], series_max: int
    ) -> None:
        """Add a label for each of the operator's `label_keys` to the metrics by agent; bound the
        series of counters with labels to `series_max`, and one more each.

        Raises ValueError where two keys make the same label.
        """
        self._registry = registry
        self._allowance = Allowance(series_max)
        self._extra = tuple(f"{OPERATOR_PREFIX}{_NOT_IN_NAMES.sub('_', key)}" for key in label_keys)
        if len(set(self._extra)) < len(self._extra):
            raise ValueError(f"label_keys is {list(label_keys)}: two of them make the same label")

    def counter(self, metric: Metric) -> Counter:
        """A counter."""
        return Counter(metric.name, metric.help, self._labels(metric), registry=self._registry)

    def children(self, metric: Metric) -> Children:
        """A counter with labels."""
        return Children(self.counter(metric), self._labels(metric), self._allowance)

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
