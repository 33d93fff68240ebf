"""Everything that is read from the file: one connection, lent to one thread at a time."""

import sqlite3
import threading
from typing import Any, Final

from sidecar.adapters.sqlite_store.rows import EntryRow, SnapshotRow
from sidecar.adapters.sqlite_store.schema import connect
from sidecar.ports import NUMBER_MAX

ENTRIES: Final = """
    SELECT ?, number, time_s, kind, CAST(line AS BLOB), CAST(decision AS BLOB),
        CAST(content AS BLOB) FROM journal
    WHERE session = (SELECT key FROM session WHERE session_id = ?) AND number > ?
        AND number <= ?
    ORDER BY number DESC LIMIT ?"""

SNAPSHOTS: Final = """
    SELECT session_id, number, snapshot.active_s, closed, version, checksum, body
    FROM snapshot JOIN session ON key = snapshot.session"""


class UnopenedError(Exception):
    """There is no file to read."""


class Reader:
    """The read connection; it never waits for the writer.

    The three questions raise sqlite3.Error and UnopenedError.
    """

    def __init__(self) -> None:
        """Nothing is open yet."""
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self.fault: sqlite3.Error | None = None
        """What was last met with in the file that is open."""

    def attach(self, path: str) -> None:
        """Read this file from now on. Raises sqlite3.Error."""
        connection = connect(path)
        connection.execute("PRAGMA query_only = ON")
        # A row that is damaged is one row: it must not fail the question. One bit makes text of
        # what was bytes, or of a text one that is not UTF-8.
        connection.text_factory = _text
        self.detach()
        with self._lock:
            self._connection = connection

    def detach(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self.fault = None

    def entries(
        self, session_id: str, *, after: int, last: int, until: int = NUMBER_MAX
    ) -> list[EntryRow]:
        """The session's `last` latest entries numbered above `after` and up to `until`, oldest
        first."""
        bounds = (_stored(after), _stored(until), _stored(last))
        rows = self._ask(ENTRIES, (session_id, session_id, *bounds))
        return [EntryRow(*row) for row in reversed(rows)]

    def snapshot(self, session_id: str) -> SnapshotRow | None:
        """The session's snapshot as it stands there."""
        rows = self._ask(f"{SNAPSHOTS} WHERE session_id = ?", (session_id,))
        return SnapshotRow(*rows[0]) if rows else None

    def recent(self, limit: int) -> list[SnapshotRow]:
        """The snapshots of the latest active sessions, latest first."""
        rows = self._ask(f"{SNAPSHOTS} ORDER BY snapshot.active_s DESC LIMIT ?", (_stored(limit),))
        return [SnapshotRow(*row) for row in rows]

    def _ask(self, query: str, values: tuple[str | int, ...]) -> list[Any]:
        with self._lock:
            if self._connection is None:
                raise UnopenedError
            try:
                return self._connection.execute(query, values).fetchall()
            except sqlite3.Error as fault:
                self.fault = fault
                raise


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _stored(number: int) -> int:
    """The nearest number that SQLite can hold; a negative limit would be none."""
    return min(max(number, 0), NUMBER_MAX)
