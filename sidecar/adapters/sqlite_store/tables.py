"""Everything that is written to the file: one connection, one thread."""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sidecar.adapters.sqlite_store.queue import Suspect
from sidecar.adapters.sqlite_store.rows import EntryRow, SnapshotRow
from sidecar.adapters.sqlite_store.schema import transaction

ROWS_AT_ONCE: Final = 256
"""Rows in one INSERT. One statement of many rows, not `executemany`: the sqlite3 module gives up
the interpreter's lock around every execution, and beside a busy event loop it waits up to 5 ms to
get it back. Measured there: 3,300 us a row with executemany, 60 us with this."""

ROW_BYTES: Final = 64
"""What a journal row takes besides line and decision: columns, index entry, its share of a page."""

SIZE: Final = f"length(line) + length(decision) + {ROW_BYTES}"
"""What the journal's bound counts for a row."""

QUARANTINE_MAX: Final = 100
"""Broken snapshots that are kept for a person to look at; the oldest goes first."""

KNOWN_MAX: Final = 20_000
"""Sessions whose keys are remembered at most; some 300 bytes each."""

JOURNAL: Final = "INSERT INTO journal (session, number, time_s, kind, line, decision, content)"
SNAPSHOT: Final = (
    "INSERT OR REPLACE INTO snapshot (session, number, active_s, closed, version, checksum, body)"
)
SESSION: Final = "INSERT INTO session (key, session_id, active_s, bytes)"
SESSION_AGAIN: Final = """ON CONFLICT (key) DO UPDATE SET
    active_s = max(active_s, excluded.active_s), bytes = bytes + excluded.bytes"""


@dataclass(slots=True, kw_only=True)
class Known:
    """What is remembered of a session, to ask the file less."""

    key: int
    last_number: int


@dataclass(slots=True)
class Touched:
    """What a transaction did to a session."""

    active_s: float = 0.0
    bytes_added: int = 0


class Tables:
    """The write connection, and totals of what the file holds.

    After an exception it is of no further use, since its totals may be ahead of the file.
    """

    def __init__(self, connection: sqlite3.Connection, *, known_max: int = KNOWN_MAX) -> None:
        """The connection becomes this object's own. Raises sqlite3.Error.

        `known_max` sessions are remembered; of others the file is asked again.
        """
        self.connection = connection
        self._known_max = known_max
        self._known: dict[str, Known] = {}
        totals = connection.execute(
            "SELECT coalesce(sum(bytes), 0), count(*), coalesce(max(key), 0) FROM session"
        ).fetchone()
        self.journal_bytes: int = totals[0]
        self.sessions: int = totals[1]
        self._last_key: int = totals[2]

    def write(
        self,
        entries: Sequence[EntryRow],
        snapshots: Sequence[SnapshotRow],
        suspects: Collection[Suspect],
        *,
        now_s: float,
    ) -> int:
        """Commit all of it or none; returns how many entries it replaced. Raises sqlite3.Error."""
        if not (entries or snapshots or suspects):
            return 0
        touched: defaultdict[str, Touched] = defaultdict(Touched)
        with transaction(self.connection):
            self._quarantine(suspects, now_s=now_s)
            entered = {row.session_id for row in entries}
            self._learn(entered | {row.session_id for row in snapshots})
            replaced = self._write_entries(entries, touched, now_s=now_s)
            self._write_snapshots(snapshots, touched)
            self._insert(
                SESSION,
                [
                    (self._known[session_id].key, session_id, touch.active_s, touch.bytes_added)
                    for session_id, touch in touched.items()
                ],
                SESSION_AGAIN,
            )
        self.journal_bytes += sum(touch.bytes_added for touch in touched.values())
        return replaced

    def checkpoint(self) -> None:
        """Bring what is committed from the -wal file into the database, through to the disk."""
        self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def checkpoint_whole(self) -> bool:
        """Bring all of it there; False where somebody who reads keeps some of it back."""
        busy, _, _ = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def drop_entries(self, key: int, *, up_to: int, count: int, bytes_wanted: float) -> int:
        """Delete a session's oldest entries, numbered up to `up_to` and at most `count`, until
        `bytes_wanted` are won. Within a transaction. Returns how many there were."""
        dropped, size, last = self.connection.execute(
            f"""SELECT count(*), coalesce(sum(size), 0), max(number) FROM (
                SELECT number, size, sum(size) OVER (ORDER BY number) - size AS before FROM (
                    SELECT number, {SIZE} AS size FROM journal
                    WHERE session = ? AND number <= ? ORDER BY number LIMIT ?))
            WHERE before < ?""",  # noqa: S608
            (key, up_to, count, bytes_wanted),
        ).fetchone()
        if dropped:
            self.connection.execute(
                "DELETE FROM journal WHERE session = ? AND number <= ?", (key, last)
            )
            self.connection.execute(
                "UPDATE session SET bytes = bytes - ? WHERE key = ?", (size, key)
            )
            self.journal_bytes -= size
        return int(dropped)

    def drop_session(self, key: int) -> int:
        """Delete a session that has no entries left, within a transaction.

        Returns how many snapshots it had.
        """
        snapshots = self.connection.execute("DELETE FROM snapshot WHERE session = ?", (key,))
        self.connection.execute("DELETE FROM session WHERE key = ?", (key,))
        self._known.clear()
        self.sessions -= 1
        return snapshots.rowcount

    def _write_entries(
        self, entries: Sequence[EntryRow], touched: defaultdict[str, Touched], *, now_s: float
    ) -> int:
        replaced = 0
        fresh: list[tuple[Any, ...]] = []
        for row in entries:
            known, touch = self._known[row.session_id], touched[row.session_id]
            if row.number <= known.last_number:
                self._insert(JOURNAL, fresh)
                fresh = []
                count, size = self._cut(known.key, row.number, now_s=now_s)
                replaced += count
                touch.bytes_added -= size
            known.last_number = row.number
            touch.active_s = max(touch.active_s, row.time_s)
            touch.bytes_added += len(row.line) + len(row.decision) + ROW_BYTES
            fresh.append((known.key, *row[1:]))
        self._insert(JOURNAL, fresh)
        return replaced

    def _write_snapshots(
        self, snapshots: Sequence[SnapshotRow], touched: defaultdict[str, Touched]
    ) -> None:
        for row in snapshots:
            known, touch = self._known[row.session_id], touched[row.session_id]
            known.last_number = max(known.last_number, row.number)
            touch.active_s = max(touch.active_s, row.active_s)
        self._insert(SNAPSHOT, [(self._known[row.session_id].key, *row[1:]) for row in snapshots])

    def _cut(self, key: int, number: int, *, now_s: float) -> tuple[int, int]:
        """A session that goes on from an earlier entry has a new history from there on.

        Returns how many entries that replaces, and their size.
        """
        count, size = self.connection.execute(
            f"""SELECT count(*), coalesce(sum({SIZE}), 0) FROM journal
            WHERE session = ? AND number >= ?""",  # noqa: S608
            (key, number),
        ).fetchone()
        self.connection.execute(
            "DELETE FROM journal WHERE session = ? AND number >= ?", (key, number)
        )
        self._set_aside("session = ? AND number >= ?", (key, number), now_s=now_s)
        return int(count), int(size)

    def _learn(self, session_ids: set[str]) -> None:
        """Know the keys of these sessions, new ones included."""
        if len(self._known) + len(session_ids) > self._known_max:
            self._known.clear()
        unknown = [session_id for session_id in session_ids if session_id not in self._known]
        for start in range(0, len(unknown), ROWS_AT_ONCE):
            part = unknown[start : start + ROWS_AT_ONCE]
            rows = self.connection.execute(
                f"""SELECT session_id, key, max(
                    coalesce((SELECT max(number) FROM journal WHERE session = key), 0),
                    coalesce((SELECT number FROM snapshot WHERE session = key), 0))
                FROM session WHERE session_id IN ({",".join("?" * len(part))})""",  # noqa: S608
                part,
            )
            for session_id, key, last_number in rows:
                self._known[session_id] = Known(key=key, last_number=last_number)
        for session_id in unknown:
            if session_id not in self._known:
                self._last_key += 1
                self.sessions += 1
                self._known[session_id] = Known(key=self._last_key, last_number=0)

    def _quarantine(self, suspects: Collection[Suspect], *, now_s: float) -> None:
        """Move snapshots that are still the ones that could not be read."""
        for suspect in suspects:
            which = "session = (SELECT key FROM session WHERE session_id = ?) AND checksum IS ?"
            self._set_aside(which, suspect, now_s=now_s)

    def _set_aside(self, which: str, values: tuple[object, ...], *, now_s: float) -> None:
        moved = self.connection.execute(
            f"""INSERT INTO quarantine
                (moved_s, session_id, number, active_s, closed, version, checksum, body)
            SELECT ?, (SELECT session_id FROM session WHERE key = session),
                number, active_s, closed, version, checksum, body
            FROM snapshot WHERE {which}""",  # noqa: S608
            (now_s, *values),
        ).rowcount
        if moved:
            self.connection.execute(f"DELETE FROM snapshot WHERE {which}", values)  # noqa: S608
            self.connection.execute(
                "DELETE FROM quarantine WHERE place <= (SELECT max(place) FROM quarantine) - ?",
                (QUARANTINE_MAX,),
            )

    def _insert(self, into: str, rows: Sequence[Sequence[Any]], otherwise: str = "") -> None:
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = rows[start : start + ROWS_AT_ONCE]
            marks = f"({','.join('?' * len(part[0]))})"
            self.connection.execute(
                f"{into} VALUES {','.join([marks] * len(part))} {otherwise}",
                [value for row in part for value in row],
            )
