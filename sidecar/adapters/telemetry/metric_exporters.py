"""The exporters of metrics that the standard OTEL_* variables can ask for.

The sidecar's own metrics are scraped; these are of the reference agent, which lives for a question
and could not be. As for spans: without any of the variables nothing is exported.
"""

from typing import Final

from opentelemetry.sdk import environment_variables as otel
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, MetricExporter

from sidecar.adapters.telemetry.exporters import Sort, given, seconds_of


def _grpc() -> MetricExporter:
    # Imported when asked for, as for spans.
    from opentelemetry.exporter.otlp.proto.grpc.exporter import InvalidCompressionValueException
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter

    try:
        return OTLPMetricExporter(timeout=_timeout_s())
    except InvalidCompressionValueException as error:
        raise ValueError(str(error)) from error


def _http() -> MetricExporter:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    return OTLPMetricExporter(timeout=_timeout_s())


def _timeout_s() -> float:
    asked = given(otel.OTEL_EXPORTER_OTLP_METRICS_TIMEOUT, otel.OTEL_EXPORTER_OTLP_TIMEOUT)
    return seconds_of(asked)


METRICS: Final[Sort[MetricExporter]] = Sort(
    signal="METRICS",
    console=lambda out: ConsoleMetricExporter(out=out),
    grpc=_grpc,
    http=_http,
)
