"""P4 and P8 where connections take every file descriptor that the process may have."""

import resource
import socket
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess
from tests.process.streams import agents
from tests.process.test_health_matrix import WITHIN_S, answers, until

pytestmark = pytest.mark.process

LIMITED = """
import resource, sys
from sidecar.cli import main

resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}))
main()
"""
STREAMS = 1_024
"""The default bound, which each listener for agents has."""


def limited(directory: Path, hard: str) -> SidecarProcess:
    command = (sys.executable, "-c", LIMITED.format(hard=hard))
    return SidecarProcess(directory, command=command)


def limit_of(sidecar: SidecarProcess) -> int:
    return resource.prlimit(sidecar.process.pid, resource.RLIMIT_NOFILE)[0]


def open_in(sidecar: SidecarProcess) -> int:
    return sum(1 for _ in Path(f"/proc/{sidecar.process.pid}/fd").iterdir())


def test_it_may_have_a_descriptor_for_each_connection_that_its_bounds_allow(
    tmp_path: Path,
) -> None:
    with limited(tmp_path, "resource.getrlimit(resource.RLIMIT_NOFILE)[1]") as sidecar:
        assert limit_of(sidecar) > 3 * STREAMS
        assert "file descriptors" not in sidecar.log


def test_a_hard_limit_below_its_bounds_is_said_at_the_start(tmp_path: Path) -> None:
    with limited(tmp_path, "512") as sidecar:
        assert limit_of(sidecar) == 512
        assert "512 file descriptors may be open" in sidecar.log


@pytest.fixture
def full(tmp_path: Path) -> Iterator[SidecarProcess]:
    """A sidecar without a free descriptor, whose every listener for agents has callers waiting."""
    with SidecarProcess(tmp_path) as sidecar, ExitStack() as held:
        limit = open_in(sidecar) + 20
        resource.prlimit(sidecar.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
        for name in ("agent.sock", "agent-http.sock") * 30:
            caller = held.enter_context(socket.socket(socket.AF_UNIX))
            caller.connect(str(tmp_path / name))
        assert until(lambda: open_in(sidecar) == limit)
        yield sidecar


def test_without_a_free_descriptor_supervisors_are_answered_time_and_again(
    full: SidecarProcess,
) -> None:
    assert [answers(full) for _ in range(10)] == [(200, 200)] * 10
    url = f"http://{full.addresses['telemetry_address']}/metrics"
    with urllib.request.urlopen(url, timeout=WITHIN_S) as page:
        assert b"sidecar_sessions" in page.read()


def test_the_want_of_descriptors_does_not_fill_the_log(full: SidecarProcess) -> None:
    said = "connections wait that cannot be accepted: Too many open files"
    assert until(lambda: said in full.log)
    assert full.log.count(said) == 1
    assert "Traceback" not in full.log


def test_agents_that_are_attached_are_served_without_a_free_descriptor(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar, agents(sidecar, 1) as (agent,), ExitStack() as held:
        agent.turn(1)
        limit = open_in(sidecar)
        resource.prlimit(sidecar.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
        for _ in range(20):
            caller = held.enter_context(socket.socket(socket.AF_UNIX))
            caller.connect(str(tmp_path / "agent.sock"))
        assert agent.turn(2).sequence == 2
        agent.half_close()
