"""How many file descriptors there may be, and what is said where none is left."""

import asyncio
import errno
import logging
import resource
from collections.abc import Iterator

import pytest

from sidecar.adapters.descriptors import SAY_AGAIN_S, SaysWantOnce, allow_descriptors

FOR_THE_TEST = 200
"""More than pytest has open."""


@pytest.fixture
def hard() -> Iterator[int]:
    """The hard limit, below a soft limit of FOR_THE_TEST."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        pytest.skip("there is no hard limit here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (FOR_THE_TEST, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def allowed() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@pytest.mark.parametrize(
    ("needed", "limit"), [(FOR_THE_TEST + 1, FOR_THE_TEST + 1), (FOR_THE_TEST - 1, FOR_THE_TEST)]
)
def test_the_soft_limit_is_raised_to_what_is_needed_and_never_lowered(
    hard: int, needed: int, limit: int
) -> None:
    assert needed < hard
    allow_descriptors(needed)
    assert allowed() == limit


def test_what_the_hard_limit_does_not_allow_is_said(
    hard: int, caplog: pytest.LogCaptureFixture
) -> None:
    allow_descriptors(hard + 1)
    assert allowed() == hard
    (line,) = caplog.messages
    assert f"{hard} file descriptors may be open" in line
    assert f"{hard + 1} are needed" in line


def test_a_want_of_descriptors_is_said_once_a_minute_without_a_traceback(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.new_event_loop()
    now_s = 1000.0
    monkeypatch.setattr(loop, "time", lambda: now_s)
    loop.set_exception_handler(SaysWantOnce())
    want = OSError(errno.EMFILE, "Too many open files")
    for _ in range(100):
        loop.call_exception_handler({"message": "accept", "exception": want})
    now_s += SAY_AGAIN_S
    loop.call_exception_handler({"message": "accept", "exception": want})
    loop.close()
    said = [(record.getMessage(), record.exc_info) for record in caplog.records]
    assert said == [("connections wait that cannot be accepted: Too many open files", None)] * 2


def test_what_else_an_event_loop_tells_of_is_logged_as_ever(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(SaysWantOnce())
    for fault in (ValueError("a bug"), OSError(errno.EPIPE, "Broken pipe")):
        for _ in range(2):
            loop.call_exception_handler({"message": "a task failed", "exception": fault})
    loop.close()
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 4
