"""Which exporter the standard OTEL_* variables ask for.

Without any of them nothing is exported, as OpenTelemetry's own configurator for Python has it: a
sidecar on a machine without a collector should not knock at localhost:4317 for ever and report
losses. An endpoint alone is enough to switch it on, and so is OTEL_TRACES_EXPORTER=otlp.

Whatever is wrong with them is reported and exports nothing, but stops nobody: they are often
inherited from the agent's own environment, and the agent must not suffer for them.
"""

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Final
from urllib.parse import urlsplit

from opentelemetry.environment_variables import OTEL_TRACES_EXPORTER
from opentelemetry.sdk import environment_variables as otel
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExporter, SpanExportResult

TIMEOUT_S: Final = 5.0
"""For one batch, retries included, where no variable says otherwise (the standard has 10): a
collector that does not answer has to show in the status within 10 s."""

TIMEOUT_MAX_S: Final = 8.0
"""Whatever the variables say, for the same reason: with DELAY_S that leaves a second. The standard
and most SDKs count OTEL_EXPORTER_OTLP_TIMEOUT in milliseconds, this one in seconds, and their
10,000 would be three hours."""

DELAY_S: Final = 1.0
"""Between batches (the standard has 5), for the same reason; a trace is also seen sooner."""

BATCH_MAX: Final = 512
"""Spans of a batch, as the standard has it."""

GRPC_PORT: Final = 4317
HTTP_PORT: Final = 4318
EXPORTERS: Final = "it must be otlp, console or none, or some of them with commas between"
PROTOCOLS: Final = "it must be grpc or http/protobuf"
OWN: Final = "the OTLP endpoint is this sidecar's own listener"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What the variables ask for."""

    exporter: SpanExporter | None = None
    """None: nothing is to be exported, or `problem` says what is wrong."""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """How spans are gathered."""

    spans_max: int
    batch_max: int
    delay_s: float


def choose_exporter(own_ports: frozenset[int], *, console: IO[str] | None = None) -> Choice:
    """The exporter that the variables ask for; `console` is where one by that name writes, without
    it standard output.

    `own_ports` are the sidecar's own listeners: an agent that sends its telemetry to the sidecar
    has an endpoint in its environment that the sidecar must not send to.
    """
    if _given(otel.OTEL_SDK_DISABLED).lower() == "true":
        return Choice()
    endpoint = _given(otel.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) or _given(
        otel.OTEL_EXPORTER_OTLP_ENDPOINT
    )
    asked = _given(OTEL_TRACES_EXPORTER).lower() or ("otlp" if endpoint else "none")
    exporters: list[SpanExporter] = []
    for name in names_in(asked):
        match name:
            case "none":
                choice = Choice()
            case "console":
                choice = Choice(exporter=ConsoleSpanExporter(out=console or sys.stdout))
            case "otlp":
                choice = _otlp(endpoint, own_ports)
            case _:
                choice = Choice(problem=f"{OTEL_TRACES_EXPORTER} is {asked}: {EXPORTERS}")
        if choice.problem:
            return choice
        if choice.exporter is not None:
            exporters.append(choice.exporter)
    return Choice(exporter=Several(exporters) if exporters else None)


class Several(SpanExporter):
    """Exports to each of some; what one of them did not take counts as not taken."""

    def __init__(self, exporters: Sequence[SpanExporter]) -> None:
        """In this order."""
        self._exporters = tuple(exporters)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Whether all of them took the spans."""
        results = {exporter.export(spans) for exporter in self._exporters}
        return (
            SpanExportResult.SUCCESS
            if results == {SpanExportResult.SUCCESS}
            else SpanExportResult.FAILURE
        )

    def shutdown(self) -> None:
        """Shut each down."""
        for exporter in self._exporters:
            exporter.shutdown()


def names_in(asked: str) -> list[str]:
    """The names of a list with commas, each once."""
    return list(dict.fromkeys(name.strip() for name in asked.split(",") if name.strip()))


def seconds_of(asked: str) -> float:
    """The seconds that a timeout of OTLP gives one batch, at most TIMEOUT_MAX_S; empty: TIMEOUT_S.

    Raises ValueError where it is no number above 0.
    """
    timeout_s = float(asked) if asked else TIMEOUT_S
    if not 0 < timeout_s < math.inf:
        raise ValueError(f"a timeout is {asked}: it must be a number of seconds above 0")
    return min(timeout_s, TIMEOUT_MAX_S)


def choose_batching(span_queue_max: int) -> Batching:
    """What OTEL_BSP_* ask for; the queue is never longer than `span_queue_max`."""
    asked = _count(otel.OTEL_BSP_MAX_QUEUE_SIZE) or span_queue_max
    delay_ms = _count(otel.OTEL_BSP_SCHEDULE_DELAY)
    return Batching(
        spans_max=min(asked, span_queue_max),
        batch_max=_count(otel.OTEL_BSP_MAX_EXPORT_BATCH_SIZE) or BATCH_MAX,
        delay_s=DELAY_S if delay_ms is None else delay_ms / 1000,
    )


def _otlp(endpoint: str, own_ports: frozenset[int]) -> Choice:
    protocol = _given(otel.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL) or _given(
        otel.OTEL_EXPORTER_OTLP_PROTOCOL
    )
    try:
        match protocol or "grpc":
            case "grpc":
                own = _is_own(endpoint, GRPC_PORT, own_ports)
                return Choice(problem=OWN) if own else _grpc()
            case "http/protobuf":
                own = _is_own(endpoint, HTTP_PORT, own_ports)
                return Choice(problem=OWN) if own else _http()
            case _:
                return Choice(problem=f"the OTLP protocol is {protocol}: {PROTOCOLS}")
    except (ValueError, RuntimeError, OSError) as error:
        return Choice(problem=f"the OTEL_EXPORTER_OTLP_* variables: {error}")


def _grpc() -> Choice:
    # Imported when asked for: 0.4 s that a sidecar without a collector need not spend.
    from opentelemetry.exporter.otlp.proto.grpc.exporter import (
        InvalidCompressionValueException,
    )
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (
        OTLPSpanExporter,
    )

    try:
        return Choice(exporter=OTLPSpanExporter(timeout=_timeout_s()))
    except InvalidCompressionValueException as error:
        return Choice(problem=str(error))


def _http() -> Choice:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
        OTLPSpanExporter,
    )

    return Choice(exporter=OTLPSpanExporter(timeout=_timeout_s()))


def _timeout_s() -> float:
    """The least of what the variables allow for one batch. The SDK reads seconds in the first two,
    and milliseconds in the third."""
    asked = _given(otel.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT) or _given(
        otel.OTEL_EXPORTER_OTLP_TIMEOUT
    )
    batch_ms = _count(otel.OTEL_BSP_EXPORT_TIMEOUT)
    timeout_s = seconds_of(asked)
    return timeout_s if batch_ms is None else min(timeout_s, batch_ms / 1000)


def _is_own(endpoint: str, default_port: int, own_ports: frozenset[int]) -> bool:
    """Whether the endpoint leads back here. Raises ValueError where it is none."""
    target = urlsplit(endpoint if "://" in endpoint else f"//{endpoint or 'localhost'}")
    return target.hostname in _LOOPBACK and (target.port or default_port) in own_ports


def _given(name: str) -> str:
    return os.environ.get(name, "").strip()


def _count(name: str) -> int | None:
    """A positive number; what is none counts as not given, as the standard has it."""
    text = _given(name)
    return int(text) if text.isdecimal() and int(text) > 0 else None
