"""What a sidecar tells the service manager that started it: systemd's side is the test's own."""

import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess

pytestmark = pytest.mark.process

WITHIN_S = 30.0
WATCHDOG_USEC = "400000"
"""A sign of life is due every 0.2 s: ten of them in BLOCKED_S."""
BLOCKED_S = 2.0
FOR_EVER_S = 3_600.0

BLOCKED = """
import asyncio, os, signal, socket, time
from sidecar import serve
from sidecar.cli import main

def say(message):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        one.sendto(message, os.environ["NOTIFY_SOCKET"])

def block():
    say(b"BLOCKED")
    time.sleep(float(os.environ["BLOCKED_S"]))
    say(b"FREE")

class Blocking(serve.Sidecar):
    async def start(self):
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, block)
        await super().start()

serve.Sidecar = Blocking
main()
"""
COMMAND = (sys.executable, "-c", BLOCKED)


class Heard:
    """What came, in its order; filled by a thread of its own."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._changed = threading.Condition()
        self._messages: list[str] = []

    def listen(self) -> None:
        """Until the socket is shut."""
        while message := self._listening.recv(4_096).decode():
            with self._changed:
                self._messages.append(message)
                self._changed.notify_all()

    def all(self) -> list[str]:
        """The messages so far."""
        with self._changed:
            return list(self._messages)

    def wait_for(self, holds: Callable[[list[str]], bool]) -> list[str]:
        """The messages, once something holds of them."""
        with self._changed:
            found = self._changed.wait_for(lambda: holds(self._messages), WITHIN_S)
            assert found, self._messages
            return list(self._messages)


@contextmanager
def manager(
    directory: Path, *, blocked_s: float = BLOCKED_S
) -> Iterator[tuple[Heard, dict[str, str]]]:
    """A service manager, and the environment in which it starts services."""
    path = str(directory / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(path)
        heard = Heard(listening)
        thread = threading.Thread(target=heard.listen)
        thread.start()
        try:
            yield (
                heard,
                {
                    "NOTIFY_SOCKET": path,
                    "WATCHDOG_USEC": WATCHDOG_USEC,
                    "BLOCKED_S": str(blocked_s),
                },
            )
        finally:
            listening.shutdown(socket.SHUT_RD)
            thread.join(WITHIN_S)


def test_it_says_when_it_is_ready_that_it_lives_and_when_it_stops(tmp_path: Path) -> None:
    with (
        manager(tmp_path) as (heard, environment),
        SidecarProcess(tmp_path, environment=environment) as sidecar,
    ):
        heard.wait_for(lambda messages: messages.count("WATCHDOG=1") > 5)
        assert sidecar.stop() == 0
        messages = [m for m in heard.wait_for(_has_drained) if m != "WATCHDOG=1"]
    ready, stopping = messages
    assert ready.splitlines()[0] == "READY=1"
    assert f"agent_address={sidecar.agent}" in ready
    assert stopping == "STOPPING=1\nSTATUS=draining"


def test_it_is_ready_only_once_its_agents_can_come(tmp_path: Path) -> None:
    def connects() -> bool:
        with socket.socket(socket.AF_UNIX) as agent:
            return agent.connect_ex(str(tmp_path / "agent.sock")) == 0

    with manager(tmp_path) as (heard, environment):
        sidecar = SidecarProcess(tmp_path, environment=environment)
        sidecar.spawn()
        with sidecar:
            heard.wait_for(lambda messages: any("READY=1" in message for message in messages))
            assert connects()


def test_a_start_that_fails_is_never_ready(tmp_path: Path) -> None:
    with (
        manager(tmp_path) as (heard, environment),
        SidecarProcess(_new(tmp_path / "first")) as first,
    ):
        taken = f"--agent-tcp-address={first.addresses['agent_tcp_address']}"
        second = SidecarProcess(tmp_path, flags=[taken], environment=environment)
        second.spawn()
        with second:
            assert second.process.wait(WITHIN_S) == 1
        assert not [message for message in heard.all() if "READY=1" in message]


def test_a_loop_that_is_blocked_gives_no_sign_of_life_though_its_threads_run(
    tmp_path: Path,
) -> None:
    with (
        manager(tmp_path) as (heard, environment),
        SidecarProcess(tmp_path, environment=environment, command=COMMAND) as sidecar,
    ):
        heard.wait_for(lambda messages: "WATCHDOG=1" in messages)
        sidecar.process.send_signal(signal.SIGUSR1)
        messages = heard.wait_for(lambda messages: "FREE" in messages[:-2])
    assert messages[messages.index("BLOCKED") + 1] == "FREE"
    assert "WATCHDOG=1" in messages[messages.index("FREE") :]


def test_the_signal_of_a_watchdog_has_it_say_where_it_hangs(tmp_path: Path) -> None:
    with (
        manager(tmp_path, blocked_s=FOR_EVER_S) as (heard, environment),
        SidecarProcess(tmp_path, environment=environment, command=COMMAND) as sidecar,
    ):
        sidecar.process.send_signal(signal.SIGUSR1)
        heard.wait_for(lambda messages: "BLOCKED" in messages)
        assert sidecar.stop(signal.SIGABRT) == -signal.SIGABRT
    assert "Fatal Python error: Aborted" in sidecar.log
    assert "in block" in sidecar.log


def _has_drained(messages: list[str]) -> bool:
    return any("STOPPING=1" in message for message in messages)


def _new(directory: Path) -> Path:
    directory.mkdir()
    return directory
