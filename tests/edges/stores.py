"""Entries, snapshots and stores, for the tests of stores."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sidecar.adapters.sqlite_store import SqliteStore
from sidecar.core.turn import Turn
from sidecar.ports import Entry, Saved
from sidecar.testing import FakeClock, Losses, PlainCodec
from sidecar.testing.clock import START_S

FLUSH_S = 60.0
"""More than any flush takes; a test that waits so long has failed."""


def entry(session_id: str, number: int, *, time_s: float = START_S, text: str = "") -> Entry:
    """An entry with nothing in it but what tells it from others."""
    return Entry(
        session_id=session_id,
        number=number,
        time_s=time_s,
        event=Turn(sequence=number, approach=text),
        content=f"{number % 10**8:08}".encode(),
    )


def saved(
    session_id: str,
    *,
    number: int = 1,
    active_s: float = START_S,
    closed: bool = False,
    **session: Any,
) -> Saved:
    """A snapshot; `session` is what it holds."""
    return Saved(
        session_id=session_id, number=number, active_s=active_s, closed=closed, session=session
    )


class GatedCodec(PlainCodec):
    """A codec that says when it is first used, and can hold the writer there."""

    def __init__(self) -> None:
        """The gate is open."""
        self.used = threading.Event()
        self.gate = threading.Event()
        self.gate.set()

    def encode(self, entry: Entry) -> tuple[str, bytes, bytes]:
        """As the plain codec, once the gate is open."""
        self.used.set()
        assert self.gate.wait(FLUSH_S)
        return super().encode(entry)


def numbers(store: SqliteStore, session_id: str) -> list[int]:
    """Those of the entries that the store has of a session."""
    return [found.number for found in store.read(session_id)]


def rows(path: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """What the file itself holds, seen and changed past the store."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(query, values).fetchall()


@contextmanager
def sqlite_store(
    path: Path, *, clock: FakeClock | None = None, lost: Losses | None = None, **bounds: Any
) -> Iterator[SqliteStore]:
    """A store that is closed in the end. By default nothing may be lost."""
    losses = Losses() if lost is None else lost
    made: dict[str, Any] = {"codec": PlainCodec(), "clock": clock or FakeClock(), **bounds}
    store = SqliteStore(path, lost=losses, **made)
    try:
        yield store
    finally:
        store.close(FLUSH_S)
    if lost is None:
        assert losses.counts == {}
