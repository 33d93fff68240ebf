"""Reading a store's file from another process, whether or not a sidecar writes it."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from sidecar.adapters.sqlite_store.reading import Reader
from sidecar.adapters.sqlite_store.rows import EntryCodec, SnapshotRow, entries_from, saved_from
from sidecar.ports import Entry

ENTRIES_MAX: Final = 1_000_000
"""More than the journal's bound leaves of one session."""


class Kept(NamedTuple):
    """What there is of a session's journal."""

    entries: Sequence[Entry]
    """Oldest first."""
    last: int
    """Number of the last entry that the session had when a snapshot of it was taken; 0: none is
    there."""


def read_journal(path: Path, session_id: str, *, codec: EntryCodec) -> Kept:
    """A session's journal; nothing where there is no such file or session.

    Raises OSError naming a file that is not a store's, or is damaged.
    """
    if not path.is_file():
        return Kept((), 0)
    reader = Reader()
    try:
        reader.attach(str(path))
        # The snapshot first: what a sidecar writes meanwhile is then no loss.
        last = _number(reader.snapshot(session_id))
        return Kept(
            entries_from(reader.entries(session_id, after=0, last=ENTRIES_MAX), codec), last
        )
    except sqlite3.Error as fault:
        raise OSError(f"{path} cannot be read: {fault}") from fault
    finally:
        reader.detach()


def _number(snapshot: SnapshotRow | None) -> int:
    try:
        return 0 if snapshot is None else saved_from(snapshot).number
    except ValueError:
        return 0
