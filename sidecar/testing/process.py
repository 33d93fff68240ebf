"""A real sidecar in a process of its own, for tests of whatever talks to one."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

READY_WITHIN_S = 60.0
STOPS_WITHIN_S = 60.0
"""Each only ends a test that hangs: a busy machine may take many times as long as an idle one."""

COMMAND: Final = (sys.executable, "-c", "from sidecar.cli import main; main()")


class SidecarProcess:
    """`sidecar serve` in a directory of its own: sockets, state and free ports.

    A context manager that starts it and, whatever happened, leaves no process behind. `restart`
    after `kill` finds the same state.
    """

    def __init__(
        self,
        directory: Path,
        *,
        flags: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        command: Sequence[str] = COMMAND,
    ) -> None:
        """`command` is what stands for `sidecar`, before `serve` and the flags."""
        self.directory = directory
        self.agent = f"unix:{directory}/agent.sock"
        self.admin = f"unix:{directory}/admin.sock"
        self.state_directory = directory / "state"
        self.log_path = directory / "sidecar.log"
        self.addresses: dict[str, str] = {}
        """Where it listens, by configuration key; filled when it is ready."""
        self._flags = tuple(flags)
        self._environment = dict(environment or {})
        self._command = tuple(command)
        self._process: subprocess.Popen[str] | None = None

    @property
    def process(self) -> "subprocess.Popen[str]":
        """The process; raises AssertionError before `start`."""
        if self._process is None:
            raise AssertionError("not started")
        return self._process

    @property
    def log(self) -> str:
        """What it wrote to standard error."""
        return self.log_path.read_text()

    def start(self) -> "SidecarProcess":
        """Start, and wait until it is ready. Raises AssertionError with its log when it is not."""
        self.spawn()
        self.wait_ready()
        return self

    def spawn(self) -> None:
        """Start without waiting."""
        command = [
            *self._command, "serve",
            f"--agent-address={self.directory}/agent.sock",
            f"--admin-address={self.directory}/admin.sock",
            "--agent-tcp-address=127.0.0.1:0",
            f"--agent-http-address={self.directory}/agent-http.sock",
            "--agent-http-tcp-address=127.0.0.1:0",
            "--telemetry-address=127.0.0.1:0",
            "--admin-http-address=127.0.0.1:0",
            f"--state-directory={self.state_directory}",
            *self._flags,
        ]  # fmt: skip
        self._close()
        kept = {name: value for name, value in os.environ.items() if not _configures(name)}
        with self.log_path.open("a") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**kept, **self._environment},
            )

    def wait_ready(self) -> None:
        """Wait for its `ready`, and learn its addresses."""
        line = self._first_line()
        if not line.startswith("ready "):
            raise AssertionError(f"not ready: {line!r}\n{self.log}")
        self.addresses = dict(part.split("=", 1) for part in line.split()[1:])

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop, and wait; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(STOPS_WITHIN_S)

    def kill(self) -> None:
        """SIGKILL, and wait."""
        self.process.kill()
        self.process.wait(STOPS_WITHIN_S)
        self._close()

    def restart(self) -> None:
        """Start again where it was."""
        self.start()

    def __enter__(self) -> "SidecarProcess":
        return self if self._process is not None else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait(STOPS_WITHIN_S)
            self._close()

    def _first_line(self) -> str:
        output = self.process.stdout
        if output is None:
            return ""
        deadline = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < deadline:
            readable, _, _ = select.select([output], [], [], 0.1)
            if readable:
                return output.readline()
            if self.process.poll() is not None:
                break
        return ""

    def _close(self) -> None:
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()


def _configures(name: str) -> bool:
    return name.startswith(("SIDECAR_", "OTEL_", "XDG_"))
