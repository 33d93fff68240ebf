"""`make bench-clients`: what a client in another language costs its agent.

Latency and outages are measured against a real sidecar, through the conformance drivers, beside the
Python client; CPU and memory against the echo server, beside a bare stream of gRPC in the same
language. Bars are printed, never asserted: the machine decides a lot.
"""

import argparse
import asyncio
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from google.protobuf import json_format

from sidecar.conformance.driver import Driver
from sidecar.testing import SidecarProcess
from tests.bench.__main__ import MIB, echo
from tests.bench.load import turn_of
from tests.bench.rows import Row, at_share, print_rows
from tests.clients.languages import EXAMPLES, LANGUAGES, checked

REFERENCE = "python"
DRIVERS: Mapping[str, str] = {
    REFERENCE: f"{shlex.quote(sys.executable)} -m sidecar.conformance.python_driver",
    **{each.name: shlex.quote(str(each.driver)) for each in LANGUAGES.values()},
}
BENCHES: Mapping[str, tuple[str, ...]] = {
    "go": (str(EXAMPLES / "go" / "bin" / "bench"),),
    "typescript": ("node", str(EXAMPLES / "typescript" / "dist" / "bench" / "bench.js")),
    "java": (str(EXAMPLES / "java" / "bench.sh"),),
}

CPU_US_MAX: Mapping[str, int] = {"go": 50, "typescript": 100, "java": 100}
MEMORY_MIB_MAX: Mapping[str, int] = {"go": 1}
BEHIND_MS_MAX = 5
OUTAGE_S_MAX = 1

PATIENCE_MS = 10_000
"""A decision is waited for beyond the default: what is measured is when it comes."""
WARM_UP_PACED = 50
WARM_UP_TURNS = 6000
"""Until a virtual machine has compiled what it runs all the time."""
ROUNDS = 5
ROUND_TURNS = 2000
OUTAGE_TURNS = 100
SESSIONS = 50
KEPT_TURNS = 300
"""More than the 256 that a client keeps."""


# Through a conformance driver.


@dataclass(frozen=True, slots=True, kw_only=True)
class Driven:
    """A client behind its driver."""

    driver: Driver

    async def turn(self, number: int) -> float:
        """Reports a turn of about 2 kB; the milliseconds that the call took in the driver."""
        wire = turn_of("texts", number)
        wire.ClearField("sequence")
        turn = json_format.MessageToDict(wire, preserving_proto_field_name=True)
        reply = await self.driver.ask({"do": "turn", "turn": turn})
        return float(reply.body["elapsed_ms"])


@asynccontextmanager
async def driven(command: str, address: str, **options: Any) -> AsyncIterator[Driven]:
    """A client of the sidecar there, from its start to its end."""
    driver = await Driver.started(command)
    try:
        await driver.ask({"do": "start", "options": {"address": address, **options}})
        yield Driven(driver=driver)
        await driver.ask({"do": "stop"})
        await driver.leave()
    finally:
        await driver.kill()


async def paced(language: str, address: str, turns: int, delay_s: float) -> list[float]:
    """Latencies of a turn a second, in milliseconds; the first comes after the delay."""
    async with driven(DRIVERS[language], address, timeout_ms=PATIENCE_MS) as client:
        for number in range(WARM_UP_PACED):
            await client.turn(number)
        loop = asyncio.get_running_loop()
        due = loop.time() + delay_s
        found = []
        for number in range(turns):
            await asyncio.sleep(due + number - loop.time())
            found.append(await client.turn(WARM_UP_PACED + number))
        return found


async def latency(directory: Path, turns: int, agents: int) -> list[Row]:
    """All languages at the same time, so that what the machine does besides hits all."""
    names = [name for name in DRIVERS for _ in range(agents)]
    with SidecarProcess(directory) as sidecar:
        loads = [
            paced(name, sidecar.agent, turns, place / len(names))
            for place, name in enumerate(names)
        ]
        found = await asyncio.gather(*loads)
    latencies: dict[str, list[float]] = {name: [] for name in DRIVERS}
    for name, some in zip(names, found, strict=True):
        latencies[name] += some
    of_python = at_share(latencies[REFERENCE], 0.99)
    return [_latency_row(name, some, of_python) for name, some in latencies.items()]


def _latency_row(language: str, latencies: list[float], of_python: float) -> Row:
    p50, p99 = (at_share(latencies, share) for share in (0.5, 0.99))
    measured = f"{p50:.2f} and {p99:.2f} ms"
    if language == REFERENCE:
        return Row(what=f"{language}: p50 and p99 of a turn, 1 turn/s", measured=measured)
    return Row(
        what=f"{language}: p50 and p99 of a turn, 1 turn/s; p99 above Python's",
        measured=f"{measured}; {p99 - of_python:+.2f} ms",
        bar=f"<= {BEHIND_MS_MAX} ms",
    )


async def outage(directory: Path, language: str, fault: signal.Signals) -> float:
    """Seconds that turns take in all while the sidecar hangs (SIGSTOP) or is gone (SIGKILL)."""
    with SidecarProcess(directory) as sidecar:
        async with driven(DRIVERS[language], sidecar.agent) as client:
            for number in range(WARM_UP_PACED):
                await client.turn(number)
            sidecar.process.send_signal(fault)
            try:
                turns = range(WARM_UP_PACED, WARM_UP_PACED + OUTAGE_TURNS)
                return sum([await client.turn(number) for number in turns]) / 1000
            finally:
                sidecar.process.send_signal(signal.SIGCONT)


def outages(directory: Path, language: str) -> Row:
    costs = []
    for fault in (signal.SIGSTOP, signal.SIGKILL):
        place = directory / language / fault.name
        place.mkdir(parents=True)
        costs.append(asyncio.run(outage(place, language, fault)))
    return Row(
        what=f"{language}: an outage of {OUTAGE_TURNS} turns in all, hanging and killed",
        measured=" and ".join(f"{cost:.2f} s" for cost in costs),
        bar=f"<= {OUTAGE_S_MAX} s",
    )


# Beside a bare stream.


@dataclass(frozen=True, slots=True, kw_only=True)
class Taking:
    """A process whose sessions take turns when they are told to."""

    process: "subprocess.Popen[str]"

    def take(self, turns: int) -> None:
        """So many in each session. Raises AssertionError where that fails."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{turns}\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        assert said == "done\n", f"{self.process.args!r} says {said!r}"

    def cpu_us(self) -> float:
        """Microseconds of CPU of the process for each turn of a round."""
        before = self._cpu_s()
        self.take(ROUND_TURNS)
        return 1e6 * (self._cpu_s() - before) / ROUND_TURNS

    def resident_mib(self) -> float:
        return float(psutil.Process(self.process.pid).memory_info().rss) / MIB

    def _cpu_s(self) -> float:
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)


@contextmanager
def taking(language: str, address: str, kind: str, sessions: int = 1) -> Iterator[Taking]:
    """Sessions by a client, or by bare streams (`kind`), of one process."""
    command = [*BENCHES[language], address, kind, str(sessions)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Taking(process=process)
        finally:
            process.kill()


def cpu(address: str, language: str) -> Row:
    """In turn, so that what the machine does besides hits both."""
    with (
        taking(language, address, "client") as client,
        taking(language, address, "bare") as bare,
    ):
        client.take(WARM_UP_TURNS)
        bare.take(WARM_UP_TURNS)
        pairs = [(client.cpu_us(), bare.cpu_us()) for _ in range(ROUNDS)]
    added = statistics.median(one - other for one, other in pairs)
    of_client, of_bare = (statistics.median(some) for some in zip(*pairs, strict=True))
    return Row(
        what=f"{language}: CPU a turn of 2 kB, above a bare stream",
        measured=f"{added:+.0f} us ({of_client:.0f} against {of_bare:.0f})",
        bar=f"<= {CPU_US_MAX[language]} us",
    )


def memory(address: str, language: str) -> Row:
    """What one session more takes, its 256 turns kept."""

    def a_session(kind: str) -> float:
        found = []
        for sessions in (1, SESSIONS + 1):
            with taking(language, address, kind, sessions) as one:
                one.take(KEPT_TURNS)
                found.append(one.resident_mib())
        return (found[1] - found[0]) / SESSIONS

    of_client, of_bare = a_session("client"), a_session("bare")
    return Row(
        what=f"{language}: memory a session that keeps 256 turns of 2 kB, above a bare stream",
        measured=f"{of_client - of_bare:+.2f} MiB ({of_client:.2f} against {of_bare:.2f})",
        bar=f"<= {MEMORY_MIB_MAX[language]} MiB",
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-clients")
    parser.add_argument("--seconds", type=int, default=60, help="of the load at 1 turn/s")
    parser.add_argument("--agents", type=int, default=2, help="of each language in that load")
    parser.add_argument("--built", action="store_true", help="the clients are: do not check them")
    options = parser.parse_args()
    if not options.built:
        for each in LANGUAGES.values():
            checked(each)
    with tempfile.TemporaryDirectory(prefix="sc-", dir="/tmp") as name:
        directory = Path(name)
        with echo(directory) as server:
            rows = [cpu(server.address, language) for language in CPU_US_MAX]
            rows += [memory(server.address, language) for language in MEMORY_MIB_MAX]
        (directory / "l").mkdir()
        rows += asyncio.run(latency(directory / "l", options.seconds, options.agents))
        rows += [outages(directory / "o", language) for language in DRIVERS]
    print_rows(rows)


if __name__ == "__main__":
    main()
