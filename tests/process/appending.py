"""A process that appends to a store and says so, until it is killed.

usage: python -m tests.process.appending FILE [--bytes-max N]

Prints `number` after each append, and `flushed number` after each flush that succeeded. With
--bytes-max no file may grow beyond so many bytes, until a line on standard input lifts that.
"""

import argparse
import resource
import sys
import time
from pathlib import Path

from sidecar.adapters.sqlite_store import SqliteStore
from sidecar.testing import Losses, PlainCodec
from tests.edges.stores import entry, saved

SESSIONS = ("a", "b", "c")
FLUSH_EVERY = 97
SAVE_EVERY = 10
FLUSH_S = 10.0


class RealClock:
    """The machine's time."""

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()


def append_for_ever(store: SqliteStore) -> None:
    """One entry a session and number, in turn; a snapshot every SAVE_EVERY entries."""
    number = 0
    while True:
        number += 1
        for session_id in SESSIONS:
            store.append(entry(session_id, number, time_s=time.time()))
            if number % SAVE_EVERY == 0:
                store.save(saved(session_id, number=number, active_s=time.time()))
        say(f"{number}")
        if number % FLUSH_EVERY == 0 and store.flush(FLUSH_S):
            say(f"flushed {number}")


def append_to_a_full_disk(store: SqliteStore, losses: Losses) -> None:
    """Append until it fails; once there is room again, until it works."""
    number = 0
    while store.status().state == "ok":
        number += 1
        store.append(entry("a", number, time_s=time.time(), text="x" * 1_000))
        store.flush(FLUSH_S)
    say(f"{store.status().state} {number} {store.pending()} {store.status().detail}")
    sys.stdin.readline()
    soft_limit(resource.RLIM_INFINITY)
    flushed = store.flush(FLUSH_S)
    say(f"{store.status().state} {flushed} {len(store.read('a'))} {losses.counts}")
    store.close(FLUSH_S)


def soft_limit(bytes_max: int) -> None:
    """Let no file grow beyond this; Python has SIGXFSZ ignored, so that writing fails instead."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, hard))


def say(line: str) -> None:
    """One line, now."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Read the arguments and begin."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--bytes-max", type=int)
    given = parser.parse_args()
    losses = Losses()
    store = SqliteStore(given.file, codec=PlainCodec(), clock=RealClock(), lost=losses)
    if given.bytes_max is None:
        append_for_ever(store)
    else:
        soft_limit(given.bytes_max)
        append_to_a_full_disk(store, losses)


if __name__ == "__main__":
    main()
