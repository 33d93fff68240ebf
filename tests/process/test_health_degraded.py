"""P8 where something outside fails: a disk that is full, a model without its key. What agents need
goes on, the third answer says so, and nothing that was acknowledged is lost in silence."""

import os
import resource
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidecar.testing import FakeAnthropicServer, Say, SidecarProcess
from sidecar.v1 import answer_service_pb2 as answer_pb
from sidecar.v1 import answer_service_pb2_grpc, session_service_pb2_grpc
from sidecar.v1 import session_service_pb2 as admin_pb
from tests.process.streams import BlockingAgent, agents
from tests.process.test_health_matrix import WITHIN_S, answers, ask, component, until

pytestmark = pytest.mark.process

DISK = "8m"
BLOCK = bytes(4096)
NO_KEY = dict.fromkeys(("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"), "")
HISTORY = [answer_pb.Message(role="user", text="Which city?")]
TURNS = 60
"""Some commits' worth: each needs another page of the log."""

FAILING = """
from sidecar.cli import main
from sidecar.sessions.sessions import Sessions

def fail(self):
    raise RuntimeError("a bug")

Sessions.sweep = fail
main()
"""

UNLISTED = """
from sidecar.cli import main
from sidecar.sessions.archive import Archive

def fail(self, limit, *, since_s):
    raise RuntimeError("a bug")

Archive.recent = fail
main()
"""

Room = Callable[[], None]
Fill = Callable[[SidecarProcess], Room]
"""Leaves a sidecar's state directory without room; what it returns makes some again."""


@contextmanager
def small_disk(at: Path) -> Iterator[Fill]:
    """A file system of 8 MiB, mounted there."""
    at.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(at)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    ballast = at / "ballast"

    def fill(_: SidecarProcess) -> Room:
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(BLOCK)
        assert os.statvfs(at).f_bavail == 0
        return ballast.unlink

    try:
        yield fill
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


def allow(pid: int, limits: tuple[int, int]) -> None:
    resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)


@contextmanager
def small_files(at: Path) -> Iterator[Fill]:
    """A process none of whose files may grow, as where a quota is used up."""
    at.mkdir()

    def fill(sidecar: SidecarProcess) -> Room:
        pid = sidecar.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (len(BLOCK), before[1]))
        return partial(allow, pid, before)

    yield fill


@pytest.fixture(params=[small_disk, small_files], ids=["a full disk", "files that cannot grow"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Fill, list[str]]]:
    with request.param(tmp_path / "disk") as fill:
        yield fill, [f"--state-directory={tmp_path}/disk/state"]


def take_turns(agent: BlockingAgent, first: int, last: int) -> None:
    for sequence in range(first, last + 1):
        assert agent.turn(sequence, approach=f"{sequence} {'x' * 100}").sequence == sequence


def journalled(sidecar: SidecarProcess, session_id: str) -> list[int]:
    """Sequences of the turns that the journal has."""
    with grpc.insecure_channel(sidecar.admin) as channel:
        stub: Any = session_service_pb2_grpc.SessionServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
        request = admin_pb.ListTurnsRequest(session_id=session_id, page_size=1000)
        return [turn.sequence for turn in stub.ListTurns(request, timeout=WITHIN_S).turns]


def lost(sidecar: SidecarProcess) -> list[str]:
    """The series of losses that are above 0."""
    url = f"http://{sidecar.addresses['telemetry_address']}/metrics"
    with urllib.request.urlopen(url, timeout=WITHIN_S) as page:
        lines = page.read().decode().splitlines()
    series = [line for line in lines if line.startswith("sidecar_lost_total{")]
    return [one for one in series if float(one.rsplit(" ", 1)[1]) > 0]


def test_without_room_only_statusz_changes_and_all_is_kept_once_there_is_room(
    tmp_path: Path, disk: tuple[Fill, list[str]]
) -> None:
    fill, flags = disk
    with SidecarProcess(tmp_path, flags=flags) as sidecar:
        with agents(sidecar, 1) as (agent,):
            take_turns(agent, 1, 10)
            assert until(lambda: component(sidecar, "store") == "OK")
            make_room = fill(sidecar)
            take_turns(agent, 11, TURNS)
            assert until(lambda: component(sidecar, "store") == "RECOVERABLE")
            assert answers(sidecar) == (200, 200)
            take_turns(agent, TURNS + 1, TURNS + 10)
            make_room()
            assert until(lambda: component(sidecar, "store") == "OK")
        assert lost(sidecar) == []
        assert until(lambda: journalled(sidecar, "s0")[-1:] == [TURNS + 10])
        sidecar.kill()
        sidecar.restart()
        assert journalled(sidecar, "s0") == list(range(1, TURNS + 11))
        with agents(sidecar, 1) as (agent,):
            assert agent.last_sequence == TURNS + 10


def test_stopped_without_room_it_says_what_it_could_not_keep(
    tmp_path: Path, disk: tuple[Fill, list[str]]
) -> None:
    fill, flags = disk
    with SidecarProcess(tmp_path, flags=flags) as sidecar:
        with agents(sidecar, 1) as (agent,):
            take_turns(agent, 1, 10)
            assert until(lambda: component(sidecar, "store") == "OK")
            fill(sidecar)
            take_turns(agent, 11, TURNS)
            assert until(lambda: component(sidecar, "store") == "RECOVERABLE")
            agent.half_close()
        assert sidecar.stop() == 1
        assert "journal entries" in sidecar.log.rsplit("WARNING", 1)[1]


def test_a_sweep_that_fails_is_counted_each_time_and_the_loop_turns_on(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path, command=(sys.executable, "-c", FAILING)) as sidecar:
        swept = 'sidecar_lost_total{reason="fault",what="sweep"} '

        def failed() -> float:
            return sum(float(one.removeprefix(swept)) for one in lost(sidecar) if swept in one)

        assert until(lambda: failed() >= 2)
        assert answers(sidecar) == (200, 200)
        assert sidecar.stop() == 0
        assert sidecar.log.count("a sweep failed") >= 2


def test_sessions_of_before_that_cannot_be_listed_are_counted_apart_and_agents_served(
    tmp_path: Path,
) -> None:
    with SidecarProcess(tmp_path, command=(sys.executable, "-c", UNLISTED)) as sidecar:
        unlisted = 'sidecar_lost_total{reason="fault",what="listing"} 1.0'

        assert until(lambda: unlisted in lost(sidecar))
        with agents(sidecar, 1) as (agent,):
            take_turns(agent, 1, 1)
            agent.half_close()
        assert not any('what="sweep"' in one for one in lost(sidecar))
        assert sidecar.stop() == 0


def test_a_model_that_nobody_asked_for_is_no_component(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path, environment=NO_KEY) as sidecar:
        assert answers(sidecar) == (200, 200)
        assert component(sidecar, "model") == "absent"


def test_a_judge_without_a_key_shows_in_statusz_only(tmp_path: Path) -> None:
    config = tmp_path / "sidecar.yaml"
    config.write_text("judge: {model: claude-haiku-4-5}\n")
    flags = [f"--config={config}"]
    with SidecarProcess(tmp_path, flags=flags, environment=NO_KEY) as sidecar:
        assert component(sidecar, "model") == "PERMANENT"
        assert answers(sidecar) == (200, 200)


def test_a_key_file_that_cannot_be_read_stops_the_start_in_one_line(tmp_path: Path) -> None:
    flags = [f"--model-key-file={tmp_path}/none"]
    sidecar = SidecarProcess(tmp_path, flags=flags, environment=NO_KEY)
    sidecar.spawn()
    with sidecar:
        assert sidecar.process.wait(WITHIN_S) == 2
    (line,) = sidecar.log.splitlines()
    assert f"model_key_file = {tmp_path}/none is not right: it must be a readable file" in line


def test_a_key_that_is_refused_shows_in_statusz_only(tmp_path: Path) -> None:
    with FakeAnthropicServer([Say(text="FINAL_ANSWER: Paris")]) as api:
        key = tmp_path / "key"
        key.write_text("sk-of-yesterday")
        flags = [f"--model-key-file={key}", f"--model-base-url={api.base_url}"]
        with SidecarProcess(tmp_path, flags=flags, environment=NO_KEY) as sidecar:
            assert component(sidecar, "model") == "OK"
            with grpc.insecure_channel(sidecar.agent) as channel:
                stub: Any = answer_service_pb2_grpc.AnswerServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
                request = answer_pb.ForceCommitRequest(messages=HISTORY)
                stub.ForceCommit(request, timeout=WITHIN_S)
            assert component(sidecar, "model") == "RECOVERABLE"
            assert "unauthenticated" in ask(sidecar.addresses["admin_http_address"], "statusz")[1]
            assert answers(sidecar) == (200, 200)
