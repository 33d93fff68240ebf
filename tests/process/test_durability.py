"""What is left of a store whose process was killed, or whose disk was full."""

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sidecar.testing import FakeClock
from tests.edges.stores import sqlite_store
from tests.process.appending import FLUSH_EVERY, SAVE_EVERY, SESSIONS

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
        assert process.wait(10) == 0
    with sqlite_store(path, clock=FakeClock(), retention_s=float("inf")) as store:
        assert len(store.read("a")) == int(appended)
