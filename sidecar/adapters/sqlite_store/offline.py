"""Reading a store's file from another process, whether or not a sidecar writes it."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from sidecar.adapters.sqlite_store.reading import Reader
from sidecar.adapters.sqlite_store.rows import EntryCodec, entries_from
from sidecar.ports import Entry

ENTRIES_MAX: Final = 1_000_000
"""More than the journal's bound leaves of one session."""


def read_journal(path: Path, session_id: str, *, codec: EntryCodec) -> Sequence[Entry]:
    """A session's entries, oldest first; nothing where there is no such file or session.

    Raises OSError naming a file that is not a store's, or is damaged.
    """
    if not path.is_file():
        return ()
    reader = Reader()
    try:
        reader.attach(str(path))
        return entries_from(reader.entries(session_id, after=0, last=ENTRIES_MAX), codec)
    except sqlite3.Error as fault:
        raise OSError(f"{path} cannot be read: {fault}") from fault
    finally:
        reader.detach()
