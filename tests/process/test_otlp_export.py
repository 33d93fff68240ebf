"""Spans go out over real OTLP, by gRPC and by HTTP, and arrive as they were made."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health as grpc_health
from grpc_health.v1 import health_pb2_grpc
from prometheus_client import CollectorRegistry

from sidecar.adapters.telemetry import Telemetry, TelemetrySettings, build
from sidecar.adapters.telemetry.exporters import choose_batching
from sidecar.health import Health, Status
from sidecar.testing import FakeClock
from tests.edges.otlp_receiver import Received, grpc_receiver, http_receiver, values
from tests.edges.telemetry_samples import (
    PARENT_ID,
    TRACE_ID,
    decision,
    facts,
    rotate,
    series,
    turn,
)

pytestmark = pytest.mark.process

CLOSE_S = 60.0
"""Only ends a test that hangs."""

RECEIVERS: dict[str, Callable[[], AbstractContextManager[tuple[Received, int]]]] = {
    "grpc": grpc_receiver,
    "http/protobuf": http_receiver,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Telemetry that was built from the environment."""

    telemetry: Telemetry
    health: Health
    registry: CollectorRegistry
    now_s: float

    def decide(self, sequence: int = 1, made: Any = None) -> None:
        self.telemetry.decided(
            facts(), turn(sequence), made or decision(sequence), received_s=self.now_s
        )


Built = Callable[..., World]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Iterator[Built]:
    """Builds telemetry under OTEL_* variables, and closes it."""
    open_ones: list[Telemetry] = []
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)

    def make(own_ports: frozenset[int] = frozenset(), **variables: str) -> World:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        clock, registry = FakeClock(), CollectorRegistry()
        health = Health(clock)
        settings = TelemetrySettings(version="1.2.3", own_ports=own_ports)
        telemetry = build(settings, registry=registry, clock=clock, health=health)
        open_ones.append(telemetry)
        return World(telemetry=telemetry, health=health, registry=registry, now_s=clock.now_s())

    yield make
    for telemetry in open_ones:
        telemetry.close(within_s=CLOSE_S)


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


# What the variables ask for


def test_without_any_variable_nothing_is_exported_and_nothing_is_wrong(built: Built) -> None:
    world = built()
    world.decide()
    assert "exporter" not in world.health.components
    assert series(world.registry, "sidecar_spans_total") == {(): 0}
    assert series(world.registry, "sidecar_turns_total") == {("coder", "enforce", "opus"): 1}


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_SDK_DISABLED": "true"},
        {"OTEL_SDK_DISABLED": "TRUE", "OTEL_TRACES_EXPORTER": "otlp"},
    ],
)
def test_exporting_can_be_switched_off(built: Built, variables: dict[str, str]) -> None:
    world = built(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1", **variables)
    world.decide()
    assert "exporter" not in world.health.components
    assert world.telemetry.close(within_s=CLOSE_S) == 0


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        (
            {"OTEL_TRACES_EXPORTER": "zipkin"},
            "OTEL_TRACES_EXPORTER is zipkin: it must be otlp, console or none",
        ),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
            "the OTLP protocol is http/json: it must be grpc or http/protobuf",
        ),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_COMPRESSION": "brotli"},
            'Invalid value "brotli" for compression envvar OTEL_EXPORTER_OTLP_COMPRESSION',
        ),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_TIMEOUT": "soon"},
            "the OTEL_EXPORTER_OTLP_* variables: could not convert string to float: 'soon'",
        ),
        *(
            (
                {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_TIMEOUT": timeout},
                f"a timeout is {timeout}: it must be a number of seconds above 0",
            )
            for timeout in ("nan", "inf", "-1", "0")
        ),
        (
            {"OTEL_TRACES_EXPORTER": "otlp,zipkin"},
            "OTEL_TRACES_EXPORTER is otlp,zipkin: it must be otlp, console or none",
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://[nowhere"},
            "the OTEL_EXPORTER_OTLP_* variables: Invalid IPv6 URL",
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4301"},
            "the OTLP endpoint is this sidecar's own listener",
        ),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:4301"},
            "the OTLP endpoint is this sidecar's own listener",
        ),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
            "the OTLP endpoint is this sidecar's own listener",
        ),
        *(
            (
                {
                    "OTEL_EXPORTER_OTLP_ENDPOINT": "https://127.0.0.1:9",
                    "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
                    **wrong,
                },
                problem,
            )
            for protocol in RECEIVERS
            for wrong, problem in (
                (
                    {"OTEL_EXPORTER_OTLP_HEADERS": "a=b,Authorization: Bearer s3cret"},
                    "OTEL_EXPORTER_OTLP_HEADERS: it must be NAME=VALUE",
                ),
                (
                    {"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "s3cret"},
                    "OTEL_EXPORTER_OTLP_TRACES_HEADERS: it must be NAME=VALUE",
                ),
                (
                    {"OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere.pem"},
                    "OTEL_EXPORTER_OTLP_CERTIFICATE: cannot read /nowhere.pem: No such file",
                ),
                (
                    {"OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY": "/"},
                    "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY: cannot read /: Is a directory",
                ),
            )
        ),
        *(
            ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", **wrong}, problem)
            for wrong, problem in (
                *(
                    (
                        {"OTEL_TRACES_SAMPLER": sampler},
                        f"OTEL_TRACES_SAMPLER is '{sampler}': it must be one of always_on,",
                    )
                    for sampler in ("nonsense", "always_off ")
                ),
                *(
                    (
                        {"OTEL_TRACES_SAMPLER": sampler, "OTEL_TRACES_SAMPLER_ARG": share},
                        f"OTEL_TRACES_SAMPLER_ARG is {share}: it must be a share from 0 to 1",
                    )
                    for sampler in ("traceidratio", "Parentbased_TraceIdRatio")
                    for share in ("1%", "abc", "1.5", "-0.1", "nan")
                ),
            )
        ),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SPAN_LINK_COUNT_LIMIT": "-1"},
            "OTEL_SPAN_LINK_COUNT_LIMIT",
        ),
        (
            {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "abc"},
            "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT",
        ),
    ],
)
def test_a_wrong_variable_exports_nothing_and_says_so(
    built: Built,
    variables: dict[str, str],
    problem: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = built(own_ports=frozenset({4301, 4318}), **variables)
    condition = world.health.components["exporter"]
    assert "s3cret" not in condition.error + caplog.text
    assert condition.status is Status.PERMANENT
    assert problem in condition.error
    world.decide()
    assert world.health.readyz().text == "starting"
    assert series(world.registry, "sidecar_turns_total") == {("coder", "enforce", "opus"): 1}


def test_headers_that_cannot_be_read_are_found_at_any_level_of_the_log(
    built: Built, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    world = built(
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_EXPORTER_OTLP_HEADERS="s3cret"
    )
    assert "OTEL_EXPORTER_OTLP_HEADERS" in world.health.components["exporter"].error


def test_a_certificate_is_not_asked_for_where_no_tls_is_spoken(built: Built) -> None:
    world = built(
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
        OTEL_EXPORTER_OTLP_CERTIFICATE="/nowhere.pem",
    )
    assert world.health.components["exporter"].status is not Status.PERMANENT


@pytest.mark.parametrize(
    "nothing",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
        {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
    ],
)
def test_where_nothing_is_exported_no_sampler_is_wrong(
    built: Built, nothing: dict[str, str]
) -> None:
    """Whoever gives variables to every pod names samplers that this SDK has not."""
    world = built(OTEL_TRACES_SAMPLER="jaeger_remote", **nothing)
    assert "exporter" not in world.health.components


@pytest.mark.parametrize(
    ("variables", "batching"),
    [
        ({}, (2048, 512, 1.0)),
        ({"OTEL_BSP_MAX_QUEUE_SIZE": "100"}, (100, 512, 1.0)),
        ({"OTEL_BSP_MAX_QUEUE_SIZE": "1000000"}, (2048, 512, 1.0)),
        ({"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "64"}, (2048, 64, 1.0)),
        ({"OTEL_BSP_SCHEDULE_DELAY": "5000"}, (2048, 512, 5.0)),
        ({"OTEL_BSP_SCHEDULE_DELAY": "soon", "OTEL_BSP_MAX_QUEUE_SIZE": "-1"}, (2048, 512, 1.0)),
    ],
)
def test_the_batch_variables_are_honoured_within_our_own_bound(
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    batching: tuple[int, int, float],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    chosen = choose_batching(2048)
    assert (chosen.spans_max, chosen.batch_max, chosen.delay_s) == batching


def test_a_batch_variable_that_is_no_number_is_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "soon")
    choose_batching(2048)
    assert "OTEL_BSP_SCHEDULE_DELAY is soon, which is no whole number above 0" in caplog.text


def test_the_console_exporter_writes_to_standard_output(
    built: Built, capsys: pytest.CaptureFixture[str]
) -> None:
    world = built(OTEL_TRACES_EXPORTER="console")
    world.decide()
    assert world.telemetry.close(within_s=CLOSE_S) == 0
    assert '"name": "sidecar.turn"' in capsys.readouterr().out


@pytest.mark.parametrize("named", ["otlp,console", " console , otlp,console,"])
def test_several_exporters_each_get_every_span_once(
    built: Built, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    with grpc_receiver() as (received, port):
        endpoint = f"http://127.0.0.1:{port}"
        world = built(OTEL_TRACES_EXPORTER=named, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint)
        world.decide()
        assert world.telemetry.close(within_s=CLOSE_S) == 0
        assert len(received.spans) == 1
    assert capsys.readouterr().out.count('"name": "sidecar.turn"') == 1
    assert series(world.registry, "sidecar_spans_exported_total") == {(): 1}


@pytest.mark.parametrize(
    ("exporter", "imported"), [("none", []), ("otlp", ["opentelemetry.exporter.otlp.proto.grpc"])]
)
def test_an_exporter_is_imported_only_when_it_is_asked_for(
    exporter: str, imported: list[str]
) -> None:
    program = """
import sys
from prometheus_client import CollectorRegistry
from sidecar.adapters.telemetry import TelemetrySettings, build
from sidecar.health import Health
from sidecar.testing import FakeClock
clock = FakeClock()
settings = TelemetrySettings(version="1")
build(settings, registry=CollectorRegistry(), clock=clock, health=Health(clock)).close(within_s=1)
heavy = ("opentelemetry.exporter.otlp.proto.grpc", "opentelemetry.exporter.otlp.proto.http")
print([name for name in heavy if name in sys.modules])
"""
    finished = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "OTEL_TRACES_EXPORTER": exporter},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert finished.stdout.strip() == str(imported)
