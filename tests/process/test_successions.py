"""A session that goes on from another, over a crash that leaves nothing of it but its journal."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import json_format

from sidecar.adapters.convert import EntryBytes
from sidecar.adapters.sqlite_store import read_journal
from sidecar.core.opening import Continue
from sidecar.testing import SidecarProcess
from sidecar.v1 import run_pb2, session_service_pb2_grpc
from sidecar.v1 import session_service_pb2 as admin_pb
from tests.process.streams import BlockingAgent

pytestmark = pytest.mark.process

KEPT_WITHIN_S = 20.0
ERROR = run_pb2.Failure(kind="TypeError", message="cannot read 'id' of None")
POLICY = "autonomous"
MORE = admin_pb.ContinueSessionRequest(
    session_id="after", reason="go on", extra_turns=5, request_id="r1"
)


def run(sidecar: SidecarProcess, *arguments: str, stdin: str = "") -> str:
    """What a command says on standard output, over the sidecar's state directory."""
    done = subprocess.run(
        [sys.executable, "-c", "from sidecar.cli import main; main()", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, "SIDECAR_STATE_DIRECTORY": str(sidecar.state_directory)},
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def extended(sidecar: SidecarProcess) -> admin_pb.Session:
    """The session after the one request that gives it more turns."""
    with grpc.insecure_channel(sidecar.admin) as channel:
        service: Any = session_service_pb2_grpc.SessionServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
        session: admin_pb.Session = service.ContinueSession(
            MORE, timeout=KEPT_WITHIN_S, wait_for_ready=True
        ).session
        return session


def answered(agent: BlockingAgent, sequence: int) -> run_pb2.Decision:
    """The decision on a turn, whatever the agent is told again before it."""
    decision = agent.turn(sequence, failures=[ERROR])
    while decision.cause != run_pb2.CAUSE_TURN:
        decision = agent.decision()
    return decision


def wait_kept(database: Path) -> None:
    """Until the journal on disk has the command."""
    until_s = time.monotonic() + KEPT_WITHIN_S
    while time.monotonic() < until_s:
        entries = read_journal(database, "after", codec=EntryBytes()).entries
        if any(type(entry.event) is Continue for entry in entries):
            return
    raise AssertionError("the command was not journalled")


def test_a_successor_goes_on_from_its_journal_and_a_repeated_request_counts_once(
    tmp_path: Path,
) -> None:
    heard = []
    with SidecarProcess(tmp_path) as sidecar:
        before = BlockingAgent(sidecar.agent, "before", policy=POLICY)
        for sequence in range(1, 6):
            before.turn(sequence, failures=[ERROR], approach="patch it")
        limits = run_pb2.Limits(max_turns=40)
        facts: dict[str, Any] = {"policy": POLICY, "limits": limits}
        after = BlockingAgent(sidecar.agent, "after", previous_session_id="before", **facts)
        heard += [after.turn(1, failures=[ERROR]), after.turn(2, failures=[ERROR])]
        assert extended(sidecar).limits.max_turns == 45
        heard.append(after.decision())
        wait_kept(sidecar.state_directory / "sidecar.db")
        sidecar.kill()
        before.drop()
        after.drop()
        with closing(sqlite3.connect(sidecar.state_directory / "sidecar.db")) as file, file:
            file.execute("DELETE FROM snapshot")

        sidecar.restart()
        assert extended(sidecar).limits.max_turns == 45
        again = BlockingAgent(sidecar.agent, "after", **facts)
        assert again.last_sequence == 2
        heard += [answered(again, sequence) for sequence in range(3, 9)]
        again.close()
        before.drop()
        again.drop()
        assert sidecar.stop() == 0
        journal = run(sidecar, "journal", "after")
        replayed = run(sidecar, "replay", "--format", "json", "-", stdin=journal)

    assert heard[0].state == run_pb2.STATE_RECOVERY
    assert any("1 distinct error" in decision.commit.instruction for decision in heard)
    lines = [json.loads(line) for line in replayed.splitlines()]
    decisions = [
        json_format.ParseDict(line["decision"], run_pb2.Decision())
        for line in lines
        if "decision" in line
    ]
    assert decisions == heard
