"""Records to the SDK's spans: done on the exporter's thread, where time does not matter."""

from collections.abc import Iterator, Mapping
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from sidecar.adapters.semconv import attributes as names
from sidecar.adapters.telemetry.record import Raw, SpanRecord
from sidecar.adapters.telemetry.text import EVIDENCE_BYTES_MAX, cut
from sidecar.adapters.telemetry.wording import directive_name, severity_name
from sidecar.core.bounds import COUNT_MAX
from sidecar.core.directive import Decision, Strength, strength_of
from sidecar.core.reading import Reading

SCOPE_NAME: Final = "sidecar"

NANOSECONDS: Final = 1_000_000_000


class Renderer:
    """Builds spans that stand for the same process and version."""

    def __init__(self, resource: Resource, *, version: str) -> None:
        """Fix what all spans share."""
        self._resource = resource
        self._scope = InstrumentationScope(SCOPE_NAME, version)

    def render(self, record: SpanRecord) -> ReadableSpan:
        """The span, ready for an exporter."""
        own = record.describe()
        error = own.get(names.ERROR_TYPE)
        return ReadableSpan(
            name=record.name,
            context=record.context,
            parent=record.parent,
            resource=self._resource,
            attributes={**record.session, **_clean(own)},
            events=tuple(_events(record)),
            links=[Link(context, {names.LINK: what}) for context, what in record.links],
            kind=record.kind,
            status=Status(StatusCode.UNSET if error is None else StatusCode.ERROR),
            start_time=round(record.start_s * NANOSECONDS),
            end_time=round(record.end_s * NANOSECONDS),
            instrumentation_scope=self._scope,
        )


def _clean(raw: Mapping[str, Raw]) -> dict[str, AttributeValue]:
    """What can be exported: strings cut, absent ones and integers beyond int64 left out."""
    clean: dict[str, AttributeValue] = {}
    for name, value in raw.items():
        match value:
            case None:
                continue
            case str():
                clean[name] = cut(value)
            case tuple():
                clean[name] = tuple(cut(each) for each in value)
            case int() if abs(value) > COUNT_MAX:
                continue
            case _:
                clean[name] = value
    return clean


def _events(record: SpanRecord) -> Iterator[Event]:
    if record.decision is None:
        return
    time_ns = round(record.end_s * NANOSECONDS)
    for reading in record.decision.readings:
        yield Event(names.EVALUATION_EVENT, _evaluation(reading), time_ns)
    if strength_of(record.decision.directive) > Strength.PROCEED:
        yield Event(names.DIRECTIVE_EVENT, _directive(record.decision), time_ns)


def _evaluation(reading: Reading) -> dict[str, AttributeValue]:
    return {
        names.EVALUATION_NAME: cut(reading.signal),
        names.EVALUATION_SCORE: reading.value,
        names.EVALUATION_THRESHOLD: reading.threshold,
        names.EVALUATION_LABEL: severity_name(reading),
        names.EVALUATION_EXPLANATION: cut(reading.summary, EVIDENCE_BYTES_MAX),
    }


def _directive(decision: Decision) -> dict[str, AttributeValue]:
    return {
        names.DECISION_ID: decision.decision_id,
        names.DIRECTIVE: directive_name(decision.directive),
        names.SIGNAL: cut(decision.signal),
    }
