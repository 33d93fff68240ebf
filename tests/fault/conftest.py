"""Servers, clients and child processes that are gone when a test is over."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fault.clients import FLAVOURS, Run
from tests.fault.servers import PATIENCE_S, Server, StandIn

Open = Callable[..., Run]
Serve = Callable[..., Server]


@pytest.fixture
def directory() -> Iterator[Path]:
    """Short, since a socket's path is; open to others, since one test is another user's."""
    made = Path(tempfile.mkdtemp(prefix="sc-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def target(directory: Path) -> str:
    return f"unix:{directory}/agent.sock"


@pytest.fixture(params=list(FLAVOURS))
def open_run(request: pytest.FixtureRequest, target: str) -> Iterator[Open]:
    """Makes clients of one of the two kinds; they are closed, and leave no thread behind."""
    before = set(threading.enumerate())
    runs: list[Run] = []

    def make(address: str | None = None, **options: Any) -> Run:
        run: Run = FLAVOURS[request.param](target if address is None else address, **options)
        runs.append(run)
        return run

    yield make
    for run in runs:
        run.close()
    for thread in set(threading.enumerate()) - before:
        if thread.name in ("sidecar-client", "agent's loop"):
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), thread


@pytest.fixture
def serve(target: str) -> Iterator[Serve]:
    """Serves stand-ins for the sidecar in this process."""
    servers: list[Server] = []

    def start(servicer: StandIn, *options: tuple[str, int]) -> Server:
        servers.append(Server(target, servicer, *options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


class Child:
    """A stand-in for the sidecar in a process of its own, which signals can reach."""

    def __init__(self, target: str, journal: Path) -> None:
        self._command = [sys.executable, "-m", "tests.fault.servers", target, str(journal)]
        self._journal = journal
        self._process: subprocess.Popen[str] | None = None

    @property
    def process(self) -> "subprocess.Popen[str]":
        assert self._process is not None
        return self._process

    @property
    def journal(self) -> list[int]:
        """Sequences of the turns that it got, in the order in which it got them."""
        return [int(line) for line in self._journal.read_text().split()]

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def stop(self) -> None:
        """Returns when no thread of it runs any more."""
        self.process.send_signal(signal.SIGSTOP)
        _, status = os.waitpid(self.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        if self._process is not None:
            self.process.kill()
            self.process.wait(PATIENCE_S)
            assert self.process.stdout is not None
            self.process.stdout.close()
            self._process = None


@pytest.fixture
def child(target: str, directory: Path) -> Iterator[Child]:
    found = Child(target, directory / "journal")
    found.start()
    yield found
    found.kill()
