"""A service manager of the test: it starts a service and waits for what the service tells it."""

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

READY_WITHIN_S: Final = 60.0
STOPS_WITHIN_S: Final = 30.0
MESSAGE_BYTES_MAX: Final = 4_096


@dataclass(kw_only=True)
class Service:
    """A process that has said that it is ready."""

    process: "subprocess.Popen[bytes]"
    log_path: Path
    messages: list[str] = field(default_factory=list)
    """All that it has told its manager."""

    @property
    def log(self) -> str:
        """What it wrote."""
        return self.log_path.read_text()

    @property
    def addresses(self) -> dict[str, str]:
        """Where it listens, by configuration key."""
        [line] = [line for line in self.log.splitlines() if line.startswith("ready ")]
        return dict(pair.split("=", 1) for pair in line.split()[1:])

    def stop(self) -> int:
        """As `systemctl stop` does; its exit code."""
        self.process.terminate()
        return self.process.wait(STOPS_WITHIN_S)


@contextmanager
def running(
    command: Sequence[str], directory: Path, *, environment: Mapping[str, str]
) -> Iterator[Service]:
    """A service of Type=notify, once it is ready; `directory` gets its log and the manager's
    socket. Whatever happens, it does not outlive the block."""
    path = directory / "notify"
    log_path = directory / "log"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening, log_path.open("wb") as log:
        listening.bind(str(path))
        path.chmod(0o777)  # as /run/systemd/notify
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={"PATH": "/usr/bin:/bin", **environment, "NOTIFY_SOCKET": str(path)},
        )
        one = Service(process=process, log_path=log_path)
        try:
            with _listening(listening, one.messages) as heard:
                heard(lambda: process.poll() is not None or _is_ready(one.messages))
                assert _is_ready(one.messages), one.log
                yield one
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(STOPS_WITHIN_S)


def _is_ready(messages: Sequence[str]) -> bool:
    return any("READY=1" in message.splitlines() for message in messages)


@contextmanager
def _listening(
    listening: socket.socket, messages: list[str]
) -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Collects messages in a thread; gives what waits, for so long, until something holds."""
    turnstile, over = threading.Condition(), threading.Event()
    listening.settimeout(0.1)

    def listen() -> None:
        while not over.is_set():
            try:
                message = listening.recv(MESSAGE_BYTES_MAX).decode()
            except TimeoutError:
                message = ""
            with turnstile:
                messages.extend([message] if message else [])
                turnstile.notify_all()

    def wait_for(holds: Callable[[], Any]) -> None:
        with turnstile:
            turnstile.wait_for(holds, READY_WITHIN_S)

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield wait_for
    finally:
        over.set()
        thread.join()
