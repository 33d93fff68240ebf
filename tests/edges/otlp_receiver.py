"""A real OTLP receiver, over gRPC and over HTTP, that keeps what it is sent."""

import gzip
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2 as logs
from opentelemetry.proto.collector.logs.v1 import logs_service_pb2_grpc as logs_grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2_grpc as metrics_grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as traces_grpc
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

DEADLINE_S = 60.0
"""More than any export takes; a test that waits so long has failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSpan:
    """One span with what it came in."""

    span: Span
    resource: Mapping[str, Any]
    scope: str
    headers: Mapping[str, str]
    """Of the request, names in lower case; gRPC's metadata."""

    @property
    def attributes(self) -> dict[str, Any]:
        """The span's attributes."""
        return values(self.span.attributes)


@dataclass(slots=True, kw_only=True)
class Received:
    """Everything that came, from any thread; `refuse` makes the receiver answer with an error."""

    spans: list[ReceivedSpan] = field(default_factory=list)
    log_records: list[Any] = field(default_factory=list)
    measurements: list[Metric] = field(default_factory=list)
    refuse: grpc.StatusCode | None = None
    """Over HTTP any code is a 400."""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def add_traces(
        self, request: traces.ExportTraceServiceRequest, headers: Mapping[str, str]
    ) -> None:
        """Keep the spans of a request."""
        with self.changed:
            for group in request.resource_spans:
                resource = values(group.resource.attributes)
                self.spans += [
                    ReceivedSpan(
                        span=span, resource=resource, scope=scoped.scope.name, headers=headers
                    )
                    for scoped in group.scope_spans
                    for span in scoped.spans
                ]
            self.changed.notify_all()

    def add_logs(self, request: logs.ExportLogsServiceRequest) -> None:
        """Keep the records of a request."""
        with self.changed:
            for group in request.resource_logs:
                self.log_records += [log for scope in group.scope_logs for log in scope.log_records]
            self.changed.notify_all()

    def add_metrics(self, request: metrics.ExportMetricsServiceRequest) -> None:
        """Keep the metrics of a request."""
        with self.changed:
            for group in request.resource_metrics:
                self.measurements += [
                    each for scope in group.scope_metrics for each in scope.metrics
                ]
            self.changed.notify_all()

    def measured(self, name: str) -> list[tuple[dict[str, Any], float]]:
        """The attributes and the sum of each series of a metric, as they came last."""
        with self.changed:
            latest = [metric for metric in self.measurements if metric.name == name][-1:]
        return [
            (values(point.attributes), point.sum if metric.HasField("histogram") else _of(point))
            for metric in latest
            for point in getattr(metric, str(metric.WhichOneof("data"))).data_points
        ]

    def wait_for(self, count: int, *, timeout_s: float = DEADLINE_S) -> list[ReceivedSpan]:
        """The spans, once there are so many. Raises TimeoutError when there never are."""
        with self.changed:
            if not self.changed.wait_for(lambda: len(self.spans) >= count, timeout_s):
                raise TimeoutError(f"{len(self.spans)} of {count} spans came in {timeout_s} s")
            return list(self.spans)


def _of(point: Any) -> float:
    return float(getattr(point, point.WhichOneof("value")))


def values(attributes: Any) -> dict[str, Any]:
    """Attributes as plain values."""
    found: dict[str, Any] = {}
    for attribute in attributes:
        assert isinstance(attribute, KeyValue)
        found[attribute.key] = _plain(attribute.value)
    return found


def _plain(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(each) for each in value.array_value.values]
    return None if kind is None else getattr(value, kind)


@contextmanager
def grpc_receiver(*, port: int = 0) -> Iterator[tuple[Received, int]]:
    """A collector over gRPC on loopback, and its port."""
    received = Received()
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    traces_grpc.add_TraceServiceServicer_to_server(_Traces(received), server)  # type: ignore[no-untyped-call]
    logs_grpc.add_LogsServiceServicer_to_server(_Logs(received), server)  # type: ignore[no-untyped-call]
    metrics_grpc.add_MetricsServiceServicer_to_server(_Metrics(received), server)  # type: ignore[no-untyped-call]
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    try:
        yield received, bound
    finally:
        server.stop(None).wait(DEADLINE_S)


class _Traces(traces_grpc.TraceServiceServicer):
    def __init__(self, received: Received) -> None:
        self._received = received

    def Export(  # noqa: N802 - the name on the wire
        self, request: traces.ExportTraceServiceRequest, context: grpc.ServicerContext
    ) -> traces.ExportTraceServiceResponse:
        if self._received.refuse is not None:
            context.abort(self._received.refuse, "refused by the test")
        headers = {str(key): str(value) for key, value in context.invocation_metadata()}
        self._received.add_traces(request, headers)
        return traces.ExportTraceServiceResponse()


class _Logs(logs_grpc.LogsServiceServicer):
    def __init__(self, received: Received) -> None:
        self._received = received

    def Export(  # noqa: N802 - the name on the wire
        self, request: logs.ExportLogsServiceRequest, _: grpc.ServicerContext
    ) -> logs.ExportLogsServiceResponse:
        self._received.add_logs(request)
        return logs.ExportLogsServiceResponse()


class _Metrics(metrics_grpc.MetricsServiceServicer):
    def __init__(self, received: Received) -> None:
        self._received = received

    def Export(  # noqa: N802 - the name on the wire
        self, request: metrics.ExportMetricsServiceRequest, _: grpc.ServicerContext
    ) -> metrics.ExportMetricsServiceResponse:
        self._received.add_metrics(request)
        return metrics.ExportMetricsServiceResponse()


@contextmanager
def http_receiver(*, port: int = 0) -> Iterator[tuple[Received, int]]:
    """A collector over HTTP on loopback, and its port."""
    received = Received()
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(received))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield received, server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join(DEADLINE_S)


def _handler(received: Received) -> type[BaseHTTPRequestHandler]:
    def take_traces(body: bytes, headers: Mapping[str, str]) -> bytes:
        received.add_traces(traces.ExportTraceServiceRequest.FromString(body), headers)
        return traces.ExportTraceServiceResponse().SerializeToString()

    def take_logs(body: bytes, _: Mapping[str, str]) -> bytes:
        received.add_logs(logs.ExportLogsServiceRequest.FromString(body))
        return logs.ExportLogsServiceResponse().SerializeToString()

    def take_metrics(body: bytes, _: Mapping[str, str]) -> bytes:
        received.add_metrics(metrics.ExportMetricsServiceRequest.FromString(body))
        return metrics.ExportMetricsServiceResponse().SerializeToString()

    routes: dict[str, Callable[[bytes, Mapping[str, str]], bytes]] = {
        "/v1/traces": take_traces,
        "/v1/logs": take_logs,
        "/v1/metrics": take_metrics,
    }

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            route = routes.get(self.path)
            if received.refuse is not None or route is None:
                self.send_error(400 if route else 404)
                return
            answer = route(body, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return Handler
