"""What the variables of OpenTelemetry ask for is done, and where one is wrong it is told of."""

import logging
import os
import subprocess
import sys

import pytest

from sidecar.adapters.telemetry.exporters import choose_batching
from sidecar.health import Status
from tests.edges.otlp_receiver import grpc_receiver
from tests.edges.telemetry_samples import series
from tests.process.exporting import CLOSE_S, RECEIVERS, Built

pytestmark = pytest.mark.process


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
        ({"OTEL_BSP_SCHEDULE_DELAY": "99999999999"}, (2048, 512, 60.0)),
        ({"OTEL_BSP_SCHEDULE_DELAY": "9" * 400}, (2048, 512, 1.0)),
        ({"OTEL_BSP_MAX_QUEUE_SIZE": "9" * 5000}, (2048, 512, 1.0)),
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
    assert "OTEL_BSP_SCHEDULE_DELAY is soon, which is not a whole number above 0" in caplog.text


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
