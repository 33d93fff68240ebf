"""A count of what was lost, that can be waited for."""

import threading
from collections import Counter


class Losses:
    """Called as `lost(what, reason, count)`, from any thread."""

    def __init__(self) -> None:
        """Nothing is lost yet."""
        self._changed = threading.Condition()
        self._counts: Counter[tuple[str, str]] = Counter()

    def __call__(self, what: str, reason: str, count: int = 1) -> None:
        """Count a loss."""
        with self._changed:
            self._counts[what, reason] += count
            self._changed.notify_all()

    @property
    def counts(self) -> dict[tuple[str, str], int]:
        """All losses so far, by what and reason."""
        with self._changed:
            return dict(self._counts)

    def wait_for(self, what: str, reason: str, *, count: int, timeout_s: float = 60.0) -> bool:
        """Wait until so many were lost; False when the time is over before."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._counts[what, reason] >= count, timeout=timeout_s
            )
