"""P3 over a real process: killed at any moment and started again, it decides as if nothing had
been."""

import random
import time
from pathlib import Path

import pytest

from sidecar.adapters.run_file import Line
from sidecar.policies import Policies
from sidecar.presets import PRESETS, preset
from sidecar.replaying import Replay
from sidecar.testing import SidecarProcess
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from tests.process.streams import BlockingAgent

pytestmark = pytest.mark.process

SEED = 20261121
TURNS = 1000
KILLS = 8
KEPT = 256
"""Turns that an agent keeps to send again."""


def turns(count: int, seed: int) -> list[run_pb2.Turn]:
    """A run that works, loops, fails and recovers, so that every state is visited."""
    draw = random.Random(seed)
    made = []
    mood = 0
    for sequence in range(1, count + 1):
        if sequence % 12 == 0:
            mood = draw.randrange(4)
        number = sequence if mood == 0 else mood
        call = run_pb2.ToolCall(
            name=("edit", "grep", "pytest", "read")[mood],
            arguments_json=f'{{"n": {number}}}',
            result_text=f"result {number} of {mood}",
            outcome=run_pb2.OUTCOME_ERROR if mood == 2 else run_pb2.OUTCOME_OK,
        )
        turn = run_pb2.Turn(sequence=sequence, tool_calls=[call], output_lines=draw.randrange(40))
        turn.progress.files_changed = 1 if mood == 0 else 0
        turn.user_input = draw.random() < 0.01
        made.append(turn)
    return made


def uninterrupted(session_id: str, run: list[run_pb2.Turn]) -> list[run_pb2.Decision]:
    """The decisions of the fold alone."""
    policies = Policies(by_name={name: preset(name) for name in PRESETS})
    lines = [pb.RunFileLine(open=run_pb2.Open(session_id=session_id))]
    lines += [pb.RunFileLine(turn=turn) for turn in run]
    replay = Replay("run", policies)
    found = []
    for answer in replay.run(
        Line(number=number, message=line) for number, line in enumerate(lines, 1)
    ):
        assert isinstance(answer, pb.ObserveResponse), answer
        if answer.HasField("decision"):
            found.append(answer.decision)
    return found


def test_a_run_killed_at_random_points_is_decided_as_if_it_had_not_been(tmp_path: Path) -> None:
    draw = random.Random(SEED)
    run = turns(TURNS, SEED)
    kills = sorted(draw.sample(range(2, TURNS), KILLS))
    heard: dict[int, run_pb2.Decision] = {}
    restarts_s = []
    with SidecarProcess(tmp_path) as sidecar:
        agent = BlockingAgent(sidecar.agent, "s")
        at = agent.last_sequence
        while at < TURNS:
            at += 1
            decision = agent.turn_of(run[at - 1])
            assert heard.setdefault(at, decision) == decision
            if kills and at >= kills[0]:
                kills.pop(0)
                sidecar.kill()
                agent.drop()
                began = time.monotonic()
                sidecar.restart()
                agent = BlockingAgent(sidecar.agent, "s")
                restarts_s.append(time.monotonic() - began)
                at = agent.last_sequence
                assert at >= max(heard) - KEPT
        agent.close()
        agent.drop()

    assert len(restarts_s) == KILLS
    expected = uninterrupted("s", run)
    states = {decision.state for decision in expected}
    assert states == {
        run_pb2.STATE_HEALTHY,
        run_pb2.STATE_WARNING,
        run_pb2.STATE_TRIPPED,
        run_pb2.STATE_RECOVERY,
    }
    assert [heard[sequence] for sequence in range(1, TURNS + 1)] == expected


def test_a_sidecar_without_a_state_directory_gets_the_turns_again_from_the_agent(
    tmp_path: Path,
) -> None:
    run = turns(100, SEED)
    with SidecarProcess(tmp_path, flags=["--state-directory="]) as sidecar:
        agent = BlockingAgent(sidecar.agent, "s")
        first = [agent.turn_of(turn) for turn in run[:50]]
        sidecar.kill()
        agent.drop()
        sidecar.restart()
        agent = BlockingAgent(sidecar.agent, "s")
        assert agent.last_sequence == 0
        again = [agent.turn_of(turn) for turn in run]
        agent.close()
        agent.drop()

    assert again[:50] == first
    assert again == uninterrupted("s", run)
