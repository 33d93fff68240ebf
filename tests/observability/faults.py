"""Real faults on real sidecars: each lasts as long as its block.

A sidecar takes several at a time where they do not touch one another's alert. What agents do is
sent by a thread of its own; what ends with a block is what was wrong, and never the sidecar.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import psutil

from sidecar.client import Client
from sidecar.client.stream import GIVE_UPS_TOLD_S
from sidecar.testing import SidecarProcess
from tests.edges.otlp_receiver import grpc_receiver

STUCK: Final = {"name": "pytest", "arguments_json": "{}", "result_text": "2 failed"}
"""The same call with the same result: at the fourth the breaker trips."""
STUCK_TURNS: Final = 5
IMPATIENT: Final = """
import sys, time
from sidecar.client import Client

time.sleep(float(sys.argv[2]))
with Client(sys.argv[1], agent_name="impatient", timeout_s=0.0001) as client:
    for number in range(1_000_000):
        client.turn(output_lines=number)
        time.sleep(0.05)
"""
MEMORY_GROUPS_V1: Final = (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes")
MEMORY_GROUPS_V2: Final = (Path("/sys/fs/cgroup"), "memory.max")
PATIENCE_S: Final = 30.0
"""Of a call; machines that run tests are slow."""


@contextmanager
def repeated(work: Callable[[int], None], *, pause_s: float) -> Iterator[None]:
    """Work that is done again and again in a thread, with its number, until the block ends.

    Raises at the end what the work has raised.
    """
    stop = threading.Event()
    raised: list[BaseException] = []

    def run() -> None:
        number = 0
        try:
            while not stop.wait(pause_s if number else 0):
                work(number)
                number += 1
        except BaseException as error:  # noqa: BLE001 - handed over to the test
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PATIENCE_S)
    for error in raised:
        raise error


def post(
    sidecar: SidecarProcess,
    path: str,
    body: Mapping[str, Any] | bytes,
    *,
    listener: str = "agent_http_tcp_address",
) -> int:
    """Send to a listener over HTTP: the status of the answer."""
    address = sidecar.addresses[listener]
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(
        f"http://{address}/v1/{path}", data=data, headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
            answer.read()
            status: int = answer.status
    except urllib.error.HTTPError as error:
        return error.code
    return status


def turn(sidecar: SidecarProcess, session: str, *, agent: str = "worker", **facts: Any) -> None:
    """Record a turn that is nothing special, or has these facts."""
    opening = {"agent_name": agent, "model": "scripted"}
    status = post(sidecar, f"sessions/{session}/turns", {"open": opening, "turn": facts})
    assert status == 200, status


def run_stuck(sidecar: SidecarProcess, session: str, *, closes: bool) -> None:
    """A run that is tripped, and ends without an answer where it ends."""
    for _ in range(STUCK_TURNS):
        turn(sidecar, session, agent="stuck", tool_calls=[STUCK])
    if closes:
        body = {"turn": {"tool_calls": [STUCK]}, "close": {"outcome": "RUN_OUTCOME_FAILED"}}
        assert post(sidecar, f"sessions/{session}/turns", body) == 200


@contextmanager
def killed(sidecar: SidecarProcess) -> Iterator[None]:
    """The sidecar is gone, and starts again at the same addresses when it is over."""
    sidecar.kill()
    try:
        yield
    finally:
        sidecar.restart()


@contextmanager
def impatient(sidecar: SidecarProcess) -> Iterator[None]:
    """Agents that wait a ten-thousandth of a second for each decision, and report so: all clients
    of a process at once, so each is a process, and one tells after the other."""
    address = sidecar.addresses["agent_address"]
    agents = [
        subprocess.Popen([sys.executable, "-c", IMPATIENT, address, str(begins_s)])
        for begins_s in (number * GIVE_UPS_TOLD_S / 4 for number in range(4))
    ]
    try:
        yield
    finally:
        for agent in agents:
            agent.kill()
            agent.wait(PATIENCE_S)


@contextmanager
def throttled(sidecar: SidecarProcess) -> Iterator[None]:
    """The process gets its CPU for one part in ten of the time, as under a CPU limit; its agent's
    turns are large."""
    process = psutil.Process(sidecar.process.pid)

    def throttle(_: int) -> None:
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.18)  # the fault itself, not a wait for one
        process.send_signal(signal.SIGCONT)

    calls = [
        {
            "name": f"read-{n}",
            "arguments_json": json.dumps({"path": f"{n}" * 400}),
            "result_text": text,
        }
        for n, text in ((n, f"line {n} of {n * n}\n" * 150) for n in range(200))
    ]

    def act(number: int) -> None:
        turn(sidecar, f"large-{number}", tool_calls=calls)

    try:
        with repeated(act, pause_s=0.1), repeated(throttle, pause_s=0.02):
            yield
    finally:
        process.send_signal(signal.SIGCONT)


@contextmanager
def refusing(sidecar: SidecarProcess) -> Iterator[None]:
    """An agent whose calls are no JSON, beside one whose turns are good."""

    def act(number: int) -> None:
        assert post(sidecar, "sessions/broken/turns", b"{nonsense") == 400
        turn(sidecar, "good", output_lines=number)

    with repeated(act, pause_s=0.1):
        yield


@contextmanager
def without_answers(sidecar: SidecarProcess) -> Iterator[None]:
    """Forced commits by a model that refuses, of runs whose history has no answer."""
    body = {"messages": [{"role": "user", "text": "How many are there?"}]}

    def act(_: int) -> None:
        assert post(sidecar, "answers:forceCommit", body) == 200

    with repeated(act, pause_s=0.5):
        yield


@contextmanager
def black_hole(sidecar: SidecarProcess, port: int, stack: ExitStack) -> Iterator[None]:
    """A collector that takes connections and never answers; one that works takes its place."""
    with socket.create_server(("127.0.0.1", port), reuse_port=True):

        def act(number: int) -> None:
            turn(sidecar, "traced", output_lines=number)

        stack.enter_context(repeated(act, pause_s=0.05))  # goes on when the collector is back
        yield
        # Before the port is let go: a client that finds nobody there may connect to itself.
        stack.enter_context(grpc_receiver(port=port))


@contextmanager
def tripped_sessions(sidecar: SidecarProcess) -> Iterator[None]:
    """Sessions that are tripped and open, until an operator closes them."""
    names = [f"tripped-{number}" for number in range(12)]
    for name in names:
        run_stuck(sidecar, name, closes=False)
    yield
    for name in names:
        path, body = f"sessions/{name}:reset", {"reason": "it is over"}
        assert post(sidecar, path, body, listener="admin_http_address") == 200


@contextmanager
def stuck_runs(sidecar: SidecarProcess) -> Iterator[None]:
    """One run after the other is tripped, and ends without an answer."""
    with repeated(lambda n: run_stuck(sidecar, f"stuck-{n}", closes=True), pause_s=0.2):
        yield


@contextmanager
def spending(sidecar: SidecarProcess, *, after_s: float) -> Iterator[None]:
    """An agent that spends little for `after_s` seconds, then a million tokens a turn."""
    from_s = time.monotonic() + after_s

    def act(_: int) -> None:
        burns = time.monotonic() > from_s
        usage = {"input_tokens": 1_000_000 if burns else 10, "output_tokens": 1}
        turn(sidecar, "spender", agent="spender", usage=usage)

    with repeated(act, pause_s=0.3):
        yield


@contextmanager
def without_state(sidecar: SidecarProcess) -> Iterator[None]:
    """The state directory is gone, and a file is in its place."""
    aside = sidecar.state_directory.with_name("aside")
    sidecar.state_directory.rename(aside)
    sidecar.state_directory.write_text("in the way")
    try:
        yield
    finally:
        sidecar.state_directory.unlink()
        aside.rename(sidecar.state_directory)


@contextmanager
def silent(sidecar: SidecarProcess) -> Iterator[None]:
    """An agent that is connected, and makes no turn until the block ends."""
    with Client(sidecar.addresses["agent_address"], agent_name="silent", timeout_s=5.0) as client:
        client.turn(output_lines=1)
        yield
        client.turn(output_lines=2)


@contextmanager
def memory_limit(sidecar: SidecarProcess) -> Iterator[None]:
    """A cgroup that leaves nineteen twentieths of what the process uses.

    Memory that was charged before stays charged to the group of before, so nothing is killed.
    """
    mount, file = MEMORY_GROUPS_V1 if MEMORY_GROUPS_V1[0].exists() else MEMORY_GROUPS_V2
    group = mount / f"sidecar-test-{time.monotonic_ns()}"
    group.mkdir()
    resident = psutil.Process(sidecar.process.pid).memory_info().rss
    (group / "cgroup.procs").write_text(str(sidecar.process.pid))
    (group / file).write_text(str(resident * 19 // 20))
    try:
        yield
    finally:
        (mount / "cgroup.procs").write_text(str(sidecar.process.pid))
        group.rmdir()


def memory_groups_work() -> bool:
    """Whether cgroups with a memory limit can be made here: by root, where the mount is writable
    and version 2 hands the controller down."""
    mount, _ = MEMORY_GROUPS_V1
    if mount.exists():
        return os.access(mount, os.W_OK)
    mount, _ = MEMORY_GROUPS_V2
    handed_down = mount / "cgroup.subtree_control"
    return os.access(handed_down, os.W_OK) and "memory" in handed_down.read_text().split()
