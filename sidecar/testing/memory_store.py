"""Journal and snapshots in memory, with the crash and the damage that a file can suffer."""

import json
from collections.abc import Callable, Sequence

from sidecar.ports import NUMBER_MAX, Entry, Saved


class MemoryStore:
    """The ports `Journal` and `SnapshotStore`. tests/edges/test_stores.py holds it to what the
    store on disk does."""

    def __init__(
        self,
        *,
        lost: Callable[[str, str, int], None],
        snapshot_bytes_max: int = 64 * 1024,
    ) -> None:
        """`lost(what, reason, count)`; the bound is of a snapshot's compact JSON."""
        self._lost = lost
        self._snapshot_bytes_max = snapshot_bytes_max
        self._writes: list[Entry | Saved] = []
        self._journals: dict[str, dict[int, Entry]] = {}
        self._snapshots: dict[str, tuple[Saved, str]] = {}
        self._broken: set[str] = set()

    def append(self, entry: Entry) -> None:
        """Keep an entry, in place of what its session had at its number and after."""
        self._writes.append(entry)
        journal = self._journals.setdefault(entry.session_id, {})
        replaced = [number for number in journal if number >= entry.number]
        for number in replaced:
            del journal[number]
        if replaced:
            self._lost("journal", "replaced", len(replaced))
        journal[entry.number] = entry
        snapshot = self._snapshots.get(entry.session_id)
        if snapshot is not None and snapshot[0].number >= entry.number:
            del self._snapshots[entry.session_id]

    def read(
        self, session_id: str, *, after: int = 0, until: int = NUMBER_MAX, last: int = 1_000_000
    ) -> Sequence[Entry]:
        """The session's entries numbered above `after` and up to `until`, at most the `last`
        latest."""
        journal = self._journals.get(session_id, {})
        entries = [entry for number, entry in sorted(journal.items()) if after < number <= until]
        return entries[max(0, len(entries) - max(0, last)) :]

    def save(self, saved: Saved) -> None:
        """Keep a snapshot in place of the session's earlier one."""
        try:
            body = json.dumps(saved.session, separators=(",", ":"))
        except (TypeError, ValueError):
            self._lost("snapshot", "encoding", 1)
            return
        if len(body) > self._snapshot_bytes_max:
            self._lost("snapshot", "too_large", 1)
            return
        self._writes.append(saved)
        self._snapshots[saved.session_id] = (saved, body)
        self._broken.discard(saved.session_id)

    def load(self, session_id: str) -> Saved | None:
        """The latest snapshot; a broken one is counted, forgotten, and None."""
        if session_id not in self._snapshots:
            return None
        saved, body = self._snapshots[session_id]
        if session_id in self._broken:
            del self._snapshots[session_id]
            self._broken.discard(session_id)
            self._lost("snapshot", "corrupt", 1)
            return None
        return Saved(
            session_id=session_id,
            number=saved.number,
            active_s=saved.active_s,
            closed=saved.closed,
            session=json.loads(body),
        )

    def recent(self, limit: int) -> Sequence[Saved]:
        """The latest active sessions that are kept, latest first."""
        by_activity = sorted(self._snapshots.values(), key=lambda pair: -pair[0].active_s)
        latest = [saved.session_id for saved, _ in by_activity[: max(0, limit)]]
        return [saved for saved in map(self.load, latest) if saved is not None]

    def break_snapshot(self, session_id: str) -> None:
        """Damage a session's snapshot, as a failing disk would."""
        self._broken.add(session_id)

    def after_crash(self, *, writes_lost: int) -> "MemoryStore":
        """The store that is found after a crash took the newest `writes_lost` writes."""
        left = MemoryStore(lost=self._lost, snapshot_bytes_max=self._snapshot_bytes_max)
        for write in self._writes[: max(0, len(self._writes) - writes_lost)]:
            match write:
                case Entry():
                    left.append(write)
                case Saved():
                    left.save(write)
        return left
