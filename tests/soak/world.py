"""A sidecar under load, what is done to it, and what it took meanwhile."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from sidecar.testing import SidecarProcess
from tests.edges.otlp_receiver import Received, grpc_receiver
from tests.soak.measuring import Sample, sample

ROOT: Final = Path(__file__).parents[2]
AGENTS: Final = 200
PAUSE_S: Final = 1.0
TICK_S: Final = 1.0
STOPPED_S: Final = 1.5
PATIENCE_S: Final = 60.0
"""For what is over in seconds where nothing is wrong."""
FLAGS: Final = (
    # Sessions, and what is kept of them, go as fast as they come: the sidecar is soon as it will be
    # in an hour.
    "--session-idle-ttl-s=20",
    "--retention-s=60",
    "--journal-bytes-max=67108864",
    # What is remembered of sessions that are over is bounded by their number.
    "--sessions-max=2000",
    "--loop-files-max=100",
)


class Collector:
    """An OTLP receiver that goes and comes back on the same port."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._received = Received()
        self.port = 0

    def come(self) -> None:
        """Take what is sent."""
        self._received, self.port = self._stack.enter_context(grpc_receiver(port=self.port))

    def go(self) -> None:
        """Be gone, with all that was taken."""
        self._stack.close()

    def take(self) -> int:
        """Spans since the last time; they are forgotten, as everything else that came."""
        with self._received.changed:
            count = len(self._received.spans)
            for held in (self._received.spans, self._received.measurements):
                held.clear()
        return count


class Load:
    """The agents' process."""

    def __init__(self, directory: Path) -> None:
        self._log_path = directory / "load.log"
        command = [sys.executable, "-m", "tests.soak.load"]
        command += [str(directory), str(AGENTS), str(PAUSE_S)]
        with self._log_path.open("w") as log:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def tell(self, line: str) -> dict[str, Any]:
        """Let it do something, and hear what came of it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, self._log_path.read_text()
        found: dict[str, Any] = json.loads(answer)
        return found

    def lasts(self, seconds: float) -> None:
        """Let so much time pass. Raises AssertionError when it ends meanwhile."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return
        raise AssertionError(f"the load ended\n{self._log_path.read_text()}")

    def end(self) -> dict[str, Any]:
        """Let every session end; the report."""
        report = self.tell("end")
        assert self._process.wait(PATIENCE_S) == 0, self._log_path.read_text()
        return report

    def close(self) -> None:
        """Leave no process behind."""
        self._process.kill()
        self._process.communicate()


class World:
    """The sidecar, its agents and its collector."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.collector = Collector()
        self.collector.come()
        endpoint = f"http://127.0.0.1:{self.collector.port}"
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}
        self.sidecar = SidecarProcess(directory, flags=FLAGS, environment=environment)
        self.sidecar.start()
        self.load = Load(directory)
        self.lives: list[list[Sample]] = [[]]
        """What was sampled, by process: a restart begins another."""
        self._ready_s = time.monotonic()
        self._hostile = 0

    def wait(self, seconds: float) -> None:
        """Let time pass, and look now and then."""
        until_s = time.monotonic() + seconds
        while (left_s := until_s - time.monotonic()) > 0:
            self.load.lasts(min(TICK_S, left_s))
            self.look()

    def look(self) -> None:
        """Take one sample."""
        age_s = time.monotonic() - self._ready_s
        self.lives[-1].append(sample(self.sidecar, age_s=age_s))

    def kill(self) -> None:
        """SIGKILL, and a restart on what is left."""
        self.sidecar.kill()
        self._restart()

    def terminate(self) -> None:
        """SIGTERM, which agents follow, and a restart."""
        code = self.sidecar.stop()
        assert code == 0, self.sidecar.log
        self._restart()

    def stand_still(self) -> None:
        """SIGSTOP for longer than agents wait."""
        self.sidecar.process.send_signal(signal.SIGSTOP)
        self.load.lasts(STOPPED_S)
        self.sidecar.process.send_signal(signal.SIGCONT)

    def lose_the_collector(self) -> None:
        """No collector for some seconds; then spans have to arrive again."""
        assert self.collector.take() > 0
        self.collector.go()
        self.wait(4 * STOPPED_S)
        self.collector.come()
        until_s = time.monotonic() + PATIENCE_S
        while self.collector.take() == 0:
            assert time.monotonic() < until_s, self.sidecar.log
            self.wait(TICK_S)

    def cut(self) -> None:
        """Break connections of agents."""
        assert self.load.tell("cut")["cut"] > 0

    def operate(self) -> None:
        """Continue, reset and close some sessions."""
        assert self.load.tell("operate")["steered"] > 0

    def harm(self) -> None:
        """Be what tests.soak.hostile is, for a round."""
        self._hostile += 1
        with hostile(self._directory, seed=self._hostile, seconds=0) as lines:
            assert list(lines)

    def close(self) -> None:
        """Leave nothing behind."""
        self.load.close()
        with self.sidecar:
            self.collector.go()

    def _restart(self) -> None:
        self.sidecar.restart()
        self._ready_s = time.monotonic()
        self.lives.append([])


Fault = Callable[[World], None]
SURVIVED: Final[Mapping[str, Fault]] = MappingProxyType(
    {
        "stands still": World.stand_still,
        "the collector goes": World.lose_the_collector,
        "connections are cut": World.cut,
        "a hostile client": World.harm,
        "an operator": World.operate,
    }
)
"""What the process lives through."""
ALL: Final[Mapping[str, Fault]] = MappingProxyType(
    {"SIGKILL": World.kill, "SIGTERM": World.terminate, **SURVIVED}
)


@contextmanager
def hostile(directory: Path, *, seed: int, seconds: float) -> Iterator[Iterator[str]]:
    """The hostile client at work: the lines it says. Raises AssertionError when harm was done."""
    log_path = directory / "hostile.log"
    command = [sys.executable, "-m", "tests.soak.hostile"]
    command += [str(directory), str(seed), str(seconds)]
    with (
        log_path.open("w") as log,
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            yield iter(process.stdout)
            code = process.wait(PATIENCE_S)
        finally:
            process.kill()
    assert code == 0, log_path.read_text()
