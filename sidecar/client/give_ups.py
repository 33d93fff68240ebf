"""How often the client went on without the sidecar, by reason."""

import os
import threading
from contextlib import AbstractContextManager

from sidecar.client.directive import Reason


class GiveUps:
    """Counts that never fall. Safe to use from several threads."""

    def __init__(self) -> None:
        self._process = os.getpid()
        # Reentrant: a signal handler may ask in the very thread that is counting.
        self._kept = threading.RLock()
        self._counts = dict.fromkeys(Reason, 0)

    def __repr__(self) -> str:
        return f"GiveUps({self.by_reason()})"

    def count(self, reason: Reason) -> None:
        """One more for this reason."""
        with self._lock:
            self._counts[reason] += 1

    def by_reason(self) -> dict[str, int]:
        """The counts so far under plain strings, zeros included."""
        with self._lock:
            return {str(reason): count for reason, count in self._counts.items()}

    @property
    def total(self) -> int:
        """The sum over all reasons."""
        with self._lock:
            return sum(self._counts.values())

    @property
    def _lock(self) -> AbstractContextManager[object]:
        # In the child of a fork nobody lets go of a lock that was held in another thread.
        if self._process != os.getpid():
            self._process, self._kept = os.getpid(), threading.RLock()
        return self._kept
