"""The W3C trace context of the agent's own span, as it travels with a turn."""

import re
from typing import Final

from opentelemetry.trace import SpanContext, TraceFlags

_TRACEPARENT: Final = re.compile(
    r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII
)
"""What a later version adds behind a dash is passed over."""

_NO_VERSION: Final = "ff"

_FLAGS_KNOWN: Final = 0x03
"""sampled, and random trace id; a receiver ignores the others."""


def parse_traceparent(text: str) -> SpanContext | None:
    """The span that a `traceparent` names; None where it names none.

    Source: W3C Trace Context, level 2, section 3.2.
    """
    parts = _TRACEPARENT.fullmatch(text)
    if parts is None:
        return None
    version, trace_id, span_id, flags, later = parts.groups()
    if version == _NO_VERSION or (version == "00" and later is not None):
        return None
    context = SpanContext(
        trace_id=int(trace_id, 16),
        span_id=int(span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(int(flags, 16) & _FLAGS_KNOWN),
    )
    return context if context.is_valid else None
