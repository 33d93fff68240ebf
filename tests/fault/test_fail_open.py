"""Whatever is wrong with the sidecar, the agent proceeds, at once, and the reason is counted."""

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from time import monotonic

import grpc
import pytest

from sidecar.client.patience import MISSES_MAX
from sidecar.v1 import run_pb2 as pb
from tests.fault.clients import FLAVOURS, Run
from tests.fault.conftest import Child, Open, Serve
from tests.fault.servers import PATIENCE_S, Refusal, StandIn, nothing, proceed, rotate

pytestmark = pytest.mark.process

BEST_S = 1.0
"""For the quickest of the turns that a client waits in, which noise does not slow down: each waits
0.2 s."""
NOBODY = 65534


def fails_open(run: Run, *reasons: str) -> None:
    """Five turns proceed, in time, and each is counted once."""
    directives, times_s = [], []
    for _ in range(5):
        began_s = monotonic()
        directives.append(run.turn(text="a turn"))
        times_s.append(monotonic() - began_s)

    assert min(times_s[:MISSES_MAX]) < BEST_S
    assert {directive.kind for directive in directives} == {"proceed"}
    assert {directive.fail_open_reason for directive in directives} <= set(reasons)
    assert sum(run.give_ups.values()) == 5


# Nobody there, or nobody who speaks the protocol.


@contextmanager
def socket_missing(path: Path) -> Iterator[str]:
    yield f"unix:{path}"


@contextmanager
def socket_left_behind(path: Path) -> Iterator[str]:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    yield f"unix:{path}"


@contextmanager
def directory_in_its_place(path: Path) -> Iterator[str]:
    path.mkdir()
    yield f"unix:{path}"


@contextmanager
def port_closed(path: Path) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    yield f"127.0.0.1:{port}"


@contextmanager
def tcp_black_hole(path: Path) -> Iterator[str]:
    """A port whose backlog is full: the kernel drops what else asks to connect."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        filling = [socket.socket() for _ in range(4)]
        for one in filling:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        yield f"127.0.0.1:{full.getsockname()[1]}"
        for one in filling:
            one.close()


@contextmanager
def accepts_and_says_nothing(path: Path) -> Iterator[str]:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen(16)
        yield f"unix:{path}"


@contextmanager
def speaks_http(path: Path) -> Iterator[str]:
    with answering(path, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") as target:
        yield target


@contextmanager
def speaks_garbage(path: Path) -> Iterator[str]:
    with answering(path, bytes(range(256)) * 16) as target:
        yield target


@contextmanager
def hangs_up(path: Path) -> Iterator[str]:
    with answering(path, b"") as target:
        yield target


@contextmanager
def answering(path: Path, answer: bytes) -> Iterator[str]:
    """Everybody who connects gets this, and is hung up on."""

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection, suppress(OSError):  # who only asks whether anybody listens is gone
                connection.sendall(answer)

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen(16)
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"unix:{path}"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(PATIENCE_S)


@contextmanager
def name_does_not_resolve(path: Path) -> Iterator[str]:
    yield "no-such-host.invalid:4300"


@pytest.mark.parametrize(
    "nobody",
    [
        socket_missing,
        socket_left_behind,
        directory_in_its_place,
        port_closed,
        tcp_black_hole,
        accepts_and_says_nothing,
        speaks_http,
        speaks_garbage,
        hangs_up,
        name_does_not_resolve,
    ],
)
def test_without_a_sidecar_the_agent_proceeds(
    nobody: Callable[[Path], AbstractContextManager[str]], open_run: Open, directory: Path
) -> None:
    with nobody(directory / "other.sock") as target:
        run = open_run(target)
        fails_open(run, "connect")
        run.close()


def test_a_socket_that_this_user_may_not_use_is_no_sidecar(
    serve: Serve, target: str, directory: Path
) -> None:
    """In a child process that has given up being root, to whom no mode is an obstacle."""
    serve(StandIn())
    (directory / "agent.sock").chmod(0)
    code = f"""
import asyncio, os
from sidecar.client import AsyncClient, Client

async def watched(target):
    async with AsyncClient(target) as run:
        return (await run.turn()).fail_open_reason

def both(target):
    with Client(target) as run:
        return run.turn().fail_open_reason, asyncio.run(watched(target))

both("unix:/nonexistent")  # imports what the other user may not read
if os.geteuid() == 0:
    os.setgroups([])
    os.setegid({NOBODY})
    os.seteuid({NOBODY})
print(*both("{target}"))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S
    )

    assert done.stdout == "connect connect\n", done.stderr


@pytest.mark.parametrize("flavour", list(FLAVOURS))
def test_without_file_descriptors_the_agent_proceeds_and_is_watched_once_it_has_some(
    flavour: str, serve: Serve, target: str
) -> None:
    """In a child process: gRPC would abort it when asked for a channel."""
    server = serve(StandIn())
    code = f"""
import os, resource
from tests.fault.clients import FLAVOURS

run = FLAVOURS[{flavour!r}]({target!r})
print(run.wait_until_settled({PATIENCE_S}), flush=True)
input()
run.turn()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken = []
try:
    while True:
        taken.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    print("taken", flush=True)
input()
print(run.wait_until_settled(1.2), run.turn().fail_open_reason, flush=True)
for one in taken:
    os.close(one)
print(run.wait_until_settled({PATIENCE_S}), run.close(), flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as agent:
        assert agent.stdin is not None and agent.stdout is not None
        settled = agent.stdout.readline()
        server.stop()
        agent.stdin.write("\n")
        agent.stdin.flush()
        taken = agent.stdout.readline()
        serve(StandIn())
        printed, _ = agent.communicate("\n", timeout=2 * PATIENCE_S)

    assert (settled, taken) == ("True\n", "taken\n")
    assert printed == "False connect\nTrue True\n"


# A sidecar that misbehaves.


def connected(open_run: Open) -> Run:
    """A client whose stream is open, however slow the machine: what a turn meets is the turn's."""
    run = open_run()
    assert run.wait_until_settled(PATIENCE_S)
    return run


def refusing(code: int) -> Callable[[pb.Turn], None]:
    def answer(turn: pb.Turn) -> None:
        raise Refusal(code)

    return answer


def raising(turn: pb.Turn) -> None:
    raise RuntimeError("a bug in the sidecar")


STATUSES = [
    (1, "stream"),
    (2, "stream"),
    (3, "rejected"),
    (4, "stream"),
    (5, "rejected"),
    (6, "rejected"),
    (7, "rejected"),
    (8, "rejected"),
    (9, "rejected"),
    (10, "stream"),
    (11, "rejected"),
    (12, "rejected"),
    (13, "stream"),
    (14, "stream"),
    (15, "stream"),
    (16, "rejected"),
]


@pytest.mark.parametrize(("code", "reason"), STATUSES)
def test_a_stream_that_a_turn_ends_with_a_status_lets_the_agent_proceed(
    code: int, reason: str, serve: Serve, open_run: Open
) -> None:
    serve(StandIn(refusing(code)))
    run = connected(open_run)

    fails_open(run, reason)


@pytest.mark.parametrize(("code", "reason"), STATUSES)
def test_an_open_that_is_answered_with_a_status_lets_the_agent_proceed(
    code: int, reason: str, serve: Serve, open_run: Open
) -> None:
    def refuse(opening: pb.Open) -> None:
        raise Refusal(code)

    serve(StandIn(on_open=refuse))

    fails_open(open_run(), "connect" if code == 14 else reason)


def test_a_servicer_that_raises_lets_the_agent_proceed(serve: Serve, open_run: Open) -> None:
    serve(StandIn(raising))
    run = connected(open_run)

    fails_open(run, "stream")


def test_a_server_without_the_service_lets_the_agent_proceed(open_run: Open, target: str) -> None:
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_insecure_port(target)
    server.start()
    fails_open(open_run(), "rejected")
    server.stop(None).wait(PATIENCE_S)


def test_a_sidecar_that_never_opens_lets_the_agent_proceed(serve: Serve, open_run: Open) -> None:
    over = threading.Event()

    def hang(opening: pb.Open) -> None:
        over.wait(PATIENCE_S)

    serve(StandIn(on_open=hang))
    fails_open(open_run(), "connect")
    over.set()


def test_a_sidecar_that_never_decides_lets_the_agent_proceed(serve: Serve, open_run: Open) -> None:
    serve(StandIn(nothing))
    run = connected(open_run)

    fails_open(run, "timeout")


def test_a_sidecar_that_is_stopped_in_mid_stream_lets_the_agent_proceed(
    child: Child, open_run: Open
) -> None:
    run = connected(open_run)
    assert run.turn().fail_open_reason is None
    child.stop()

    fails_open(run, "timeout")
    child.go_on()


def test_a_sidecar_that_is_killed_in_mid_stream_lets_the_agent_proceed(
    child: Child, open_run: Open
) -> None:
    run = connected(open_run)
    assert run.turn().fail_open_reason is None
    child.kill()

    fails_open(run, "stream", "connect")


def test_a_directive_of_a_later_version_means_proceed(serve: Serve, open_run: Open) -> None:
    def answer(turn: pb.Turn) -> pb.Decision:
        decision = pb.Decision(sequence=turn.sequence, cause=pb.CAUSE_TURN)
        decision.MergeFromString(b"\xa2\x06\x02hi")  # field 100, which no version has yet
        return decision

    serve(StandIn(answer))
    run = open_run()
    assert run.wait_until_settled(PATIENCE_S)
    directive = run.turn()

    assert (directive.kind, directive.fail_open_reason) == ("proceed", None)
    assert sum(run.give_ups.values()) == 0


def test_a_late_directive_is_handed_over_with_the_next_report_and_the_stream_is_kept(
    serve: Serve, open_run: Open
) -> None:
    may_answer = threading.Event()

    def answer(turn: pb.Turn) -> pb.Decision:
        if turn.sequence == 1:
            assert may_answer.wait(PATIENCE_S)
            return rotate(turn)
        return proceed(turn)

    sidecar = StandIn(answer)
    serve(sidecar)
    run = open_run()
    assert run.wait_until_settled(PATIENCE_S)
    missed = run.turn()
    may_answer.set()
    directive = run.turn()

    assert (missed.kind, missed.fail_open_reason) == ("proceed", "timeout")
    assert (directive.kind, directive.late) == ("rotate", True)
    assert directive.instruction == "turn 1: try another way"
    assert directive.fail_open_reason is None
    assert len(sidecar.streams) == 1
    assert [turn.directive_seen for turn in sidecar.turns] == [0, 0]
    assert run.turn().kind == "proceed"
    assert sidecar.turns[-1].directive_seen == 1
