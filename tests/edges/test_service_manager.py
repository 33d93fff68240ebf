"""What the service manager is told, read at a datagram socket of the test."""

import os
import resource
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sidecar.adapters.service_manager import ServiceManager, service_manager

PID = 4711


class Listening:
    """The manager's end of the socket."""

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address)
        self._socket.setblocking(False)

    def heard(self) -> list[str]:
        """All that was said since."""
        messages = []
        try:
            while True:
                messages.append(self._socket.recv(4_096).decode())
        except BlockingIOError:
            return messages

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "notify")


@pytest.fixture
def listening(path: str) -> Iterator[Listening]:
    one = Listening(path)
    yield one
    one.close()


def test_ready_and_stopping_are_one_datagram_each_with_a_line_for_people(
    path: str, listening: Listening
) -> None:
    with closing(ServiceManager(path)) as manager:
        manager.ready("agent_address=unix:/run/a.sock")
        manager.stopping()
        assert listening.heard() == [
            "READY=1\nSTATUS=agent_address=unix:/run/a.sock",
            "STOPPING=1\nSTATUS=draining",
        ]


def test_a_leading_at_sign_is_an_abstract_socket(tmp_path: Path) -> None:
    name = f"sidecar-test{tmp_path}"
    listening = Listening("\0" + name)
    with closing(ServiceManager("@" + name)) as manager:
        manager.stopping()
    assert len(listening.heard()) == 1
    listening.close()


def test_a_sign_of_life_is_given_twice_in_the_time_of_the_watchdog(
    path: str, listening: Listening
) -> None:
    with closing(ServiceManager(path, watchdog_s=2.0)) as manager:
        given = []
        for tenth in range(35):
            manager.alive(1_000 + tenth / 10)
            if listening.heard() == ["WATCHDOG=1"]:
                given.append(tenth)
        assert given == [0, 10, 20, 30]


def test_without_a_watchdog_no_sign_of_life_is_given(path: str, listening: Listening) -> None:
    with closing(ServiceManager(path)) as manager:
        manager.alive(1_000)
        assert listening.heard() == []


def test_without_a_manager_nobody_is_told_and_nothing_is_opened() -> None:
    with closing(service_manager({"WATCHDOG_USEC": "2000000"}, pid=PID)) as manager:
        manager.ready("")
        manager.alive(1_000)
        manager.stopping()


@pytest.mark.parametrize(
    ("why", "variables", "given"),
    [
        ("by the microseconds", {"WATCHDOG_USEC": "10000000"}, 2),
        ("for this process", {"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": str(PID)}, 2),
        ("for another process", {"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "1"}, 0),
        ("no watchdog", {}, 0),
        ("no number", {"WATCHDOG_USEC": "10s"}, 0),
        ("no time", {"WATCHDOG_USEC": "0"}, 0),
    ],
)
def test_the_variables_say_whether_and_how_often(
    path: str, listening: Listening, why: str, variables: dict[str, str], given: int
) -> None:
    with closing(service_manager({"NOTIFY_SOCKET": path, **variables}, pid=PID)) as manager:
        for now_s in range(100, 110):
            manager.alive(now_s)
        assert listening.heard() == ["WATCHDOG=1"] * given, why


def test_what_cannot_be_said_is_said_once_it_can_and_complained_of_once(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(ServiceManager(path, watchdog_s=1.0)) as manager:
        manager.ready("here")
        for now_s in range(100, 110):
            manager.alive(now_s)
        late = Listening(path)
        manager.alive(110)
        manager.alive(111)
        assert late.heard() == ["READY=1\nSTATUS=here", "WATCHDOG=1"]
        assert len(caplog.records) == 1
        assert f"the service manager at {path} cannot be told" in caplog.text
        late.close()


def test_a_manager_that_does_not_read_blocks_nobody(path: str, listening: Listening) -> None:
    with closing(ServiceManager(path, watchdog_s=1.0)) as manager:
        for now_s in range(10_000):
            manager.alive(now_s)
        waiting = len(listening.heard())
        manager.alive(10_001)
        assert 0 < waiting < 10_000
        assert listening.heard() == ["WATCHDOG=1"]


def test_a_sign_of_life_takes_no_descriptor(path: str, listening: Listening) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with closing(ServiceManager(path, watchdog_s=1.0)) as manager:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            with pytest.raises(OSError, match="Too many open files"):
                os.open(os.devnull, os.O_RDONLY)
            manager.alive(100)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert listening.heard() == ["WATCHDOG=1"]
