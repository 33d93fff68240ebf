"""Python commands as processes: a few at a time, within a time limit, none of them left behind."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

TIMEOUT_S: Final = 20.0
"""A test run of the demo takes a twentieth of a second; a hundred of them on two cores five."""

OPTIONS: Final = ("-B", "-E", "-s", "-S")
"""No compiled files, since an edit within the same second would go unnoticed; nothing of the
user's environment; no site packages, which would double the time to start."""

ENVIRONMENT: Final = ("PATH", "LANG", "LC_ALL", "TMPDIR")
"""What a process gets to know of the environment. The rest may hold secrets."""


class Stopped(Exception):  # noqa: N818 - says what is the case
    """The demo is over; no process is started any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A process that ran to its end, or to the end of its time."""

    output: str
    exit_code: int | None
    """None: it was killed when its time was over."""


class Processes:
    """The processes of all benches. Used from many threads."""

    def __init__(self, *, running_max: int, timeout_s: float = TIMEOUT_S) -> None:
        self._slots = threading.BoundedSemaphore(running_max)
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._live: set[subprocess.Popen[bytes]] = set()
        self._is_over = False

    def run(self, arguments: list[str], folder: Path) -> Finished:
        """Run Python with these arguments once there is a slot for it.

        Raises Stopped once `close` was called.
        """
        with self._slots:
            process = self.begin(arguments, folder)
            try:
                output, _ = process.communicate(timeout=self._timeout_s)
                exit_code: int | None = process.returncode
            except subprocess.TimeoutExpired:
                _kill(process)
                output, exit_code = process.communicate()[0], None
            finally:
                self.end(process)
        return Finished(output=output.decode(errors="replace"), exit_code=exit_code)

    def begin(self, arguments: list[str], folder: Path) -> subprocess.Popen[bytes]:
        """Start Python with these arguments, its output a pipe. Raises Stopped as `run` does."""
        with self._lock:
            if self._is_over:
                raise Stopped
            process = subprocess.Popen(  # noqa: S603 - the demo's own commands, and no shell
                [sys.executable, *OPTIONS, *arguments],
                cwd=folder,
                env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                # A group of its own: Ctrl-C is for the demo, which then ends it in order.
                start_new_session=True,
            )
            self._live.add(process)
        return process

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Let go of a process, killing it if it still runs."""
        _kill(process)
        process.wait()
        output: IO[bytes] | None = process.stdout
        if output is not None:
            output.close()
        with self._lock:
            self._live.discard(process)

    def close(self) -> None:
        """Kill what runs; nothing is started after this."""
        with self._lock:
            self._is_over = True
            for process in self._live:
                _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def processes(*, running_max: int) -> Iterator[Processes]:
    """Processes for as long as the block lasts."""
    running = Processes(running_max=running_max)
    try:
        yield running
    finally:
        running.close()
