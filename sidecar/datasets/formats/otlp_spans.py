"""Spans of OTLP JSON with their attributes as plain values."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec

from sidecar.adapters.semconv import attributes as semconv

_ERROR: Final = (2, "STATUS_CODE_ERROR")
_WHOLE: Final = re.compile("-?[0-9]{1,19}")
_OPERATION: Final = ("gen_ai.operation.name", "openinference.span.kind")
_SESSION: Final = (
    semconv.CONVERSATION_ID,
    semconv.SESSION_ID,
    "conversation.id",
    "traceloop.association.properties.session_id",
)

Nanoseconds = (
    Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
    | Annotated[str, msgspec.Meta(pattern="^[0-9]{1,19}$")]
)
"""Since 1970. OTLP JSON writes whole numbers of 64 bits as text; some writers do not."""


class Attribute(msgspec.Struct, frozen=True):
    key: str
    value: Any = None


class Resource(msgspec.Struct, frozen=True):
    attributes: list[Attribute] = []


class Status(msgspec.Struct, frozen=True):
    code: int | str = 0
    message: str = ""


class Span(msgspec.Struct, frozen=True, rename="camel"):
    trace_id: str
    span_id: str
    parent_span_id: str = ""
    start_time_unix_nano: Nanoseconds = 0
    end_time_unix_nano: Nanoseconds = 0
    attributes: list[Attribute] = []
    status: Status = Status()


class ScopeSpans(msgspec.Struct, frozen=True):
    spans: list[Span] = []


class ResourceSpans(msgspec.Struct, frozen=True, rename="camel"):
    scope_spans: list[ScopeSpans] = []
    resource: Resource = Resource()


class Export(msgspec.Struct, frozen=True, rename="camel"):
    resource_spans: list[ResourceSpans]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A span with its attributes as plain values."""

    span: Span
    attributes: Mapping[str, Any]
    session: str
    """That it or its resource names; may be empty."""

    def first(self, names: tuple[str, ...]) -> Any:
        """The first of the attributes that is there."""
        return next((self.attributes[name] for name in names if name in self.attributes), None)

    def text(self, names: tuple[str, ...]) -> str:
        """The same as text; what is structured is written as JSON."""
        value = self.first(names)
        if value is None or isinstance(value, str):
            return value or ""
        return msgspec.json.encode(value).decode()

    def count(self, names: tuple[str, ...]) -> int | None:
        """The same as a count; None where it is none."""
        value = self.first(names)
        counted = isinstance(value, int) and not isinstance(value, bool)
        return value if counted and 0 <= value <= 2**53 else None

    @property
    def operation(self) -> str:
        """What the span is of: chat, execute_tool, LLM and so on; empty: nothing of an agent's."""
        return self.text(_OPERATION)

    @property
    def begun_s(self) -> float:
        """Since 1970."""
        return int(self.span.start_time_unix_nano) / 1e9

    @property
    def ended_s(self) -> float:
        """Since 1970."""
        return int(self.span.end_time_unix_nano) / 1e9

    @property
    def failed(self) -> bool:
        """Whether its status is an error."""
        return self.span.status.code in _ERROR


def spans_in(export: Export) -> Iterator[Seen]:
    """The spans of an export."""
    for resource_spans in export.resource_spans:
        resource = _plain(resource_spans.resource.attributes)
        for scope in resource_spans.scope_spans:
            for span in scope.spans:
                attributes = _plain(span.attributes)
                session = _session(attributes) or _session(resource)
                yield Seen(span=span, attributes=attributes, session=session)


def _session(attributes: Mapping[str, Any]) -> str:
    return next((str(attributes[name]) for name in _SESSION if attributes.get(name)), "")


def _plain(attributes: list[Attribute]) -> dict[str, Any]:
    return {attribute.key: _value(attribute.value) for attribute in attributes}


def _value(value: Any) -> Any:
    """An AnyValue of OTLP JSON; None where it is of another form."""
    match value:
        case {"intValue": int() as number}:
            return number
        case {"intValue": str() as digits} if _WHOLE.fullmatch(digits):
            return int(digits)
        case {"stringValue": plain} | {"boolValue": plain} | {"doubleValue": plain}:
            return plain
        case {"arrayValue": {"values": list() as values}}:
            return [_value(part) for part in values]
        case {"kvlistValue": {"values": list() as pairs}}:
            return {
                key: _value(part)
                for key, part in (
                    (pair.get("key"), pair.get("value")) for pair in pairs if isinstance(pair, dict)
                )
                if isinstance(key, str)
            }
    return None
