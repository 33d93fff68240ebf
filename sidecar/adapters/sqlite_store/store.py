"""Journal and snapshots in one SQLite file, written by one thread.

What an acknowledged decision has:

- *After the sidecar is killed* (SIGKILL, out of memory, a crash), everything that is older than
  `commit_interval_s` (50 ms) and the commit it waited for is there: a committed transaction is in
  the kernel's hands. What is younger is gone, and always from the end: of each session a gapless
  beginning is left. The agent, which keeps its last 256 turns, sends the missing ones again when it
  resumes, and gets the same decisions, since a decision is a pure function of turns and policy.
- *After a power cut or a kernel crash*, everything up to the last checkpoint is there:
  synchronous=NORMAL syncs then, not at every commit. One is made every 60 s, or after 4 MiB. The
  file is whole in any case.
- *While the file cannot be written* (no space, no permission, another process has it) decisions go
  on, up to 4,096 entries wait in memory, and what is beyond them is lost and counted. It is tried
  again, at the latest every 5 s, until it works. What another process has is read meanwhile, so
  that sessions go on from it; what it adds later to a session that went on is counted as replaced.
  `close` goes on trying for as long as it may, but not where another sidecar has the file or
  somebody has to act.
- *When the -wal file is deleted* under the store, it is held open until all of it is in the
  database, and nothing is lost.
- *A file that is of no use* (damaged, no SQLite database, written by a later version) is renamed
  to `NAME.corrupt-TIME` (`.foreign-`, `.newer-`) and a fresh one begun.

Every loss is counted through `lost(what, reason, count)`:

| what | reason | |
|---|---|---|
| journal, snapshot | queue_full | more waited than may |
| | closed | appended after `close` |
| | closing | not written when `close` had no more time |
| | unwritable | too much waited for a file that could not be written |
| | encoding | cannot be written as what it is |
| | fault | lost to a fault of the program, which is logged |
| | pruned | dropped for a bound: `journal_bytes_max`, `sessions_max` |
| journal | undecodable | an entry that was read is not one |
| | replaced | its session went on from an earlier entry, so that it is history no more |
| snapshot | too_large | over `snapshot_bytes_max` |
| | corrupt | moved to the table `quarantine` |
| | version, policy_gone | counted by `sidecar.sessions`, to which it was of no use |
| store | corrupt, foreign, newer | a file was set aside |
| | gone | the file was deleted or replaced while it was open |
| | read_early | a session was read before all that was appended to it had been written |
| | unreadable | something could not be read, from a file that is not damaged |

A snapshot of what was replaced is moved to `quarantine` too. What is removed because `retention_s`
is over was kept as long as promised, and is not counted.
"""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from sidecar.adapters.sqlite_store.file import Remedy, remedy
from sidecar.adapters.sqlite_store.queue import Suspect, WriteQueue
from sidecar.adapters.sqlite_store.reading import Reader, UnopenedError
from sidecar.adapters.sqlite_store.retention import Retention
from sidecar.adapters.sqlite_store.rows import (
    EntryCodec,
    EntryRow,
    SnapshotRow,
    entries_from,
    saved_from,
    storable,
)
from sidecar.adapters.sqlite_store.tables import KNOWN_MAX
from sidecar.adapters.sqlite_store.writer import Lost, Writer
from sidecar.ports import NUMBER_MAX, Clock, Entry, Saved, StoreStatus

T = TypeVar("T")

OPEN_WAIT_S: Final = 1.0
"""How long a new store waits to know whether its file can be opened: a sidecar is to be ready
within a second, with its file or without."""

MIB: Final = 1024 * 1024
HOUR_S: Final = 3600.0


class SqliteStore:
    """The ports `Journal` and `SnapshotStore` over one file. Any thread may call anything.

    An entry numbered n replaces what its session had at n and after, the snapshot included: a
    session that goes on from an earlier point has one history, not two. Numbers may have gaps,
    where entries were lost; whoever reads has to look.
    """

    def __init__(
        self,
        path: Path,
        *,
        codec: EntryCodec,
        clock: Clock,
        lost: Lost,
        journal_bytes_max: int = 160 * MIB,
        journal_queue_max: int = 65_536,
        snapshot_bytes_max: int = 64 * 1024,
        sessions_max: int = 10_000,
        session_ttl_s: float = HOUR_S,
        retention_s: float = 7 * 24 * HOUR_S,
        commit_interval_s: float = 0.05,
        read_wait_s: float = 2.0,
    ) -> None:
        """Open the file, or begin to try. Never raises for what is wrong with it.

        `lost(what, reason, count)` is called from any thread. `journal_bytes_max` bounds the
        journal's rows, `sessions_max` the sessions of which anything is kept, closed ones too, as
        well as the snapshots that wait to be written. `session_ttl_s` is how long an idle session
        can be resumed: later, as when it is closed, its entries are the first to go.
        `retention_s` is how long anything is kept after its session's last sign of life.
        `read_wait_s` is how long a reader waits for the writer: by default longer than any commit
        on a disk that works.
        """
        self._codec = codec
        self._lost = lost
        self._read_wait_s = read_wait_s
        self._queue = WriteQueue(
            entries_max=journal_queue_max,
            snapshots_max=sessions_max,
            commit_interval_s=commit_interval_s,
        )
        self._reader = Reader()
        self._writer = Writer(
            path,
            codec=codec,
            clock=clock,
            lost=lost,
            queue=self._queue,
            reader=self._reader,
            retention=Retention(
                journal_bytes_max=journal_bytes_max,
                sessions_max=sessions_max,
                session_ttl_s=session_ttl_s,
                retention_s=retention_s,
            ),
            snapshot_bytes_max=snapshot_bytes_max,
            known_max=min(sessions_max, KNOWN_MAX),
        )
        self._thread = threading.Thread(target=self._writer.run, name="sqlite-store", daemon=True)
        self._thread.start()
        self._writer.tried.wait(OPEN_WAIT_S)

    # --- writing ----------------------------------------------------------------------------

    def append(self, entry: Entry) -> None:
        """Queue an entry. Never blocks, never raises."""
        refusal = self._queue.put_entry(entry)
        if refusal is not None:
            self._lost("journal", refusal, 1)

    def save(self, saved: Saved) -> None:
        """Queue a snapshot, replacing the session's earlier one. Never blocks, never raises.

        What it holds must not be changed afterwards: it becomes JSON on another thread.
        """
        refusal = self._queue.put_snapshot(saved)
        if refusal is not None:
            self._lost("snapshot", refusal, 1)

    # --- reading ----------------------------------------------------------------------------

    def read(
        self, session_id: str, *, after: int = 0, until: int = NUMBER_MAX, last: int = 1_000_000
    ) -> Sequence[Entry]:
        """The session's entries numbered above `after` and up to `until`, of these at most the
        `last` latest, oldest first.

        Waits, at most `read_wait_s`, until everything appended to the session before is written.
        """
        if not storable(session_id):
            return ()
        rows = self._ask(
            lambda: self._reader.entries(session_id, after=after, until=until, last=last),
            list[EntryRow](),
            session_id=session_id,
        )
        entries = entries_from(rows, self._codec)
        if len(entries) < len(rows):
            self._lost("journal", "undecodable", len(rows) - len(entries))
        return entries

    def load(self, session_id: str) -> Saved | None:
        """The session's latest snapshot; waits as `read` does. A broken one is moved to the
        table `quarantine`, counted, and None."""
        if not storable(session_id):
            return None
        row = self._ask(lambda: self._reader.snapshot(session_id), None, session_id=session_id)
        return None if row is None else self._saved(row)

    def recent(self, limit: int) -> Sequence[Saved]:
        """The latest active sessions that are kept, open or closed, latest first; waits as `read`
        does, for all of them. Broken snapshots are treated as `load` treats them, and left out."""
        rows = self._ask(lambda: self._reader.recent(limit), list[SnapshotRow]())
        return [saved for saved in map(self._saved, rows) if saved is not None]

    def _ask(self, question: Callable[[], T], nothing: T, *, session_id: str | None = None) -> T:
        if not self._queue.wait_settled(self._read_wait_s, session_id=session_id):
            self._lost("store", "read_early", 1)
        try:
            return question()
        except (sqlite3.Error, UnopenedError) as fault:
            # A damaged file is counted by the writer, which sets it aside.
            if remedy(fault) is not Remedy.REPLACEMENT:
                self._lost("store", "unreadable", 1)
            self._queue.wake()
            return nothing

    def _saved(self, row: SnapshotRow) -> Saved | None:
        try:
            return saved_from(row)
        except ValueError:
            if self._queue.put_suspect(Suspect(row.session_id, row.checksum)):
                self._lost("snapshot", "corrupt", 1)
            return None

    # --- its life ---------------------------------------------------------------------------

    def status(self) -> StoreStatus:
        """Whether the file is written, and since when not."""
        return self._writer.status

    def pending(self) -> int:
        """Entries and snapshots that are not written yet."""
        return len(self._queue)

    def flush(self, timeout_s: float) -> bool:
        """Write what is pending; False when some of it is not written within the time, or lost.

        Where the file cannot be written it is tried once more at once.
        """
        return self._queue.flush(timeout_s)

    def close(self, timeout_s: float) -> int:
        """Write what is pending and let go of the file; returns how many entries and snapshots
        were lost because that could not be done within the time.

        Whatever is appended from now on is lost and counted.
        """
        self._queue.close()
        self._thread.join(timeout_s)
        given_up = self._queue.give_up()
        if given_up.entries:
            self._lost("journal", "closing", given_up.entries)
        if given_up.snapshots:
            self._lost("snapshot", "closing", given_up.snapshots)
        return sum(given_up)
