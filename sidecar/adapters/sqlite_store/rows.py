"""Entries and snapshots as rows, and back. What is read back is not trusted."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, Protocol

from sidecar.ports import NUMBER_MAX, Entry, Saved

SNAPSHOT_VERSION: Final = 1
"""How a snapshot's body is written: 1 is compact JSON. What the JSON means is not known here."""


class EntryCodec(Protocol):
    """An entry's event and decision as bytes, and back. Called from more than one thread."""

    def encode(self, entry: Entry) -> tuple[str, bytes, bytes]:
        """Kind, line and decision; the decision is empty where there is none.

        Raises ValueError when the entry cannot be written: it is counted as lost.
        """
        ...

    def decode(
        self,
        *,
        session_id: str,
        number: int,
        time_s: float,
        kind: str,
        line: bytes,
        decision: bytes,
        content: bytes,
    ) -> Entry:
        """The entry that was encoded. Raises ValueError when the bytes are not one."""
        ...


class EntryRow(NamedTuple):
    """One journal entry in its columns."""

    session_id: str
    number: int
    time_s: float
    kind: str
    line: bytes
    decision: bytes
    content: bytes


class SnapshotRow(NamedTuple):
    """One snapshot in its columns, which may hold anything when they come from the file."""

    session_id: str
    number: int
    active_s: float
    closed: int
    version: int
    checksum: bytes
    body: bytes


class SnapshotTooLargeError(ValueError):
    """A snapshot whose JSON is longer than what is kept."""


def entry_row(entry: Entry, codec: EntryCodec) -> EntryRow:
    """The entry in its columns. Raises ValueError when it cannot be written."""
    _require_storable(entry.session_id, entry.number)
    kind, line, decision = codec.encode(entry)
    return EntryRow(
        entry.session_id, entry.number, entry.time_s, kind, line, decision, entry.content
    )


def entries_from(rows: Iterable[EntryRow], codec: EntryCodec) -> Sequence[Entry]:
    """The entries in the rows, without those that hold none."""
    entries: list[Entry] = []
    for row in rows:
        with suppress(ValueError):
            _require_numbers(row)
            entries.append(codec.decode(**row._asdict()))
    return entries


def _require_numbers(row: EntryRow) -> None:
    if type(row.number) is not int or type(row.time_s) is not float:
        raise ValueError("a column is of another type")


def snapshot_row(saved: Saved, *, bytes_max: int) -> SnapshotRow:
    """The snapshot in its columns.

    Raises SnapshotTooLargeError, and ValueError when it cannot be written.
    """
    _require_storable(saved.session_id, saved.number)
    try:
        body = json.dumps(saved.session, separators=(",", ":")).encode("ascii")
    except (TypeError, RecursionError) as fault:
        raise ValueError(str(fault)) from None
    if len(body) > bytes_max:
        raise SnapshotTooLargeError(f"{len(body)} bytes, at most {bytes_max}")
    row = SnapshotRow(
        session_id=saved.session_id,
        number=saved.number,
        active_s=float(saved.active_s),
        closed=int(saved.closed),
        version=SNAPSHOT_VERSION,
        checksum=b"",
        body=body,
    )
    return row._replace(checksum=_checksum(row))


def saved_from(row: SnapshotRow) -> Saved:
    """The snapshot in the columns. Raises ValueError when they hold none."""
    if row.version != SNAPSHOT_VERSION:
        raise ValueError("version")
    if type(row.body) is not bytes or row.checksum != _checksum(row):
        raise ValueError("checksum")
    session = json.loads(row.body)
    if type(session) is not dict:
        raise ValueError("body")
    return Saved(
        session_id=row.session_id,
        number=row.number,
        active_s=row.active_s,
        closed=bool(row.closed),
        session=session,
    )


def storable(session_id: str) -> bool:
    """Whether SQLite can hold this text: it cannot hold a surrogate without its partner."""
    try:
        session_id.encode()
    except UnicodeEncodeError:
        return False
    return True


def _require_storable(session_id: str, number: int) -> None:
    if not storable(session_id) or not 0 <= number <= NUMBER_MAX:
        raise ValueError("the session's id is not Unicode text or the number is out of range")


def _checksum(row: SnapshotRow) -> bytes:
    """SHA-256 over everything that is read back."""
    facts = repr((row.session_id, row.number, row.active_s, row.closed, row.version))
    return hashlib.sha256(facts.encode() + b"\n" + row.body).digest()
