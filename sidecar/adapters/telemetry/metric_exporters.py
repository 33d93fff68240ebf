"""Which exporter of metrics the standard OTEL_* variables ask for.

The sidecar's own metrics are scraped; these are of the reference agent, which lives for a question
and could not be. As for spans: without any of the variables nothing is exported.
"""

import os
from dataclasses import dataclass
from typing import IO, Final

from opentelemetry.environment_variables import OTEL_METRICS_EXPORTER
from opentelemetry.sdk import environment_variables as otel
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, MetricExporter

from sidecar.adapters.telemetry.exporters import EXPORTERS, PROTOCOLS, names_in, seconds_of

_ENDPOINTS: Final = (otel.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, otel.OTEL_EXPORTER_OTLP_ENDPOINT)
_PROTOCOLS: Final = (otel.OTEL_EXPORTER_OTLP_METRICS_PROTOCOL, otel.OTEL_EXPORTER_OTLP_PROTOCOL)
_TIMEOUTS: Final = (otel.OTEL_EXPORTER_OTLP_METRICS_TIMEOUT, otel.OTEL_EXPORTER_OTLP_TIMEOUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChoice:
    """What the variables ask for."""

    exporters: tuple[MetricExporter, ...] = ()
    """Empty: nothing is to be exported, or `problem` says what is wrong."""
    problem: str = ""


def choose_metric_exporter(*, console: IO[str]) -> MetricChoice:
    """The exporters that the variables ask for; `console` is where one by that name writes."""
    if _first(otel.OTEL_SDK_DISABLED).lower() == "true":
        return MetricChoice()
    asked = _first(OTEL_METRICS_EXPORTER).lower() or ("otlp" if _first(*_ENDPOINTS) else "none")
    exporters: list[MetricExporter] = []
    for name in names_in(asked):
        match name:
            case "none":
                choice = MetricChoice()
            case "console":
                choice = MetricChoice(exporters=(ConsoleMetricExporter(out=console),))
            case "otlp":
                choice = _otlp()
            case _:
                choice = MetricChoice(problem=f"{OTEL_METRICS_EXPORTER} is {asked}: {EXPORTERS}")
        if choice.problem:
            return choice
        exporters += choice.exporters
    return MetricChoice(exporters=tuple(exporters))


def _otlp() -> MetricChoice:
    protocol = _first(*_PROTOCOLS) or "grpc"
    try:
        timeout_s = seconds_of(_first(*_TIMEOUTS))
        match protocol:
            case "grpc":
                return MetricChoice(exporters=(_grpc(timeout_s),))
            case "http/protobuf":
                return MetricChoice(exporters=(_http(timeout_s),))
            case _:
                return MetricChoice(problem=f"the OTLP protocol is {protocol}: {PROTOCOLS}")
    except (ValueError, RuntimeError, OSError) as error:
        return MetricChoice(problem=f"the OTEL_EXPORTER_OTLP_* variables: {error}")


def _grpc(timeout_s: float) -> MetricExporter:
    # Imported when asked for, as for spans. Raises ValueError where a variable cannot be read.
    from opentelemetry.exporter.otlp.proto.grpc.exporter import InvalidCompressionValueException
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter

    try:
        return OTLPMetricExporter(timeout=timeout_s)
    except InvalidCompressionValueException as error:
        raise ValueError(str(error)) from error


def _http(timeout_s: float) -> MetricExporter:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    return OTLPMetricExporter(timeout=timeout_s)


def _first(*variables: str) -> str:
    """The first of them that says something; empty: none does."""
    given = (os.environ.get(name, "").strip() for name in variables)
    return next(filter(None, given), "")
