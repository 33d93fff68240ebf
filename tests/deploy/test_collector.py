"""A real OpenTelemetry Collector, with the configurations that are shipped, passes data on.

It is built from its Go modules with the components that the configurations name and no others.
"""

import os
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from sidecar.client import Client
from sidecar.testing import SidecarProcess
from tests.deploy.manifests import ROOT
from tests.deploy.render import tool
from tests.edges.otlp_receiver import Received, grpc_receiver
from tests.observability.programs import free_port

pytestmark = pytest.mark.deploy_full

CONFIGS: Final = ROOT / "deploy" / "collector"
ARRIVES_WITHIN_S: Final = 60.0
STARTS_WITHIN_S: Final = 60.0


@contextmanager
def collector(config: str, variables: Mapping[str, str], log: Path) -> Iterator[None]:
    """A collector with a shipped configuration, taking what is sent."""
    command = [tool("collector"), "--config", str(CONFIGS / config)]
    with (
        log.open("w") as output,
        subprocess.Popen(command, env={**os.environ, **variables}, stderr=output) as process,
    ):
        try:
            _wait_for(int(variables["OTLP_LISTEN"].rpartition(":")[2]), process, log)
            yield
        finally:
            process.terminate()


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    started = False
    waiting = STARTS_WITHIN_S
    while not started and waiting > 0 and process.poll() is None:
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            waiting -= 0.1
        with socket.socket() as probe:
            started = probe.connect_ex(("127.0.0.1", port)) == 0
    assert started, log.read_text()


@pytest.fixture
def backend() -> Iterator[tuple[Received, str]]:
    """Where everything is to arrive, and its address."""
    with grpc_receiver() as (received, port):
        yield received, f"127.0.0.1:{port}"


def report(sidecar: SidecarProcess, *, traceparent: str = "") -> None:
    with Client(sidecar.agent, agent_name="a", session_id="run-1", timeout_s=30.0) as client:
        client.turn(tool_calls=[{"name": "ls", "result": "a"}], traceparent=traceparent)


@pytest.mark.parametrize("config", ["in-front.yaml", "behind.yaml"])
def test_the_real_program_accepts_the_configuration(config: str) -> None:
    done = subprocess.run(
        [tool("collector"), "validate", "--config", str(CONFIGS / config)],
        env={**os.environ, "OTLP_BACKEND": "127.0.0.1:1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_in_front_spans_and_metrics_of_the_sidecar_arrive(
    backend: tuple[Received, str], tmp_path: Path
) -> None:
    received, address = backend
    takes = f"127.0.0.1:{free_port()}"
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{takes}"}
    with SidecarProcess(tmp_path, environment=environment) as sidecar:
        variables = {
            "OTLP_BACKEND": address,
            "OTLP_LISTEN": takes,
            "SIDECAR_TELEMETRY": sidecar.addresses["telemetry_address"],
            "SCRAPE_INTERVAL": "1s",
        }
        with collector("in-front.yaml", variables, tmp_path / "collector.log"):
            report(sidecar)
            spans = received.wait_for(1, timeout_s=ARRIVES_WITHIN_S)
            assert spans[0].resource["service.name"] == "agent-sidecar"
            assert _turns(received)
            with received.changed:
                assert received.changed.wait_for(
                    lambda: _decisions(received) >= 1, ARRIVES_WITHIN_S
                )


def _turns(received: Received) -> list[str]:
    return [each.span.name for each in received.spans if "run-1" in each.attributes.values()]


def _decisions(received: Received) -> float:
    values = received.measured("sidecar_decisions_total")
    return sum(value for _, value in values)


def test_behind_an_agents_span_and_the_sidecars_below_it_arrive_in_one_trace(
    backend: tuple[Received, str], tmp_path: Path
) -> None:
    received, address = backend
    takes, takes_http, takes_sidecar = (f"127.0.0.1:{free_port()}" for _ in range(3))
    variables = {
        "OTLP_BACKEND": address,
        "OTLP_LISTEN": takes,
        "OTLP_HTTP_LISTEN": takes_http,
        "OTLP_SIDECAR_LISTEN": takes_sidecar,
    }
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{takes_sidecar}"}
    agent = TracerProvider()
    agent.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"http://{takes}")))
    with (
        collector("behind.yaml", variables, tmp_path / "collector.log"),
        SidecarProcess(tmp_path, environment=environment) as sidecar,
    ):
        with agent.get_tracer("agent").start_as_current_span("invoke_agent a") as span:
            context = span.get_span_context()
            report(sidecar, traceparent=_traceparent(context))
        agent.shutdown()
        with received.changed:
            assert received.changed.wait_for(
                lambda: {"invoke_agent a", "sidecar.turn"} <= _names(received), ARRIVES_WITHIN_S
            )
    spans = {each.span.name: each.span for each in received.spans}
    assert spans["sidecar.turn"].parent_span_id == spans["invoke_agent a"].span_id
    assert spans["sidecar.turn"].trace_id == spans["invoke_agent a"].trace_id


def _traceparent(context: trace.SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-01"


def _names(received: Received) -> set[str]:
    return {each.span.name for each in received.spans}
