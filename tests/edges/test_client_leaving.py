"""What a client leaves behind when it is closed, dropped or interrupted: no thread and no task."""

import asyncio
import gc
import threading
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from time import monotonic
from typing import Any

import pytest

from sidecar.client import AsyncClient, Client, Reason
from sidecar.client.give_ups import GiveUps
from sidecar.client.threads import ThreadLink

NOBODY = "unix:/nonexistent/agent.sock"


@pytest.fixture
def no_threads_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(60.0)
        assert not thread.is_alive(), thread


NO_TIMES = ["1", b"1", True, float("nan"), 10**400, timedelta(seconds=1), []]


@pytest.mark.parametrize("never", NO_TIMES)
@pytest.mark.usefixtures("no_threads_left")
def test_what_is_no_time_is_not_waited_for_and_counted_and_the_client_is_closed(never: Any) -> None:
    run = Client(NOBODY)
    settled = run.wait_until_settled(never)
    closed = run.close(timeout_s=never)

    assert (settled, closed, run.give_ups["internal"]) == (False, False, 2)
    assert run.turn().fail_open_reason is not None


@pytest.mark.parametrize("never", NO_TIMES)
async def test_what_is_no_time_is_not_awaited_and_counted_and_no_task_is_left(never: Any) -> None:
    run = AsyncClient(NOBODY)
    settled = await run.wait_until_settled(never)
    closed = await run.close(timeout_s=never)

    assert (settled, closed, run.give_ups["internal"]) == (False, False, 2)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("seconds", [0, -1, 0.01, Decimal("0.01"), None, float("inf")])
def test_a_goodbye_may_wait_for_any_number_of_seconds(seconds: Any) -> None:
    run = Client("no address")

    assert run.close(timeout_s=seconds) is False
    assert run.give_ups["internal"] == 0


@pytest.mark.usefixtures("no_threads_left")
def test_a_client_that_is_dropped_ends_its_thread() -> None:
    run = Client(NOBODY)
    run.turn()
    assert [thread for thread in threading.enumerate() if thread.name == "sidecar-client"]
    del run


@pytest.mark.usefixtures("no_threads_left")
def test_a_client_whose_making_is_interrupted_leaves_no_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        begin(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        Client(NOBODY)
    gc.collect()


async def test_an_asynchronous_client_that_is_dropped_ends_its_task() -> None:
    run = AsyncClient(NOBODY)
    await run.turn()
    (task,) = asyncio.all_tasks() - {asyncio.current_task()}
    del run
    gc.collect()
    await asyncio.wait({task}, timeout=60.0)

    assert task.cancelled()


def test_an_asynchronous_client_may_be_dropped_when_its_loop_is_closed() -> None:
    run = AsyncClient(NOBODY)
    asyncio.run(_one_turn(run))
    del run
    gc.collect()


async def _one_turn(run: AsyncClient) -> None:
    await run.turn()


@pytest.mark.usefixtures("no_threads_left")
def test_a_client_dropped_while_another_thread_is_in_it_is_not_waited_for() -> None:
    link = ThreadLink(NOBODY, {}, GiveUps())
    link.start()
    dropping = threading.Thread(target=link.drop)
    with link._lock:
        dropping.start()
        dropping.join(60.0)
        assert not dropping.is_alive()


def test_a_turn_does_not_wait_for_a_thread_that_keeps_the_client_to_itself() -> None:
    run = Client(NOBODY)
    assert run._link is not None
    kept, over = threading.Event(), threading.Event()

    def keep(lock: Any) -> None:
        with lock:
            kept.set()
            over.wait(60.0)

    thread = threading.Thread(target=keep, args=[run._link._lock])
    thread.start()
    kept.wait(60.0)
    began_s = monotonic()
    directive = run.turn()
    waited_s = monotonic() - began_s
    over.set()
    thread.join()
    run.close()

    assert directive.fail_open_reason is Reason.INTERNAL
    assert waited_s < 30.0
