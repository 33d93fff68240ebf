"""What waits to be written, between the threads that append and the one that writes.

Everything here is held under one lock for a few instructions at a time, so that appending costs
about a microsecond and never waits for the disk.
"""

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

from sidecar.ports import Entry, Saved

COMMIT_ITEMS: Final = 512
"""So many entries are committed without waiting for the interval to pass: some 10 ms of work."""

DEGRADED_MAX: Final = 4_096
"""Entries, and snapshots, that wait for a file that cannot be written. Memory is often short where
disks are full, and an entry takes some 1 KB of it, more with many tool calls."""

CLOSING_RETRY_S: Final = 0.1
"""Where writing fails while it closes, it is tried again so soon: there are seconds at most."""

Refusal: TypeAlias = Literal["queue_full", "closed"]


class Suspect(NamedTuple):
    """A snapshot in the file that could not be read."""

    session_id: str
    checksum: object


class GivenUp(NamedTuple):
    """What was accepted and will not be written."""

    entries: int = 0
    snapshots: int = 0


class Placed(NamedTuple):
    """A snapshot with its place among the entries."""

    saved: Saved
    place: int
    """How many entries had been accepted before it."""


@dataclass(slots=True, kw_only=True)
class Batch:
    """What is written in one pass: entries in the order they came, then snapshots."""

    first: int = 0
    """How many entries had been accepted before these."""
    entries: deque[Entry] = field(default_factory=deque)
    snapshots: dict[str, Placed] = field(default_factory=dict)
    suspects: dict[Suspect, None] = field(default_factory=dict)
    """In the order in which they were found."""
    sessions: set[str] = field(default_factory=set)
    """Whose all these are."""

    def __len__(self) -> int:
        """Entries and snapshots in it."""
        return len(self.entries) + len(self.snapshots)

    def drop_outdated(self) -> None:
        """Forget snapshots whose session has since gone on from an earlier entry."""
        if not self.snapshots:
            return
        for place, entry in enumerate(self.entries, start=self.first):
            placed = self.snapshots.get(entry.session_id)
            if placed and placed.place <= place and placed.saved.number >= entry.number:
                del self.snapshots[entry.session_id]


class WriteQueue:
    """The bounded queue, its barriers, and the pace of the thread that empties it."""

    def __init__(self, *, entries_max: int, snapshots_max: int, commit_interval_s: float) -> None:
        """The bounds are of what waits and what is being written, together."""
        self._entries_max = entries_max
        self._snapshots_max = snapshots_max
        self._commit_interval_s = commit_interval_s
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._waiting = Batch()
        self._writing = Batch()
        self._entries_room = entries_max
        self._snapshots_room = snapshots_max
        # Marks on the line of everything ever accepted: its end, the end of what was taken to be
        # written, the end of what is done with.
        self._accepted = 0
        self._taken = 0
        self._settled = 0
        self._given_up = 0
        # Passes of the writer: the one under way, the last that failed, the next that somebody
        # waits for, which is not put off.
        self._attempt = 0
        self._failed = 0
        self._wanted = 0
        self._healthy = True
        self._hurried = False
        self._closed = False
        self._hopeless = False

    # --- those who append -------------------------------------------------------------------

    def put_entry(self, entry: Entry) -> Refusal | None:
        """Accept an entry, or say why not."""
        with self._lock:
            entries = self._waiting.entries
            if self._closed or len(entries) >= self._entries_room:
                return self._refusal()
            entries.append(entry)
            self._waiting.sessions.add(entry.session_id)
            self._accepted += 1
            if len(entries) == 1 or len(entries) == COMMIT_ITEMS:
                self._changed.notify_all()
        return None

    def put_snapshot(self, saved: Saved) -> Refusal | None:
        """Accept a snapshot in place of the session's earlier one, or say why not."""
        with self._lock:
            snapshots = self._waiting.snapshots
            is_new = saved.session_id not in snapshots
            if self._closed or (is_new and len(snapshots) >= self._snapshots_room):
                return self._refusal()
            snapshots.pop(saved.session_id, None)
            place = self._waiting.first + len(self._waiting.entries)
            snapshots[saved.session_id] = Placed(saved, place)
            self._waiting.sessions.add(saved.session_id)
            self._accepted += 1
            if len(snapshots) == 1:
                self._changed.notify_all()
        return None

    def put_suspect(self, suspect: Suspect) -> bool:
        """Ask for a snapshot to be set aside; False when that was asked already."""
        with self._lock:
            if suspect in self._waiting.suspects or suspect in self._writing.suspects:
                return False
            self._waiting.suspects[suspect] = None
            self._waiting.sessions.add(suspect.session_id)
            self._accepted += 1
            self._changed.notify_all()
        return True

    def _refusal(self) -> Refusal:
        return "closed" if self._closed else "queue_full"

    # --- those who wait ---------------------------------------------------------------------

    def wait_settled(self, timeout_s: float, *, session_id: str | None = None) -> bool:
        """Wait until all accepted before, of one session or of all, is written or given up; not
        while writing fails."""
        with self._lock:
            target = self._accepted if session_id is None else self._mark(session_id)
            if self._settled < target and self._healthy:
                self._hurry()
                self._changed.wait_for(
                    lambda: self._settled >= target or not self._healthy, timeout_s
                )
            return self._settled >= target

    def _mark(self, session_id: str) -> int:
        """The end of what was accepted of a session, or something after it; 0: all is done with."""
        if session_id in self._waiting.sessions:
            return self._accepted
        return self._taken if session_id in self._writing.sessions else 0

    def flush(self, timeout_s: float) -> bool:
        """Have all accepted before written; False when it was not, or some was given up.

        Where writing fails it is tried once more, now.
        """
        with self._lock:
            target, attempt, given_up = self._accepted, self._attempt, self._given_up
            self._wanted = attempt + 1
            self._hurry()
            self._changed.wait_for(
                lambda: self._settled >= target or self._failed > attempt, timeout_s
            )
            return self._settled >= target and self._given_up == given_up

    def wake(self) -> None:
        """Have the writer look at its file now."""
        with self._lock:
            self._hurry()

    def close(self) -> None:
        """Refuse from now on. What is here is tried until it is written or given up, but once
        only where time does not help."""
        with self._lock:
            self._closed = True
            self._wanted = self._attempt + 1
            self._hurry()

    def __len__(self) -> int:
        """Entries and snapshots that are not written yet."""
        with self._lock:
            return len(self._waiting) + len(self._writing)

    def _hurry(self) -> None:
        self._hurried = True
        self._changed.notify_all()

    # --- the one who writes -----------------------------------------------------------------

    def begin(self) -> bool:
        """Begin a pass; False when there is nothing left to do."""
        with self._lock:
            if self._closed and self._attempt >= self._wanted and self._is_done():
                return False
            self._attempt += 1
            self._changed.notify_all()
        return True

    def _is_done(self) -> bool:
        failed = self._failed == self._attempt and self._hopeless
        return failed or self._settled == self._accepted

    def take(self, idle_s: float) -> Batch:
        """Everything that waits, as soon as it is worth a commit; nothing after `idle_s`."""
        with self._lock:
            self._changed.wait_for(self._is_called, idle_s)
            self._changed.wait_for(self._is_due, self._commit_interval_s if idle_s else 0)
            self._hurried = False
            taken = self._writing = self._waiting
            self._waiting = Batch(first=taken.first + len(taken.entries))
            self._taken = self._accepted
            self._set_room()
            return taken

    def _is_called(self) -> bool:
        waiting = self._waiting
        return self._hurried or self._closed or bool(waiting or waiting.suspects)

    def _is_due(self) -> bool:
        hurried = self._hurried or self._closed or not self._is_called()
        return hurried or len(self._waiting.entries) >= COMMIT_ITEMS

    def written(self, batch: Batch, *, entries: int, refused: int) -> None:
        """So many of the batch's entries, from its beginning, are done with: committed, but for
        those that could not be written as what they are."""
        with self._lock:
            for _ in range(entries):
                batch.entries.popleft()
            batch.first += entries
            self._given_up += refused
            self._set_room()

    def settle(self, *, refused: int) -> None:
        """The batch is done with; so many of its snapshots could not be written."""
        with self._lock:
            self._writing = Batch()
            self._settled = self._taken
            self._given_up += refused
            self._healthy = True
            self._set_room()
            self._changed.notify_all()

    def fail(self) -> GivenUp:
        """The batch waits again, before what came after it; the newest of what is too much to
        keep for a file that cannot be written is given up."""
        with self._lock:
            back = self._writing
            self._writing = Batch(first=back.first)
            waiting = self._waiting
            waiting.first = back.first
            waiting.entries.extendleft(reversed(back.entries))
            waiting.snapshots = {**back.snapshots, **waiting.snapshots}
            waiting.suspects = {**back.suspects, **waiting.suspects}
            waiting.sessions |= back.sessions
            self._healthy = False
            self._set_room()
            given_up = GivenUp(
                entries=max(0, len(waiting.entries) - self._entries_room),
                snapshots=max(0, len(waiting.snapshots) - self._snapshots_room),
            )
            for _ in range(given_up.entries):
                waiting.entries.pop()
            for _ in range(given_up.snapshots):
                waiting.snapshots.popitem()
            self._count(given_up)
        return given_up

    def give_up_batch(self) -> GivenUp:
        """Give up what was taken."""
        with self._lock:
            given_up = _size(self._writing)
            self._writing = Batch()
            self._settled = self._taken
            self._count(given_up)
        return given_up

    def rest(self, seconds: float, *, hopeless: bool = False) -> None:
        """The pass has failed, which those who wait for it learn now. Let time pass before the
        next one, unless somebody asks for it, or there is none: where it is `hopeless` and the
        queue is closed."""
        with self._lock:
            self._failed = self._attempt
            self._hopeless = hopeless
            self._changed.notify_all()
            if self._closed:
                seconds = min(seconds, CLOSING_RETRY_S)
            self._changed.wait_for(self._is_rested, seconds)

    def _is_rested(self) -> bool:
        return self._attempt < self._wanted or (self._closed and self._is_done())

    def give_up(self) -> GivenUp:
        """Give up everything that is here."""
        with self._lock:
            waiting, writing = _size(self._waiting), _size(self._writing)
            given_up = GivenUp(
                entries=waiting.entries + writing.entries,
                snapshots=waiting.snapshots + writing.snapshots,
            )
            self._waiting, self._writing = Batch(), Batch()
            self._settled = self._taken = self._accepted
            self._count(given_up)
            self._changed.notify_all()
        return given_up

    def _count(self, given_up: GivenUp) -> None:
        self._given_up += sum(given_up)
        self._set_room()

    def _set_room(self) -> None:
        entries, snapshots = self._entries_max, self._snapshots_max
        if not self._healthy:
            entries, snapshots = min(entries, DEGRADED_MAX), min(snapshots, DEGRADED_MAX)
        self._entries_room = max(0, entries - len(self._writing.entries))
        self._snapshots_room = max(0, snapshots - len(self._writing.snapshots))


def _size(batch: Batch) -> GivenUp:
    return GivenUp(entries=len(batch.entries), snapshots=len(batch.snapshots))
