"""What an attempt to reach the sidecar costs where nobody is, before a channel is made."""

import errno
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from sidecar.client import AsyncClient, Client, Reason
from sidecar.client.assembly import Assembly
from sidecar.client.channel import DESCRIPTORS_MIN, check_listener
from sidecar.client.give_ups import GiveUps
from sidecar.client.line import Outage
from sidecar.client.settings import Settings

PATIENCE_S = 60.0


@pytest.fixture
def left_behind() -> Iterator[Path]:
    """A socket that nobody listens on any more."""
    with tempfile.TemporaryDirectory(prefix="sc-", dir="/tmp") as directory:
        path = Path(directory) / "agent.sock"
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))
        yield path


def test_a_socket_that_nobody_listens_on_refuses(left_behind: Path) -> None:
    with pytest.raises(ConnectionRefusedError):
        check_listener(Settings(target=f"unix:{left_behind}"))


def test_one_that_somebody_listens_on_does_not_nor_one_with_a_full_queue(left_behind: Path) -> None:
    left_behind.unlink()
    settings = Settings(target=f"unix:{left_behind}")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(left_behind))
        listening.listen(0)
        for _ in range(4):  # what has hung up stays in the queue
            check_listener(settings)


def test_nothing_is_asked_over_tcp() -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]

    check_listener(Settings(target=f"127.0.0.1:{port}"))


def test_after_an_attempt_in_vain_the_next_ones_make_no_channel(left_behind: Path) -> None:
    run = Client(f"unix:{left_behind}")
    link = run._link
    assert link is not None
    line = link._exchange.line
    told = []

    def is_refused() -> bool:
        told.append(line.outage.description if line.outage is not None else "")
        return told[-1].startswith("ConnectionRefusedError")

    with link._news:
        refused = link._news.wait_for(is_refused, PATIENCE_S)
    run.close()

    assert refused
    assert any(one.startswith("failed to connect") for one in told)


async def test_after_an_attempt_in_vain_no_task_makes_a_channel(left_behind: Path) -> None:
    async with AsyncClient(f"unix:{left_behind}") as run:
        link = run._link
        assert link is not None
        line, until_s = link._exchange.line, monotonic() + PATIENCE_S
        told = [""]
        while not told[-1].startswith("ConnectionRefusedError") and monotonic() < until_s:
            await link._change(until_s)
            told.append(line.outage.description if line.outage is not None else "")

    assert told[-1].startswith("ConnectionRefusedError")
    assert any(one.startswith("failed to connect") for one in told)


@pytest.mark.parametrize(
    ("reason", "description", "was_refused"),
    [
        (Reason.CONNECT, "failed to connect to all addresses; Connection refused", True),
        (Reason.CONNECT, "ConnectionRefusedError: [Errno 111] Connection refused", True),
        (Reason.CONNECT, "Socket closed", False),
        (Reason.REJECTED, "POLICY_UNKNOWN refused", False),
    ],
)
def test_whoever_has_answered_is_asked_by_nothing_but_a_channel(
    reason: Reason, description: str, was_refused: bool
) -> None:
    line = Assembly("unix:/nonexistent", {}, GiveUps()).exchange.line
    assert not line.was_refused
    line.outage = Outage(reason=reason, description=description)

    assert line.was_refused is was_refused


@pytest.mark.parametrize(("left", "outcome"), [(DESCRIPTORS_MIN, "enough"), (8, str(errno.EMFILE))])
def test_a_channel_needs_file_descriptors_that_are_free(left: int, outcome: str) -> None:
    code = f"""
import os, resource
from sidecar.client.channel import check_descriptors

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken = []
try:
    while True:
        taken.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    for one in taken[:{left}]:
        os.close(one)
try:
    check_descriptors()
    check_descriptors()
    print("enough")
except OSError as error:
    print(error.errno)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == outcome
