"""Who calls the client: threads, tasks, one loop after another, signal handlers, forks."""

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from time import monotonic
from typing import Any

import pytest

from sidecar.client import AsyncClient, Client, Directive
from sidecar.v1 import run_pb2 as pb
from tests.fault.conftest import Open, Serve
from tests.fault.servers import PATIENCE_S, StandIn, nothing, proceed, rotate

pytestmark = pytest.mark.process


def test_several_threads_may_share_a_client(serve: Serve, target: str) -> None:
    sidecar = StandIn()
    serve(sidecar)
    with Client(target, timeout_s=PATIENCE_S) as run, ThreadPoolExecutor(8) as threads:
        directives = list(threads.map(lambda number: run.turn(id=str(number)), range(200)))

    assert {directive.fail_open_reason for directive in directives} == {None}
    assert [turn.sequence for turn in sidecar.turns] == list(range(1, 201))
    assert {turn.id for turn in sidecar.turns} == {str(number) for number in range(200)}


async def test_several_tasks_may_share_a_client(serve: Serve, target: str) -> None:
    sidecar = StandIn()
    serve(sidecar)
    async with AsyncClient(target, timeout_s=PATIENCE_S) as run:
        directives = await asyncio.gather(*(run.turn(id=str(number)) for number in range(200)))

    assert {directive.fail_open_reason for directive in directives} == {None}
    assert [turn.sequence for turn in sidecar.turns] == list(range(1, 201))


async def test_a_task_is_cancelled_as_usual_and_its_directive_is_not_lost(
    serve: Serve, target: str
) -> None:
    may_answer = threading.Event()

    def answer(turn: pb.Turn) -> pb.Decision:
        if turn.sequence == 1:
            assert may_answer.wait(PATIENCE_S)
            return rotate(turn)
        return proceed(turn)

    sidecar = StandIn(answer)
    serve(sidecar)
    async with AsyncClient(target, timeout_s=PATIENCE_S) as run:
        waiting = asyncio.create_task(run.turn())
        await asyncio.to_thread(sidecar.wait_for, lambda: bool(sidecar.turns))
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        may_answer.set()
        directive = await run.turn()

    assert (directive.kind, directive.late) == ("rotate", True)
    assert len(sidecar.streams) == 1


def test_a_client_goes_on_from_one_event_loop_to_the_next(serve: Serve, target: str) -> None:
    sidecar = StandIn()
    serve(sidecar)
    run = AsyncClient(target, timeout_s=PATIENCE_S)

    async def two_turns() -> list[Directive]:
        return [await run.turn(), await run.turn()]

    async def the_last_turn() -> bool:
        await run.turn()
        return await run.close()

    directives = asyncio.run(two_turns()) + asyncio.run(two_turns())
    heard = asyncio.run(the_last_turn())

    assert heard
    assert {directive.fail_open_reason for directive in directives} == {None}
    assert [turn.sequence for turn in sidecar.turns] == [1, 2, 3, 4, 5]
    assert len(sidecar.streams) == 3


async def test_a_client_that_is_not_closed_leaves_no_task_when_its_loop_ends(
    serve: Serve, target: str
) -> None:
    serve(StandIn())

    def watched() -> None:
        async def one_turn() -> None:
            assert (await AsyncClient(target, timeout_s=PATIENCE_S).turn()).kind == "proceed"

        asyncio.run(one_turn())

    await asyncio.to_thread(watched)


def test_an_agent_that_never_closes_its_client_ends_as_it_would_without(target: str) -> None:
    code = f"""
from sidecar.client import Client
run = Client({target!r})
run.turn()
"""
    for _ in range(3):
        began_s = monotonic()
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert (done.returncode, done.stdout) == (0, "")
        assert "Traceback" not in done.stderr
        assert monotonic() - began_s < PATIENCE_S / 2


@pytest.mark.parametrize("never", ["1", float("nan"), timedelta(seconds=1)])
def test_a_goodbye_that_is_to_wait_for_no_time_is_heard_as_usual(
    never: Any, serve: Serve, open_run: Open
) -> None:
    serve(StandIn())
    run = open_run(timeout_s=PATIENCE_S)
    run.turn()

    assert run.close(timeout_s=never)
    assert run.give_ups["internal"] == 1


def test_a_client_carried_over_a_fork_proceeds_at_once(serve: Serve, target: str) -> None:
    serve(StandIn())
    code = f"""
import os, sys, time
from sidecar.client import Client
run = Client({target!r}, timeout_s=60)
print(run.turn().fail_open_reason, flush=True)
if os.fork() == 0:
    began = time.monotonic()
    print(run.turn().fail_open_reason, run.close(), time.monotonic() - began < 20, flush=True)
    sys.exit()
os.wait()
print(run.turn().fail_open_reason, run.close())
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=2 * PATIENCE_S
    )

    assert done.stdout == "None\ninternal False True\nNone True\n", done.stderr


@pytest.mark.parametrize(
    ("used_before", "children_turns"), [(True, "['internal', 'internal']"), (False, "[None, None]")]
)
def test_a_forked_child_s_own_asynchronous_client_leaves_its_parent_s_alone(
    used_before: bool, children_turns: str, serve: Serve, target: str
) -> None:
    """It proceeds, unless it is the first to use grpc.aio."""
    serve(StandIn())
    code = f"""
import asyncio, multiprocessing
from sidecar.client import AsyncClient

async def two_turns():
    async with AsyncClient({target!r}, timeout_s=20) as run:
        return [(await run.turn()).fail_open_reason for _ in range(2)]

def child():
    print([reason and str(reason) for reason in asyncio.run(two_turns())], flush=True)

def fork():
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()

async def parent():
    async with AsyncClient({target!r}, timeout_s=20) as run:
        await run.turn()
        await asyncio.to_thread(fork)
        print([(await run.turn()).fail_open_reason for _ in range(2)], await run.close())

asyncio.run(parent()) if {used_before} else fork()
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
    )

    parent_s = "[None, None] True\n" if used_before else ""
    assert done.stdout == f"{children_turns}\n{parent_s}", done.stderr
    assert done.stderr.count("use Client here") == used_before


def test_a_client_may_be_closed_by_the_handler_of_a_signal(serve: Serve, target: str) -> None:
    """While the thread that it interrupts is waiting in the client."""
    sidecar = StandIn(nothing)
    serve(sidecar)
    code = f"""
import os, signal, sys
from sidecar.client import Client

def end(number, frame):
    print(run.close(outcome="cancelled"), flush=True)
    sys.exit(3)

signal.signal(signal.SIGTERM, end)
run = Client({target!r}, timeout_s=30)
run.turn()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as agent:
        sidecar.wait_for(lambda: bool(sidecar.turns))
        agent.terminate()
        printed, _ = agent.communicate(timeout=PATIENCE_S)

    assert (agent.returncode, printed) == (3, "True\n")
    assert next(iter(sidecar.sessions.values())).closed


def test_what_the_handler_of_a_signal_raises_ends_the_wait_for_a_decision(
    serve: Serve, target: str
) -> None:
    sidecar = StandIn(lambda turn: nothing(turn) if turn.sequence == 1 else proceed(turn))
    serve(sidecar)
    code = f"""
import signal
from sidecar.client import Client

class TimeLimit(Exception):
    pass

def limit(number, frame):
    raise TimeLimit("time is up")

signal.signal(signal.SIGTERM, limit)
run = Client({target!r}, timeout_s=30)
try:
    run.turn()
except TimeLimit as reached:
    print(reached, flush=True)
print(run.turn().fail_open_reason, run.close(), sum(run.give_ups.values()))
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as agent:
        sidecar.wait_for(lambda: bool(sidecar.turns))
        agent.terminate()
        printed, _ = agent.communicate(timeout=PATIENCE_S)

    assert (agent.returncode, printed) == (0, "time is up\nNone True 0\n")
