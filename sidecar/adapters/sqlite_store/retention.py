"""What is kept how long, and what has to go first when there is too much of it.

The file is not shrunk: pages that become free are used again (auto_vacuum would cost every write
an entry in its pointer map), so it stays at the size that the bounds allow it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sidecar.adapters.sqlite_store.schema import transaction
from sidecar.adapters.sqlite_store.tables import Tables
from sidecar.ports import NUMBER_MAX, Clock

ENTRIES_AT_ONCE: Final = 1_000
"""Entries deleted in one transaction, so that nothing new waits longer than some milliseconds."""

SESSIONS_AT_ONCE: Final = 100
"""Sessions that are deleted, or lose entries, in one transaction."""

EXPIRY_S: Final = 60.0
"""How often expired sessions are looked for: it takes a look at all sessions, since an index over
their activity would have to be written with every entry."""

PRUNE_TO: Final = 0.9
"""Share of the bound that is left once it was passed, so that it is not passed all the time."""

EXPIRED: Final = (
    "SELECT key FROM session WHERE active_s < :kept_from ORDER BY active_s LIMIT :count"
)

LEAST_WANTED: Final = """
    SELECT key FROM session LEFT JOIN snapshot ON snapshot.session = key
    ORDER BY coalesce(closed, 0) OR session.active_s < :resumable_from DESC, session.active_s
    LIMIT :count"""

# Victims of the journal's bound: sessions, and up to which number their entries may go.
OVER: Final = """
    SELECT key, :number_max FROM session LEFT JOIN snapshot ON snapshot.session = key
    WHERE bytes > 0 AND (coalesce(closed, 0) OR session.active_s < :resumable_from)
    ORDER BY session.active_s LIMIT :count"""

FIRST_PLACE: Final = (
    "(SELECT place FROM journal WHERE journal.session = key ORDER BY number LIMIT 1)"
)

RESTED: Final = f"""
    SELECT key, snapshot.number FROM session JOIN snapshot ON snapshot.session = key
    WHERE EXISTS (SELECT 1 FROM journal
        WHERE journal.session = key AND journal.number <= snapshot.number)
    ORDER BY {FIRST_PLACE} LIMIT :count"""  # noqa: S608
"""What an open session's snapshot holds already."""

NEEDED: Final = f"""
    SELECT key, :number_max FROM session WHERE bytes > 0 ORDER BY {FIRST_PLACE} LIMIT :count"""  # noqa: S608
"""What an open session would be resumed from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """What one step deleted."""

    entries: int = 0
    snapshots: int = 0
    more: bool = False
    """Whether another step may find something."""


class Retention:
    """The rules. One step deletes one portion."""

    def __init__(
        self,
        *,
        journal_bytes_max: int,
        sessions_max: int,
        session_ttl_s: float,
        retention_s: float,
    ) -> None:
        """Sessions count, closed ones too, as long as anything is kept of them."""
        self._journal_bytes_max = journal_bytes_max
        self._sessions_max = sessions_max
        self._session_ttl_s = session_ttl_s
        self._retention_s = retention_s
        self._is_pruning = False
        self._expiry_s = -math.inf

    def step(self, tables: Tables, *, clock: Clock) -> Dropped:
        """Delete one portion of what is due; what has merely expired is not reported as lost.

        Raises sqlite3.Error.
        """
        now_s = clock.now_s()
        times = {
            "kept_from": now_s - self._retention_s,
            "resumable_from": now_s - self._session_ttl_s,
        }
        if clock.monotonic_s() >= self._expiry_s:
            expired = _keys(tables, EXPIRED, {**times, "count": SESSIONS_AT_ONCE})
            if expired:
                _remove(tables, expired)
                return Dropped(more=True)
            self._expiry_s = clock.monotonic_s() + EXPIRY_S
        excess = min(tables.sessions - self._sessions_max, SESSIONS_AT_ONCE)
        if excess > 0:
            return _remove(tables, _keys(tables, LEAST_WANTED, {**times, "count": excess}))
        share = PRUNE_TO if self._is_pruning else 1
        self._is_pruning = tables.journal_bytes > share * self._journal_bytes_max
        if not self._is_pruning:
            return Dropped()
        return _prune(tables, times, bytes_left=PRUNE_TO * self._journal_bytes_max)


def _keys(tables: Tables, query: str, values: Mapping[str, float]) -> Sequence[int]:
    return [key for (key,) in tables.connection.execute(query, values)]


def _remove(tables: Tables, keys: Sequence[int]) -> Dropped:
    """Delete sessions with all they have, as far as one portion goes."""
    entries = snapshots = 0
    with transaction(tables.connection):
        for key in keys:
            entries += tables.drop_entries(
                key, up_to=NUMBER_MAX, count=ENTRIES_AT_ONCE - entries, bytes_wanted=math.inf
            )
            if entries >= ENTRIES_AT_ONCE:
                break
            snapshots += tables.drop_session(key)
    return Dropped(entries=entries, snapshots=snapshots, more=True)


def _prune(tables: Tables, times: Mapping[str, float], *, bytes_left: float) -> Dropped:
    """Delete the oldest entries of the sessions that can best do without, one portion at most,
    until so many bytes are left."""
    values = {**times, "number_max": NUMBER_MAX, "count": SESSIONS_AT_ONCE}
    for query in (OVER, RESTED, NEEDED):
        victims = tables.connection.execute(query, values).fetchall()
        if victims:
            break
    entries = 0
    with transaction(tables.connection):
        for key, up_to in victims:
            if entries >= ENTRIES_AT_ONCE or tables.journal_bytes <= bytes_left:
                break
            entries += tables.drop_entries(
                key,
                up_to=up_to,
                count=ENTRIES_AT_ONCE - entries,
                bytes_wanted=tables.journal_bytes - bytes_left,
            )
    return Dropped(entries=entries, more=entries > 0)
