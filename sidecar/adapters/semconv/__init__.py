"""The names on spans, and the inventory of the metrics."""

from sidecar.adapters.semconv.attributes import ATTRIBUTES, Attribute
from sidecar.adapters.semconv.metrics import METRICS, Kind, Metric

__all__ = ["ATTRIBUTES", "METRICS", "Attribute", "Kind", "Metric"]
