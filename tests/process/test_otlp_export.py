"""Spans go out over real OTLP, by gRPC and by HTTP, and arrive as they were made."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health as grpc_health
from grpc_health.v1 import health_pb2_grpc

from tests.edges.otlp_receiver import grpc_receiver, values
from tests.edges.telemetry_samples import PARENT_ID, TRACE_ID, rotate, series, wait_until
from tests.process.exporting import CLOSE_S, RECEIVERS, Built

pytestmark = pytest.mark.process


@pytest.mark.parametrize("protocol", RECEIVERS)
def test_a_span_arrives_as_it_was_made(built: Built, protocol: str) -> None:
    with RECEIVERS[protocol]() as (received, port):
        world = built(
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}",
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
            OTEL_EXPORTER_OTLP_HEADERS="x-key=open",
            OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=test",
        )
        world.decide(1)
        world.decide(2, rotate(2))
        assert world.telemetry.close(within_s=CLOSE_S) == 0
        first, second = received.wait_for(2)
    span = second.span
    assert int.from_bytes(span.trace_id) == TRACE_ID
    assert int.from_bytes(span.parent_span_id) == PARENT_ID
    assert (span.name, span.kind) == ("sidecar.turn", 1)
    assert [link.span_id for link in span.links] == [first.span.span_id]
    assert span.start_time_unix_nano == span.end_time_unix_nano == round(world.now_s * 1e9)
    assert second.attributes["gen_ai.conversation.id"] == "run-1"
    assert second.attributes["sidecar.directive"] == "rotate"
    assert second.attributes["sidecar.tools"] == ["Grep", "Edit"]
    assert second.attributes["gen_ai.usage.input_tokens"] == 1_000
    assert [event.name for event in span.events] == [
        "gen_ai.evaluation.result",
        "sidecar.directive",
    ]
    assert values(span.events[0].attributes)["gen_ai.evaluation.score.label"] == "warning"
    assert second.scope == "sidecar"
    assert second.resource["service.name"] == "agent-sidecar"
    assert second.resource["service.version"] == "1.2.3"
    assert second.resource["deployment.environment.name"] == "test"
    assert second.headers["x-key"] == "open"
    assert series(world.registry, "sidecar_spans_exported_total") == {(): 2}


@pytest.mark.parametrize("protocol", RECEIVERS)
def test_the_variables_for_traces_go_before_the_general_ones(built: Built, protocol: str) -> None:
    path = "/v1/traces" if protocol == "http/protobuf" else ""
    with RECEIVERS[protocol]() as (received, port):
        world = built(
            OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1",
            OTEL_EXPORTER_OTLP_PROTOCOL="http/json",
            OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"http://127.0.0.1:{port}{path}",
            OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=protocol,
            OTEL_EXPORTER_OTLP_TRACES_COMPRESSION="gzip",
            OTEL_SERVICE_NAME="renamed",
        )
        world.decide()
        assert world.telemetry.close(within_s=CLOSE_S) == 0
        [span] = received.wait_for(1)
    assert span.resource["service.name"] == "renamed"
    if protocol == "http/protobuf":
        assert span.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("status", "headers", "told"),
    [
        (302, {"Location": "https://sso/login"}, "redirected to https://sso/login (302)"),
        (301, {}, "redirected to nowhere (301)"),
        (200, {"Content-Type": "text/html"}, "answered with a page"),
    ],
)
def test_what_only_looks_like_a_collector_over_http_took_no_spans(
    built: Built, status: int, headers: dict[str, str], told: str
) -> None:
    with answering(status, headers) as port:
        world = built(
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}",
            OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf",
            OTEL_BSP_SCHEDULE_DELAY="20",
        )
        world.decide()
        wait_until(lambda: told in world.health.components["exporter"].error)
        world.telemetry.close(within_s=CLOSE_S)
    assert series(world.registry, "sidecar_spans_exported_total") == {(): 0}


@contextmanager
def answering(status: int, headers: dict[str, str]) -> Iterator[int]:
    """Whatever answers every POST so, and its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def test_spans_arrive_without_being_closed_once_the_delay_is_over(built: Built) -> None:
    with grpc_receiver() as (received, port):
        world = built(
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}", OTEL_BSP_SCHEDULE_DELAY="20"
        )
        world.decide()
        received.wait_for(1)


def test_a_full_batch_does_not_wait_for_the_delay(built: Built) -> None:
    with grpc_receiver() as (received, port):
        world = built(
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{port}",
            OTEL_BSP_SCHEDULE_DELAY="3600000",
            OTEL_BSP_MAX_EXPORT_BATCH_SIZE="5",
        )
        for sequence in range(1, 8):
            world.decide(sequence)
        assert len(received.wait_for(5)) == 5
        assert world.telemetry.close(within_s=CLOSE_S) == 0
        assert len(received.spans) == 7


async def test_exporting_and_serving_grpc_in_one_process_do_not_disturb_each_other(
    built: Built,
) -> None:
    server = grpc.aio.server()
    health_pb2_grpc.add_HealthServicer_to_server(grpc_health.aio.HealthServicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    with grpc_receiver() as (received, collector):
        world = built(
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{collector}",
            OTEL_BSP_SCHEDULE_DELAY="1",
        )
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            check: Any = channel.unary_unary("/grpc.health.v1.Health/Check")
            for sequence in range(1, 101):
                world.decide(sequence)
                await check(b"", timeout=CLOSE_S)
        await asyncio.to_thread(received.wait_for, 100)
    await server.stop(None)
