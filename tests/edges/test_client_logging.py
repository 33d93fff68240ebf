"""What the agent's own log does with the client's lines is no fault of the run, nor its delay."""

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sidecar.client import AsyncClient, Client, Reason
from sidecar.client.give_ups import GiveUps

NOBODY = "unix:/nonexistent/agent.sock"
PATIENCE_S = 60.0


LogThat = Callable[[Callable[[], None]], "Log"]


class Log(logging.Handler):
    """A log that does something of its own with each line."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self._act = act
        self.reached = threading.Event()

    def emit(self, record: logging.LogRecord) -> None:
        self.reached.set()
        self._act()


@pytest.fixture
def log_that() -> Iterator[LogThat]:
    logger, level = logging.getLogger("sidecar.client"), logging.getLogger("sidecar.client").level
    logs: list[Log] = []

    def make(act: Callable[[], None]) -> Log:
        logs.append(Log(act))
        logger.addHandler(logs[-1])
        logger.setLevel(logging.DEBUG)
        return logs[-1]

    yield make
    logger.setLevel(level)
    for log in logs:
        logger.removeHandler(log)


def fail() -> None:
    raise OSError("the log's server is away")


def test_a_log_that_takes_long_delays_no_call(log_that: LogThat) -> None:
    over = threading.Event()

    def act() -> None:
        over.wait(PATIENCE_S)

    log = log_that(act)
    run = Client(NOBODY)
    assert log.reached.wait(PATIENCE_S)
    reason = run.turn(text="a").fail_open_reason
    settled = run.wait_until_settled(0.01)
    name = run.session_id
    delayed = over.is_set()
    over.set()
    run.close()

    assert (reason, settled, delayed) == (Reason.CONNECT, False, False)
    assert name


def test_making_a_client_of_nonsense_waits_for_no_log(log_that: LogThat) -> None:
    makers: list[str] = []
    log = log_that(lambda: makers.append(threading.current_thread().name))
    with Client("no address", colour="red"):  # type: ignore[call-arg]
        assert log.reached.wait(PATIENCE_S)

    assert makers == ["sidecar-client"] * 2


def test_a_log_may_ask_for_the_session_s_name_in_another_thread(log_that: LogThat) -> None:
    names: list[str] = []
    told_in_time: list[bool] = []
    made = threading.Event()

    def ask() -> None:
        made.wait(PATIENCE_S)
        asking = threading.Thread(target=lambda: names.append(run.session_id), daemon=True)
        asking.start()
        asking.join(PATIENCE_S)
        told_in_time.append(not asking.is_alive())

    log_that(ask)
    run = Client(NOBODY, session_id="r")
    made.set()
    run.close()

    assert (names, told_in_time) == (["r"], [True])


def test_the_session_s_name_is_told_whoever_holds_the_client() -> None:
    run = Client(NOBODY, session_id="r")
    assert run._link is not None
    names: list[str] = []
    with run._link._lock:
        asking = threading.Thread(target=lambda: names.append(run.session_id), daemon=True)
        asking.start()
        asking.join(PATIENCE_S)
        told = list(names)
    run.close()

    assert told == ["r"]


@pytest.mark.parametrize("address", [NOBODY, "no address"])
def test_a_log_that_fails_is_noticed_nowhere(address: str, log_that: LogThat) -> None:
    log = log_that(fail)
    run = Client(address, colour="red")  # type: ignore[call-arg]
    assert log.reached.wait(PATIENCE_S)
    run.turn(text=1)  # type: ignore[arg-type]
    assert run.wait_until_settled(0.01) is False
    run.close()

    # The option and the text; a reader that had died of it would be a third.
    assert run.give_ups["internal"] == 2


async def test_a_log_that_fails_is_noticed_in_no_task(log_that: LogThat) -> None:
    log = log_that(fail)
    async with AsyncClient(NOBODY, colour="red") as run:  # type: ignore[call-arg]
        directive = await run.turn(text=1)  # type: ignore[arg-type]
        await asyncio.to_thread(log.reached.wait, PATIENCE_S)
        await run.wait_until_settled(0.01)

    assert directive.fail_open_reason is Reason.CONNECT
    assert run.give_ups["internal"] == 2


def test_a_log_that_fails_stops_no_constructor(
    log_that: LogThat, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("threads", "tasks"):
        monkeypatch.setitem(sys.modules, f"sidecar.client.{name}", None)  # as without grpc
    log_that(fail)

    assert Client(NOBODY).turn().fail_open_reason is Reason.INTERNAL
    assert AsyncClient(NOBODY).session_id == ""


def test_what_failed_inside_fails_nowhere_else_when_the_log_fails_too(log_that: LogThat) -> None:
    never: Any = "soon"
    log = log_that(fail)
    with Client(NOBODY) as run:
        assert log.reached.wait(PATIENCE_S)
        assert run.wait_until_settled(never) is False


def test_give_ups_may_be_asked_by_what_interrupts_their_counting() -> None:
    give_ups = GiveUps()
    asked: list[dict[str, int]] = []

    def count_and_ask() -> None:
        with give_ups._lock:
            asked.append(give_ups.by_reason())

    counting = threading.Thread(target=count_and_ask, daemon=True)
    counting.start()
    counting.join(PATIENCE_S)

    assert asked


def test_in_the_child_of_a_fork_no_lock_of_another_thread_is_waited_for() -> None:
    code = f"""
import os, threading
from sidecar.client import Client
run = Client({NOBODY!r}, session_id="r")
held, over = threading.Event(), threading.Event()

def hold():
    with run._link._lock, run._give_ups._lock:
        held.set()
        over.wait(60)

threading.Thread(target=hold).start()
held.wait(60)
if (child := os.fork()) == 0:
    print(run.session_id, run.turn().fail_open_reason, run.close(), flush=True)
    print(run.give_ups["internal"], repr(run)[:6], flush=True)
    os._exit(0)
over.set()
os.waitpid(child, 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S
    )

    assert done.stdout == "r internal False\n1 Client\n", done.stderr
