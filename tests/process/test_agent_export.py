"""The agent's telemetry goes where the OTEL_* variables say, and never holds up its answer."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from sidecar.adapters.telemetry.agent_export import exported
from sidecar.codeagent.instruments import Instruments
from sidecar.testing import FakeAnthropicServer, Say
from tests.edges.otlp_receiver import Received, grpc_receiver, http_receiver

pytestmark = pytest.mark.process

RECEIVERS: dict[str, Callable[[], AbstractContextManager[tuple[Received, int]]]] = {
    "grpc": grpc_receiver,
    "http/protobuf": http_receiver,
}
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
CLEARLY_LONGER_S = 25.0
"""Than a run with its three seconds for a collector, and less than the SDK's own thirty."""


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


def exports(**variables: str) -> list[str]:
    """One empty run, exported under these variables; what was said of it."""
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for name, text in variables.items():
            patch.setenv(name, text)
        with exported("test", "1", say=said.append) as to:
            instruments = Instruments(to.tracer, to.meter)
            with instruments.invocation("codeagent", session_id="run-1", model="m"):
                pass
    return said


@pytest.mark.parametrize("protocol", RECEIVERS)
def test_an_endpoint_is_enough_for_spans_and_metrics(protocol: str) -> None:
    with RECEIVERS[protocol]() as (received, port):
        endpoint = {ENDPOINT: f"http://127.0.0.1:{port}"}
        assert exports(**endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol) == []
        [span] = received.wait_for(1)
        assert received.measured("gen_ai.invoke_agent.duration")
    assert span.span.name == "invoke_agent codeagent"
    assert span.resource["service.name"] == "codeagent"


@pytest.mark.parametrize(
    ("switched_off", "spans", "is_measured"),
    [
        ({"OTEL_METRICS_EXPORTER": "none"}, 1, False),
        ({"OTEL_TRACES_EXPORTER": "none"}, 0, True),
        ({"OTEL_SDK_DISABLED": "true"}, 0, False),
        ({"OTEL_TRACES_SAMPLER": "always_off"}, 0, True),
    ],
)
def test_each_can_be_switched_off(
    switched_off: dict[str, str], spans: int, *, is_measured: bool
) -> None:
    with grpc_receiver() as (received, port):
        assert exports(**{ENDPOINT: f"http://127.0.0.1:{port}"}, **switched_off) == []
        assert len(received.spans) == spans
        assert bool(received.measured("gen_ai.invoke_agent.duration")) is is_measured


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"OTEL_TRACES_EXPORTER": "x"}, "OTEL_TRACES_EXPORTER is x: it must be otlp, console or"),
        ({"OTEL_METRICS_EXPORTER": "x"}, "OTEL_METRICS_EXPORTER is x: it must be otlp, console or"),
        (
            {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
            "the OTLP protocol is http/json: it must be",
        ),
        (
            {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION": "zip"},
            "the OTEL_EXPORTER_OTLP_* variables",
        ),
        (
            {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT": "soon"},
            "the OTEL_EXPORTER_OTLP_* variables",
        ),
        (
            {"OTEL_METRICS_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT": "nan"},
            "the OTEL_EXPORTER_OTLP_* variables: a timeout is nan",
        ),
    ],
)
def test_a_variable_that_cannot_be_understood_is_said_and_exports_nothing(
    variables: dict[str, str], said: str
) -> None:
    assert any(said in line for line in exports(**variables))


def answered(home: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """The command, with a model that knows at once."""
    places = dict.fromkeys(("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"), str(home))
    with FakeAnthropicServer([Say(text="FINAL_ANSWER: 42")]) as server:
        access = {"ANTHROPIC_BASE_URL": server.base_url, "ANTHROPIC_API_KEY": server.key}
        return subprocess.run(
            [sys.executable, "-m", "sidecar.cli", "agent", "6 x 7?"],
            env={**os.environ, **places, **access, **variables},
            capture_output=True,
            text=True,
            timeout=CLEARLY_LONGER_S,
            check=False,
        )


def test_a_collector_that_is_away_or_silent_costs_a_line_and_no_answer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        for endpoint in ("http://127.0.0.1:1", f"http://127.0.0.1:{port}"):
            done = answered(tmp_path, **{ENDPOINT: endpoint})
            assert (done.returncode, done.stdout) == (0, "42\n")
            assert "telemetry: " in done.stderr
            assert "Traceback" not in done.stderr


def test_what_goes_to_the_console_leaves_standard_output_to_the_answer(tmp_path: Path) -> None:
    done = answered(tmp_path, OTEL_TRACES_EXPORTER="console", OTEL_METRICS_EXPORTER="console")
    assert done.stdout == "42\n"
    assert '"invoke_agent codeagent"' in done.stderr
    assert '"gen_ai.client.token.usage"' in done.stderr
