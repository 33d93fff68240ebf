"""A span as it waits for export: what the event loop hands over, cheap to make."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from opentelemetry.trace import SpanContext, SpanKind

from sidecar.core.directive import Decision
from sidecar.core.value import value

Raw: TypeAlias = str | int | float | bool | tuple[str, ...] | None
"""An attribute before it is cut; None: absent."""


@value
class SpanRecord:
    """One ended span."""

    name: str
    context: SpanContext
    parent: SpanContext | None
    links: tuple[tuple[SpanContext, str], ...] = ()
    """Spans linked to, each with what it is."""
    start_s: float
    """Seconds since the epoch, as `end_s`."""
    end_s: float
    session: Mapping[str, str]
    """Attributes of every span of the session."""
    describe: Callable[[], Mapping[str, Raw]]
    """Its own attributes, worked out when they are needed."""
    kind: SpanKind = SpanKind.INTERNAL
    decision: Decision | None = None
    """What the events are made from."""
