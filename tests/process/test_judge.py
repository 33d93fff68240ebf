"""The judge in a real sidecar, over the real SDK: configured, heard, journalled, replayed."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidecar.testing import Call, FakeAnthropicServer, Say, SidecarProcess
from sidecar.v1 import run_pb2, session_service_pb2_grpc
from sidecar.v1 import session_service_pb2 as pb
from tests.process.streams import BlockingAgent

pytestmark = pytest.mark.process

CONFIG = "judge: {model: claude-haiku-4-5, every_turns: 3, from_turn: 3}\n"

PATIENT_S = 30.0
"""The first call imports the SDK."""


def circling() -> Say:
    quoted = [{"turn": turn, "quote": "visit_webpage"} for turn in (2, 3)]
    given = {"evidence": quoted, "sentence": "Pages without news.", "finding": "circling"}
    return Say(calls=[Call(name="run_verdict", input={**given, "since_turn": 1, "confidence": 1})])


def visited(sequence: int) -> run_pb2.Turn:
    page = f"page {sequence * 7919}"
    call = run_pb2.ToolCall(
        name="visit_webpage", arguments_json=json.dumps({"p": page}), result_text=f"text of {page}"
    )
    return run_pb2.Turn(sequence=sequence, tool_calls=[call])


def directive(agent: BlockingAgent, sequence: int) -> str:
    return agent.turn_of(visited(sequence)).WhichOneof("directive") or "proceed"


def wait_for_verdicts(control: Any, count: int) -> None:
    """Follow the session until so many verdicts stand in its journal."""
    asked = pb.GetSessionRequest(session_id="round", turns_max=100)
    for _ in control.WatchSession(pb.WatchSessionRequest(session_id="round"), timeout=PATIENT_S):
        commands = control.GetSession(asked, timeout=PATIENT_S).commands
        if len(commands) >= count:
            assert {each.command.WhichOneof("action") for each in commands} == {"verdict"}
            return


def sidecar_command(config: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "sidecar.cli", *arguments, "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_run_that_goes_round_is_judged_rotated_and_told_to_commit(tmp_path: Path) -> None:
    config = tmp_path / "sidecar.yaml"
    config.write_text(CONFIG)
    with FakeAnthropicServer(lambda _: circling()) as api:
        environment = {"ANTHROPIC_API_KEY": api.key, "ANTHROPIC_BASE_URL": api.base_url}
        flags = [f"--config={config}"]
        with SidecarProcess(tmp_path, flags=flags, environment=environment) as sidecar:
            agent = BlockingAgent(sidecar.addresses["agent_address"], "round")
            with grpc.insecure_channel(sidecar.admin) as channel:
                control: Any = session_service_pb2_grpc.SessionServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
                told = [directive(agent, at) for at in (1, 2, 3)]
                wait_for_verdicts(control, 1)
                told += [directive(agent, at) for at in (4, 5, 6)]
                wait_for_verdicts(control, 2)
                told += [directive(agent, 7)]
            agent.close()
            explained = sidecar_command(config, "explain", "round", "--admin", sidecar.admin)
            assert sidecar.stop() == 0
    assert [(at, each) for at, each in enumerate(told, start=1) if each != "proceed"] == [
        (4, "rotate"),
        (7, "commit"),
    ]
    assert "a judge that saw names, labels and counts only" in explained
    assert "Pages without news." in explained
    (kept,) = [json.loads((sidecar.state_directory / "model_spending.json").read_text())]
    assert kept["accounts"]["judge"] == kept["accounts"]["all"] == kept["accounts"]["session:round"]
    assert kept["accounts"]["judge"][0] == len(api.requests) == 2


def test_without_a_key_nothing_is_judged_and_the_log_says_so(tmp_path: Path) -> None:
    config = tmp_path / "sidecar.yaml"
    config.write_text(CONFIG)
    environment = dict.fromkeys(("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "")
    with SidecarProcess(tmp_path, flags=[f"--config={config}"], environment=environment) as sidecar:
        agent = BlockingAgent(sidecar.addresses["agent_address"], "s")
        assert {directive(agent, at) for at in range(1, 6)} == {"proceed"}
        agent.close()
        assert "no run is judged: judge.model is given, but no key for it" in sidecar.log


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        ("ANTHROPIC_API_KEY", "sk-a\nsk-b", "no model is asked: ANTHROPIC_API_KEY is not right"),
        ("ANTHROPIC_BASE_URL", "localhost:9", "no model is asked: ANTHROPIC_BASE_URL = "),
    ],
)
def test_a_variable_that_no_call_could_be_made_with_stops_no_sidecar(
    tmp_path: Path, variable: str, text: str, said: str
) -> None:
    config = tmp_path / "sidecar.yaml"
    config.write_text(CONFIG)
    environment = {"ANTHROPIC_API_KEY": "sk-good", variable: text}
    with SidecarProcess(tmp_path, flags=[f"--config={config}"], environment=environment) as sidecar:
        agent = BlockingAgent(sidecar.addresses["agent_address"], "s")
        assert {directive(agent, at) for at in range(1, 6)} == {"proceed"}
        agent.close()
        assert said in sidecar.log
        assert "sk-a" not in sidecar.log


def test_a_verdict_under_way_does_not_hold_up_a_stop(tmp_path: Path) -> None:
    config = tmp_path / "sidecar.yaml"
    config.write_text(CONFIG)
    asked = threading.Event()

    def slowly(_: Any) -> Say:
        asked.set()
        return Say(delay_s=60)

    with FakeAnthropicServer(slowly) as api:
        environment = {"ANTHROPIC_API_KEY": api.key, "ANTHROPIC_BASE_URL": api.base_url}
        flags = [f"--config={config}"]
        with SidecarProcess(tmp_path, flags=flags, environment=environment) as sidecar:
            agent = BlockingAgent(sidecar.addresses["agent_address"], "s")
            assert {directive(agent, at) for at in (1, 2, 3)} == {"proceed"}
            assert asked.wait(PATIENT_S)
            assert directive(agent, 4) == "proceed"
            agent.close()
            assert sidecar.stop() == 0
            assert "Traceback" not in sidecar.log
