"""How the operating system shares out the processor among this process's threads, on Linux."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def yielding_threads() -> Iterator[None]:
    """Threads that are started within take the processor from nobody when they wake.

    They do so by SCHED_BATCH, which threads hand on to those that they start; this thread is as
    before afterwards. Each message wakes a thread of gRPC's, which would take the processor from
    the event loop whose work it brings, with the caches warm: 1.6 times a turn at 64 streams on two
    cores. A thread that finds a processor idle runs at once, as any other. Does nothing elsewhere,
    and where a sandbox forbids it. Figures are in docs/performance.md.
    """
    if sys.platform != "linux":
        yield
        return
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
