"""P3 over a real process: killed at any moment and started again, it decides as if nothing had
been."""

import random
from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess
from sidecar.v1 import run_pb2
from tests.process.streams import BlockingAgent
from tests.process.uninterrupted import turns, uninterrupted

pytestmark = pytest.mark.process

SEED = 20261121
TURNS = 1000
KILLS = 8
KEPT = 256
"""Turns that an agent keeps to send again."""


def test_a_run_killed_at_random_points_is_decided_as_if_it_had_not_been(tmp_path: Path) -> None:
    draw = random.Random(SEED)
    run = turns(TURNS, SEED)
    kills = sorted(draw.sample(range(2, TURNS), KILLS))
    heard: dict[int, run_pb2.Decision] = {}
    restarts = 0
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
                sidecar.restart()
                restarts += 1
                agent = BlockingAgent(sidecar.agent, "s")
                at = agent.last_sequence
                assert at >= max(heard) - KEPT
        agent.close()
        agent.drop()

    assert restarts == KILLS
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
