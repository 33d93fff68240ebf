"""What every test of a process has."""

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _hangups_are_heard() -> Iterator[None]:
    """What a test starts inherits which signals are ignored: under `nohup make test` SIGHUP is."""
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
