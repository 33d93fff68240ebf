"""The reference agent under a policy that lets it wait for a person, over a real sidecar."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidecar.client import AsyncClient, Kind
from sidecar.codeagent.agent import CodeAgent, Surroundings
from sidecar.codeagent.result import AgentResult, StopReason
from sidecar.ports import ModelRequest
from sidecar.testing.fake_model import FakeModel
from sidecar.testing.model_script import Step
from sidecar.testing.process import SidecarProcess
from sidecar.v1 import session_service_pb2 as pb
from sidecar.v1 import session_service_pb2_grpc
from tests.codeagent.scripted import code

pytestmark = pytest.mark.process

PATIENT_S = 60.0


def pausing(directory: Path, *, wait_max_s: float) -> list[str]:
    """Flags for a sidecar whose agents wait for a person at a warning."""
    config = directory / "sidecar.yaml"
    config.write_text(
        "default_policy: pausing\n"
        f"policies: {{pausing: {{on_warning: pause, wait_max_s: {wait_max_s}}}}}\n"
    )
    return [f"--config={config}"]


def looping(request: ModelRequest) -> Step:
    """The same step three times, at which the sidecar warns, and then the answer."""
    steps = sum(message["role"] == "assistant" for message in request.messages)
    return code("print('same')") if steps < 3 else code("final_answer(42)")


def agent(sidecar: SidecarProcess, sessions: list[str]) -> CodeAgent:
    def watch(session_id: str) -> AsyncClient:
        sessions.append(session_id)
        return AsyncClient(sidecar.agent, session_id=session_id, timeout_s=30.0)

    return CodeAgent(Surroundings(model=FakeModel(looping), watch=watch))


def waits(session: pb.Session) -> bool:
    told = session.last_directive
    return told.WhichOneof("directive") == "rotate" and told.rotate.HasField("wait_max")


async def let_it_go_on(control: Any) -> int:
    """Follow all sessions, and have the one that waits go on; the turn that it waited at."""
    async for change in control.WatchSessions(pb.WatchSessionsRequest(), timeout=PATIENT_S):
        if waits(change.session):
            asked = pb.ContinueSessionRequest(session_id=change.session.session_id, reason="go on")
            await control.ContinueSession(asked, timeout=PATIENT_S)
            return int(change.session.last_sequence)
    raise AssertionError("nobody waited")


async def test_it_waits_for_a_person_and_goes_on_when_told_to(tmp_path: Path) -> None:
    sessions: list[str] = []
    with SidecarProcess(tmp_path, flags=pausing(tmp_path, wait_max_s=PATIENT_S)) as sidecar:
        async with grpc.aio.insecure_channel(sidecar.admin) as channel:
            control: Any = session_service_pb2_grpc.SessionServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
            person = asyncio.create_task(let_it_go_on(control))
            result: AgentResult = await agent(sidecar, sessions).run("6 x 7?")
            waited_at = await person
            (session_id,) = sessions
            kept = await control.GetSession(
                pb.GetSessionRequest(session_id=session_id, turns_max=100), timeout=PATIENT_S
            )
    assert (waited_at, result.answer, result.outcome.turns) == (3, "42", 4)
    assert result.outcome.told == (), "a person's word that it may go on is no directive"
    (command,) = kept.commands
    assert getattr(command.command, "continue").reason == "go on"
    assert command.command.after_sequence == waited_at


async def test_where_nobody_comes_it_is_stopped(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path, flags=pausing(tmp_path, wait_max_s=0.5)) as sidecar:
        result = await agent(sidecar, []).run("6 x 7?")
    assert result.outcome.stop_reason is StopReason.HALTED
    assert result.outcome.told[-1].directive.kind is Kind.HALT
    assert "Nobody decided within 0.5 s" in result.outcome.told[-1].directive.instruction
