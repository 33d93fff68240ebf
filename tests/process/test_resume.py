"""P3 over a real process: killed at any moment and started again, it decides as if nothing had
been."""

import random
import re
import urllib.request
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


def test_give_ups_reported_before_a_restart_are_not_counted_again(tmp_path: Path) -> None:
    facts = {"agent_name": "coder", "client_instance": "c"}
    five = [run_pb2.GiveUp(reason="timeout", count=5)]
    with SidecarProcess(tmp_path) as sidecar:
        agent = BlockingAgent(sidecar.agent, "s", **facts, give_ups=five)
        agent.turn(1)
        agent.drop()
        first = failed_open(sidecar)
        sidecar.stop()
        sidecar.restart()
        six = [run_pb2.GiveUp(reason="timeout", count=6)]
        agent = BlockingAgent(sidecar.agent, "s", **facts, give_ups=six)
        agent.turn(2)
        second = failed_open(sidecar)
        agent.close()
        agent.drop()

    assert (first, second) == (5, 1)


def failed_open(sidecar: SidecarProcess) -> float:
    url = f"http://{sidecar.addresses['telemetry_address']}/metrics"
    with urllib.request.urlopen(url, timeout=10) as answer:
        page = answer.read().decode()
    (found,) = re.findall(
        r'^sidecar_agent_fail_open_total\{agent="coder"\} (\S+)', page, re.MULTILINE
    )
    return float(found)
