"""`make bench`: what a sidecar costs, against a bare echo server in the same run.

Rows have the bar they are held to. It is printed, never asserted: the machine decides a lot.
"""

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from sidecar.testing import SidecarProcess
from tests.bench.answers import extraction_cost, hostile_extraction_cost
from tests.bench.commits import forced_commit_cost
from tests.bench.fold import state_bytes, turn_cost
from tests.bench.hostile import hostile_turn_cost
from tests.bench.json_http import json_cost
from tests.bench.metrics_page import scrape_cost
from tests.bench.rows import Row, at_share, print_rows
from tests.bench.steps import warm_step_cost
from tests.process.streams import BlockingAgent

NOBODY = "http://127.0.0.1:9"
"""A collector that is absent: the connection is refused."""

ROUNDS = 3
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A process that answers turns."""

    address: str
    process: psutil.Process

    def cpu_s(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def echo(directory: Path) -> Iterator[Server]:
    address = f"unix:{directory}/echo.sock"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.bench.echo", address], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield Server(address=address, process=psutil.Process(process.pid))
        finally:
            process.terminate()


@contextmanager
def sidecar(directory: Path, collector: str = NOBODY) -> Iterator[Server]:
    directory.mkdir(exist_ok=True)
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector} if collector else {}
    with SidecarProcess(directory, environment=environment) as running:
        yield Server(address=running.agent, process=psutil.Process(running.process.pid))


def load(name: str, server: Server, kind: str, *numbers: float) -> dict[str, Any]:
    """Run a load in a process of its own; what it measured, and the server's CPU seconds."""
    before = server.cpu_s()
    run = subprocess.run(
        [sys.executable, "-m", "tests.bench.load", name, server.address, kind, *map(str, numbers)],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(run.stdout)
    found.setdefault("cpu_s", server.cpu_s() - before)
    return found


def throughput(one: Server, other: Server, seconds: float) -> Iterator[Row]:
    for kind, bar in (("digests", 0.5), ("texts", 0.35)):
        ratios, costs, rates = [], [], []
        for _ in range(ROUNDS):
            echoed = load("closed_loop", one, kind, 64, seconds)
            answered = load("closed_loop", other, kind, 64, seconds)
            rate = answered["turns"] / answered["seconds"]
            ratios.append(rate / (echoed["turns"] / echoed["seconds"]))
            costs.append(1e6 * (answered["cpu_s"] / answered["turns"]))
            rates.append(rate)
        yield Row(
            what=f"throughput, 64 streams, {kind}: ratio to echo",
            measured=f"{statistics.median(ratios):.2f} ({statistics.median(rates):.0f} turns/s, "
            f"{statistics.median(costs):.0f} us CPU a turn)",
            bar=f">= {bar}",
        )


def latency(one: Server, other: Server, seconds: float) -> Iterator[Row]:
    echoed = load("paced", one, "texts", 200, seconds, one.process.pid)
    answered = load("paced", other, "texts", 200, seconds, other.process.pid)
    for name, share, bar in (("p50", 0.5, 1.0), ("p99", 0.99, 5.0)):
        of_echo, of_sidecar = _at(echoed["latencies"], share), _at(answered["latencies"], share)
        yield Row(
            what=f"latency {name}, 200 agents x 1 turn/s: above echo",
            measured=f"{of_sidecar - of_echo:+.2f} ms ({of_sidecar:.2f} against {of_echo:.2f})",
            bar=f"<= {bar:g} ms",
        )
    extra = (answered["cpu_s"] - echoed["cpu_s"]) / seconds
    yield Row(
        what="CPU at 200 turns/s: above echo", measured=f"{extra:.1%} of a core", bar="<= 5 %"
    )


def json_over_http(directory: Path) -> Iterator[Row]:
    for kind in ("digests", "texts"):
        place = directory / kind
        place.mkdir(parents=True)
        cost = json_cost(place, kind)
        yield Row(
            what=f"JSON over HTTP, one caller, {kind}: p50",
            measured=f"{cost.p50_ms:.2f} ms",
            bar="<= 1.5 ms",
        )
        yield Row(
            what="the same: ratio to a handler that reads nothing, and to one that echoes messages",
            measured=f"{cost.of_bare:.2f}, {cost.of_echo:.2f}",
            bar=">= 0.5",
        )


def black_hole(directory: Path, seconds: float) -> Row:
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        hole.listen(1)
        collector = f"http://127.0.0.1:{hole.getsockname()[1]}"
        p99 = {}
        for name, target in (("none", ""), ("hole", collector)):
            with sidecar(directory / name, target) as server:
                found = load("paced", server, "texts", 200, seconds, server.process.pid)
                p99[name] = _at(found["latencies"], 0.99)
    return Row(
        what="p99 with a black-holed collector: above none",
        measured=f"{p99['hole'] - p99['none']:+.2f} ms",
        bar="< 1 ms",
    )


def start(directory: Path) -> Iterator[Row]:
    began = time.monotonic()
    with SidecarProcess(directory) as running:
        agent = BlockingAgent(running.agent, "first")
        agent.turn(1)
        took = time.monotonic() - began
        agent.close()
        agent.drop()
        idle = psutil.Process(running.process.pid).memory_info().rss / MIB
        began = time.monotonic()
        running.stop()
        stopped = time.monotonic() - began
    yield Row(what="exec to first answer", measured=f"{took:.2f} s", bar="<= 1 s")
    yield Row(what="resident memory, idle", measured=f"{idle:.0f} MiB", bar="<= 72 MiB")
    yield Row(what="shutdown, nobody attached", measured=f"{stopped:.2f} s", bar="<= 5 s")
    command = [sys.executable, "-c", "from sidecar.cli import main; main()", "--help"]
    times = []
    for _ in range(5):
        began = time.monotonic()
        subprocess.run(command, capture_output=True, check=True)
        times.append(time.monotonic() - began)
    yield Row(what="sidecar --help", measured=f"{1e3 * min(times):.0f} ms", bar="<= 200 ms")


def memory(directory: Path, sessions: int) -> Iterator[Row]:
    with sidecar(directory) as server:
        for name in ("once", "again"):
            load("many_sessions", server, "texts", sessions, 100, 64)
            used = server.process.memory_info().rss / MIB
            yield Row(
                what=f"memory after {sessions:,} sessions x 100 turns x 2 kB, {name}",
                measured=f"{used:.0f} MiB",
                bar="<= 200 MiB",
            )


def fold() -> Iterator[Row]:
    for kind, bar in (("digests", 30), ("texts", 100)):
        cost = turn_cost(kind)
        yield Row(
            what=f"a turn by `default`, {kind}: reading and folding it; of it the fold",
            measured=f"{cost.read_us + cost.fold_us:.1f} us, {cost.fold_us:.1f} us",
            bar=f"<= {bar} us, 25 us",
        )
    yield Row(
        what="reading a turn with 64 KiB of hostile text",
        measured=f"{hostile_turn_cost():.1f} ms CPU",
        bar="<= 5 ms",
    )
    yield Row(
        what="state of a session after 10,000 turns",
        measured=f"{state_bytes(10_000) / 1024:.1f} KiB",
        bar="<= 6 KiB",
    )


def answers() -> Iterator[Row]:
    yield Row(
        what="finding no answer in a history of 1 MB",
        measured=f"{extraction_cost():.1f} ms CPU",
        bar="<= 20 ms",
    )
    yield Row(
        what="the same of a hostile text of 1 MB",
        measured=f"{hostile_extraction_cost():.1f} ms CPU",
        bar="<= 20 ms",
    )
    yield Row(
        what="forced commit over a history of 1 MB, beside the model's own time",
        measured=f"{forced_commit_cost():.1f} ms",
        bar="<= 10 ms",
    )
    step_ms, way = warm_step_cost()
    yield Row(
        what=f"a step in the warm interpreter of the reference agent ({way})",
        measured=f"{step_ms:.2f} ms",
        bar="<= 5 ms",
    )


def _at(latencies: list[float], share: float) -> float:
    return 1e3 * at_share(latencies, share)


def scrape() -> Row:
    cost = scrape_cost()
    return Row(
        what="/metrics with every label at its full set",
        measured=f"{cost.ms:.1f} ms, {cost.kib:.0f} KiB, {cost.series} series",
        bar="<= 10 ms, 150 KiB, 400",
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each load")
    parser.add_argument("--sessions", type=int, default=10_000, help="of the memory load; 0: none")
    options = parser.parse_args()
    rows: list[Row] = [*fold(), *answers(), scrape()]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        pair: list[Callable[[Server, Server, float], Iterator[Row]]] = [throughput, latency]
        with echo(directory) as one, sidecar(directory / "a") as other:
            for measure in pair:
                rows += measure(one, other, options.seconds)
        rows += json_over_http(directory / "j")
        rows.append(black_hole(directory, options.seconds))
        (directory / "s").mkdir()
        rows += start(directory / "s")
        if options.sessions:
            rows += memory(directory / "m", options.sessions)
    print_rows(rows)


if __name__ == "__main__":
    main()
