"""What the agent's own handler of a signal raises comes out of the client; nothing else does."""

import functools
import inspect
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from sidecar.client import AsyncClient, Client, Reason
from sidecar.client.interruption import is_from_signal

NOBODY = "unix:/nonexistent/agent.sock"
SIGNAL = signal.SIGUSR1


class TimeLimit(Exception):  # noqa: N818 - as it is called elsewhere
    """As celery's SoftTimeLimitExceeded."""


def by_name(signum: int, frame: FrameType | None) -> None:
    raise TimeLimit


def by_any_name(*args: object) -> None:
    raise TimeLimit


def through_others(signum: int, frame: FrameType | None) -> None:
    by_any_name()


def once(signum: int, frame: FrameType | None) -> None:
    """As what limits one call, and gives the signal back."""
    signal.signal(SIGNAL, signal.SIG_DFL)
    raise TimeLimit


def with_more(what: str, signum: int, frame: FrameType | None, *, more: int = 0) -> None:
    raise TimeLimit


@functools.wraps(by_name)
def wrapping(*args: Any, **more: Any) -> None:
    by_name(*args, **more)


class Limit:
    """An object that handles, by a method or by itself."""

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        raise TimeLimit

    def reached(self, signum: int, frame: FrameType | None) -> None:
        raise TimeLimit


HANDLERS = [
    by_name,
    by_any_name,
    through_others,
    once,
    wrapping,
    Limit(),
    Limit().reached,
    functools.partial(with_more, "what", more=1),
]


class Interrupted:
    """A value that is being read when the signal comes."""

    def __str__(self) -> str:
        signal.raise_signal(SIGNAL)
        return "never"


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    before = signal.getsignal(SIGNAL)
    yield
    signal.signal(SIGNAL, before)


@pytest.mark.parametrize("handler", HANDLERS)
def test_whatever_the_handler_is_what_it_raises_comes_out(handler: Callable[..., None]) -> None:
    signal.signal(SIGNAL, handler)
    with Client(NOBODY) as run, pytest.raises(TimeLimit):
        run.turn(text=Interrupted())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "report",
    [
        {"text": Interrupted()},
        {"tool_calls": [{"name": "x", "arguments": {"a": Interrupted()}}]},
        {"tool_calls": [{"name": "x", "result": Interrupted()}]},
        {"failures": [ValueError(Interrupted())]},
        {"actor": Interrupted()},
    ],
)
async def test_wherever_it_comes_while_a_report_is_read(report: Any) -> None:
    signal.signal(SIGNAL, by_name)
    with Client(NOBODY) as run:
        with pytest.raises(TimeLimit):
            run.turn(**report)
        assert run.give_ups["internal"] == 0
        assert run.turn(text="on").fail_open_reason is Reason.CONNECT
    async with AsyncClient(NOBODY) as other:
        with pytest.raises(TimeLimit):
            await other.turn(**report)


def test_it_comes_out_of_a_goodbye_too() -> None:
    signal.signal(SIGNAL, by_name)
    answer: Any = Interrupted()
    run = Client(NOBODY)
    with pytest.raises(TimeLimit):
        run.close(final_answer=answer)
    run.close()


class LooksForItsCaller:
    """A value whose own code has frames at hand when it fails."""

    def __str__(self) -> str:
        return fail_knowing(7, "what")


def fail_knowing(number: int, what: str) -> str:
    caller = inspect.currentframe()
    assert caller is not None
    frame = caller.f_back
    raise ValueError(number, what, frame)


class Unprintable:
    def __str__(self) -> str:
        raise TimeLimit


@pytest.mark.parametrize("value", [LooksForItsCaller(), Unprintable()])
def test_what_a_value_raises_is_counted_and_does_not_come_out(value: Any) -> None:
    signal.signal(SIGNAL, by_name)
    with Client(NOBODY) as run:
        run.turn(text=value)

    assert run.give_ups["internal"] >= 1


def test_an_error_without_a_traceback_is_none_of_a_handler() -> None:
    assert not is_from_signal(TimeLimit())


def test_a_wait_is_left_when_a_handler_raises() -> None:
    """The limit is of the system's own clock: nothing else interrupts what waits."""
    before = signal.signal(signal.SIGALRM, by_name)
    with Client(NOBODY) as run:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            began_s = time.monotonic()
            with pytest.raises(TimeLimit):
                run.wait_until_settled(120.0)
            waited_s = time.monotonic() - began_s
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        left_alone = run.turn(text="on")

    assert waited_s < 60
    assert left_alone.fail_open_reason is Reason.CONNECT
