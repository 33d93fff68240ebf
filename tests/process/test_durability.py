"""What is left of a store whose process was killed, or whose disk was full."""

import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidecar.adapters.sqlite_store import DATABASE
from sidecar.testing import FakeClock, SidecarProcess
from sidecar.v1 import session_service_pb2 as admin_pb
from sidecar.v1 import session_service_pb2_grpc
from tests.edges.stores import sqlite_store
from tests.process.appending import FLUSH_EVERY, SAVE_EVERY, SESSIONS
from tests.process.streams import agents
from tests.process.test_health_matrix import WITHIN_S, until

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.process


@contextmanager
def appending(path: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """The process that appends; killed in the end, if it has not ended."""
    command = [sys.executable, "-m", "tests.process.appending", str(path), *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_store_leaves_a_gapless_beginning_with_all_that_was_flushed(
    tmp_path: Path, seed: int
) -> None:
    path = tmp_path / "store.db"
    lines_read = random.Random(seed).randint(1, 12 * FLUSH_EVERY)
    with appending(path) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(lines_read)]
        process.kill()
        said += process.stdout.readlines()
    flushed = [int(line.split()[1]) for line in said if line.startswith("flushed")]
    appended = [int(line) for line in said if line.strip().isdigit()]
    with sqlite_store(path, retention_s=float("inf")) as store:
        for session_id in SESSIONS:
            numbers = [found.number for found in store.read(session_id)]
            assert numbers == list(range(1, len(numbers) + 1))
            # The last append may have come back before it could be said.
            assert max(flushed, default=0) <= len(numbers) <= max(appended, default=0) + 1
            snapshot = store.load(session_id)
            assert snapshot is None or snapshot.number <= len(numbers)
            if flushed:
                assert snapshot is not None
                assert snapshot.number >= max(flushed) - SAVE_EVERY


def test_a_full_disk_costs_nothing_that_was_kept_until_there_was_room(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with appending(path, "--bytes-max", "200000") as process:
        assert process.stdout is not None and process.stdin is not None
        state, appended, pending, *detail = process.stdout.readline().split()
        assert (state, pending) == ("recoverable", "1")
        assert int(appended) > 1 and detail
        process.stdin.write("there is room\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"ok True {appended} {{}}\n"
        assert process.wait(WITHIN_S) == 0
    with sqlite_store(path, clock=FakeClock(), retention_s=float("inf")) as store:
        assert len(store.read("a")) == int(appended)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_sessions_that_are_held_outlast_the_loss_of_their_database(
    tmp_path: Path, number: signal.Signals
) -> None:
    with SidecarProcess(tmp_path) as running:
        with agents(running, 4) as fleet:
            for agent in fleet:
                agent.turn(1)
        running.stop()
        running.restart()
        assert until(lambda: held(running) == 4)
        database = running.state_directory / DATABASE
        for part in (database, *database.parent.glob(f"{DATABASE}-*")):
            part.unlink()
        with agents(running, 1) as (agent,):
            agent.turn(2)
        assert until(lambda: snapshots(database) == 4)
        running.process.send_signal(number)
        running.process.wait(WITHIN_S)
        running.restart()
        with agents(running, 4) as fleet:
            assert [agent.last_sequence for agent in fleet] == [2, 1, 1, 1]


def held(sidecar: SidecarProcess) -> int:
    """How many sessions a sidecar holds."""
    with grpc.insecure_channel(sidecar.admin) as channel:
        stub: Any = session_service_pb2_grpc.SessionServiceStub(channel)  # type: ignore[no-untyped-call, unused-ignore]
        return len(stub.ListSessions(admin_pb.ListSessionsRequest()).sessions)


def snapshots(database: Path) -> int:
    """How many a database has that a sidecar may be about to begin."""
    if not database.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM snapshot").fetchone()[0])
    except sqlite3.Error:
        return 0
