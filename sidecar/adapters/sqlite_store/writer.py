"""The thread that has the file: it opens, writes, keeps house, and deals with what goes wrong."""

import logging
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from os import stat_result
from os.path import samestat
from pathlib import Path
from typing import Final, Literal, TypeAlias

from sidecar.adapters.sqlite_store.file import (
    FileLock,
    GoneError,
    InUseError,
    LogGoneError,
    Remedy,
    prepare,
    remedy,
    set_aside,
    why_unusable,
)
from sidecar.adapters.sqlite_store.queue import Batch, GivenUp, Suspect, WriteQueue
from sidecar.adapters.sqlite_store.reading import Reader
from sidecar.adapters.sqlite_store.retention import Retention
from sidecar.adapters.sqlite_store.rows import (
    EntryCodec,
    EntryRow,
    SnapshotRow,
    SnapshotTooLargeError,
    entry_row,
    snapshot_row,
)
from sidecar.adapters.sqlite_store.schema import SchemaError, connect, migrate
from sidecar.adapters.sqlite_store.tables import Tables
from sidecar.ports import Clock, Entry, Saved, StoreStatus

Lost: TypeAlias = Callable[[str, str, int], None]
"""Called with what was lost, why, and how many; from any thread."""

ENTRIES_AT_ONCE: Final = 4_096
"""Entries in one transaction, so that a full queue is committed in parts."""

CHECKPOINT_S: Final = 60.0
"""How much a power cut can take; each checkpoint costs two syncs of the disk."""

RETRY_FIRST_S: Final = 0.1
RETRY_MAX_S: Final = 5.0
"""A fault is tried again after the first, then twice as long each time, up to the second."""

PROGRAM_FAULTS: Final = (
    sqlite3.IntegrityError,
    sqlite3.ProgrammingError,
    sqlite3.InterfaceError,
    sqlite3.DataError,
)
"""What SQLite says to values that it was never meant to get: trying again does not help."""

FILE_FAULTS: Final = (sqlite3.Error, OSError, SchemaError, InUseError, GoneError)

log = logging.getLogger(__name__)


class Writer:
    """What the thread does, pass by pass."""

    def __init__(
        self,
        path: Path,
        *,
        codec: EntryCodec,
        clock: Clock,
        lost: Lost,
        queue: WriteQueue,
        reader: Reader,
        retention: Retention,
        snapshot_bytes_max: int,
        known_max: int,
    ) -> None:
        """Nothing is opened before `run`."""
        self._known_max = known_max
        self._path = path
        # SQLite has it beside what a link leads to.
        self._log_path = Path(f"{path.resolve()}-wal")
        self._log_again_s = 0.0
        self._codec = codec
        self._clock = clock
        self._lost = lost
        self._queue = queue
        self._reader = reader
        self._retention = retention
        self._snapshot_bytes_max = snapshot_bytes_max
        self._lock = FileLock(path)
        self._tables: Tables | None = None
        self._opened: stat_result | None = None
        self._opened_log: stat_result | None = None
        """None: there is none, where the file system has no WAL mode."""
        self._failures = 0
        self._more = False
        self._checkpoint_s = clock.monotonic_s() + CHECKPOINT_S
        self.status = StoreStatus(state="recoverable", since_s=clock.now_s(), detail="not open yet")
        self.tried = threading.Event()
        """Set once the file is open, or could not be opened."""

    def run(self) -> None:
        """Work until the queue is closed and done."""
        while self._queue.begin():
            try:
                self._pass()
            except PROGRAM_FAULTS as fault:
                self._give_up_batch(fault)
            except FILE_FAULTS as fault:
                self._meet(fault)
            except Exception as fault:  # noqa: BLE001  # the task's wrapper: it must go on
                self._give_up_batch(fault)
        self._close()
        self._reader.detach()
        self._lock.release()
        self.status = replace(
            self.status, state="permanent", since_s=self._clock.now_s(), detail="closed"
        )

    def _pass(self) -> None:
        if self._tables is None:
            self._tables = self._open()
            return
        is_idle = self.status.state == "ok" and not self._more
        batch = self._queue.take(CHECKPOINT_S if is_idle else 0)
        self._require_sound_file(self._tables)
        refused = self._write(self._tables, batch)
        self._failures = 0
        self._set_status("ok")
        self._queue.settle(refused=refused)
        self._keep_house(self._tables)

    def _write(self, tables: Tables, batch: Batch) -> int:
        """Commit the batch; returns how many of its snapshots could not be written."""
        batch.drop_outdated()
        while len(batch.entries) > ENTRIES_AT_ONCE:
            self._write_entries(tables, batch)
        snapshots, refusals = self._snapshot_rows(
            placed.saved for placed in batch.snapshots.values()
        )
        self._write_entries(tables, batch, snapshots, batch.suspects)
        for reason, count in refusals.items():
            self._lost("snapshot", reason, count)
        return refusals.total()

    def _write_entries(
        self,
        tables: Tables,
        batch: Batch,
        snapshots: Sequence[SnapshotRow] = (),
        suspects: Collection[Suspect] = (),
    ) -> None:
        """Commit the first entries of the batch, and what else is given."""
        entries = list(islice(batch.entries, ENTRIES_AT_ONCE))
        rows = self._entry_rows(entries)
        replaced = tables.write(rows, snapshots, suspects, now_s=self._clock.now_s())
        refused = len(entries) - len(rows)
        self._queue.written(batch, entries=len(entries), refused=refused)
        if refused:
            self._lost("journal", "encoding", refused)
        if replaced:
            self._lost("journal", "replaced", replaced)
            log.warning("replaced %d journal entries: a session went on from before them", replaced)

    def _entry_rows(self, entries: Iterable[Entry]) -> Sequence[EntryRow]:
        rows = []
        for entry in entries:
            with suppress(ValueError):
                rows.append(entry_row(entry, self._codec))
        return rows

    def _snapshot_rows(
        self, snapshots: Iterable[Saved]
    ) -> tuple[Sequence[SnapshotRow], Counter[str]]:
        rows, refusals = [], Counter[str]()
        for saved in snapshots:
            try:
                rows.append(snapshot_row(saved, bytes_max=self._snapshot_bytes_max))
            except SnapshotTooLargeError:
                refusals["too_large"] += 1
            except ValueError:
                refusals["encoding"] += 1
        return rows, refusals

    def _keep_house(self, tables: Tables) -> None:
        dropped = self._retention.step(tables, clock=self._clock)
        self._more = dropped.more
        self._count(GivenUp(dropped.entries, dropped.snapshots), "pruned")
        if self._clock.monotonic_s() >= self._checkpoint_s:
            tables.checkpoint()
            self._checkpoint_s = self._clock.monotonic_s() + CHECKPOINT_S

    # --- the file ---------------------------------------------------------------------------

    def _open(self) -> Tables:
        try:
            self._lock.hold()
        except InUseError:
            # A sidecar that takes over from another goes on from what that one has kept.
            if self._path.exists():
                with suppress(sqlite3.Error):
                    self._reader.attach(str(self._path))
            raise
        prepare(self._path)
        connection = connect(str(self._path))
        try:
            migrate(connection)
            tables = Tables(connection, known_max=self._known_max)
            self._reader.attach(str(self._path))
            before, self._opened = self._opened, self._path.stat()
            with suppress(OSError):
                self._opened_log = self._log_path.stat()
        except BaseException:
            connection.close()
            raise
        if before is not None and not samestat(before, self._opened):
            self.status = replace(self.status, replaced=self.status.replaced + 1)
        return tables

    def _close(self) -> None:
        if self._tables is not None:
            self._tables.connection.close()
            self._tables = self._opened_log = None

    def _require_sound_file(self, tables: Tables) -> None:
        """Raise what a reader has found out about the file, or GoneError."""
        fault = self._reader.fault
        if fault is not None and remedy(fault) is Remedy.REPLACEMENT:
            raise fault
        if self._opened is None or not _is_at(self._opened, self._path):
            self._lost("store", "gone", 1)
            raise GoneError("the file was deleted or replaced")
        self._lock.hold()  # whose file may be gone too: another sidecar could take it anew
        if self._is_log_gone():
            self._leave_log(tables)

    def _is_log_gone(self) -> bool:
        return self._opened_log is not None and not _is_at(self._opened_log, self._log_path)

    def _leave_log(self, tables: Tables) -> None:
        """What a deleted -wal file holds is there for as long as it is open, and no longer. Raises
        LogGoneError once all of it is in the database; until then it is written on."""
        now_s = self._clock.monotonic_s()
        if now_s < self._log_again_s:
            return
        self._log_again_s = now_s + RETRY_MAX_S
        try:
            is_whole = tables.checkpoint_whole()
        except sqlite3.Error:  # the disk is full, say: the log is where it still fits
            is_whole = False
        if is_whole:
            # Two connections must not have different logs.
            self._reader.detach()
            raise LogGoneError("its -wal file was deleted or replaced; nothing is lost")

    # --- what goes wrong --------------------------------------------------------------------

    def _meet(self, fault: Exception) -> None:
        """Keep what was to be written, and do what can be done about the fault."""
        self._note(fault)
        cure = remedy(fault)
        if cure is not Remedy.TIME or isinstance(fault, GoneError) or not self._is_log_gone():
            self._close()  # else what the deleted log holds would be gone with it
        if cure is Remedy.REPLACEMENT:
            try:
                self._replace(fault)
            except OSError as obstacle:
                fault, cure = obstacle, remedy(obstacle)
        is_mended = cure is Remedy.REPLACEMENT or isinstance(fault, LogGoneError)
        is_over = is_mended and self._failures == 1
        if not is_over:
            self._set_status("permanent" if cure is Remedy.PERSON else "recoverable", str(fault))
        self._count(self._queue.fail(), "unwritable")
        # Another sidecar has the file for as long as it lives.
        hopeless = cure is Remedy.PERSON or isinstance(fault, InUseError)
        self._queue.rest(0 if is_over else self._retry_s(), hopeless=hopeless)

    def _note(self, fault: Exception) -> None:
        self._failures += 1
        self.status = replace(
            self.status, faults=self.status.faults + 1, last_fault=f"{fault}" or repr(fault)
        )

    def _replace(self, fault: Exception) -> None:
        self._reader.detach()
        aside = set_aside(self._path, fault, now_s=self._clock.now_s())
        self._lost("store", why_unusable(fault), 1)
        log.error("%s cannot be used (%s): moved to %s, starting afresh", self._path, fault, aside)

    def _give_up_batch(self, fault: Exception) -> None:
        """A fault of the program: what it met with is not tried again."""
        is_closed = self._tables is None
        self._close()
        self._note(fault)
        detail = f"{type(fault).__name__}: {fault}"
        if detail != self.status.detail:
            log.error("a fault in the store's thread", exc_info=fault)
        self._set_status("recoverable", detail)
        self._count(self._queue.give_up_batch(), "fault")
        self._queue.rest(self._retry_s(), hopeless=is_closed)

    def _retry_s(self) -> float:
        doublings = min(self._failures - 1, 10)
        return min(RETRY_FIRST_S * 2.0**doublings, RETRY_MAX_S)

    def _set_status(
        self, state: Literal["ok", "recoverable", "permanent"], detail: str = ""
    ) -> None:
        before = self.status
        if (before.state, before.detail) != (state, detail):
            stays = "ok" not in (state, before.state)
            since_s = before.since_s if stays else self._clock.now_s()
            self.status = replace(before, state=state, since_s=since_s, detail=detail)
            if state == "ok" and self.tried.is_set():
                log.warning("%s is written again", self._path)
            elif state != "ok":
                log.warning("%s cannot be written, trying again: %s", self._path, detail)
        self.tried.set()

    def _count(self, given_up: GivenUp, reason: str) -> None:
        for what, count in zip(("journal", "snapshot"), given_up, strict=True):
            if count:
                self._lost(what, reason, count)


def _is_at(opened: stat_result, path: Path) -> bool:
    """Whether the file that was opened is the one at the path."""
    try:
        return samestat(opened, path.stat())
    except OSError:
        return False
