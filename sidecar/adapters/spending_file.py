"""What model calls have taken today, in a small file: a restart does not begin the day anew."""

import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from sidecar.paths import make_directory
from sidecar.ports import DaySpent, Used

logger = logging.getLogger(__name__)

SPENDING: Final = "spending"


class SpendingFile:
    """The port `Ledger`: written by a thread of its own, since a disk can be slow."""

    def __init__(self, path: Path, *, lost: Callable[[str, str, int], None]) -> None:
        """`lost(what, reason, count)` is called from the thread, which the first save starts."""
        self._path = path
        self._lost = lost
        self._latest: DaySpent | None = None
        self._changed = threading.Event()
        self._closing = False
        self._thread: threading.Thread | None = None

    def load(self) -> DaySpent | None:
        """What was saved last; None where there is nothing that can be read."""
        try:
            kept = json.loads(self._path.read_text("utf-8"))
            accounts = {name: _used(part) for name, part in kept["accounts"].items()}
            return DaySpent(day=int(kept["day"]), accounts=accounts)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError) as fault:
            logger.warning("%s cannot be read, and the day begins anew: %s", self._path, fault)
            self._lost(SPENDING, "unreadable", 1)
            return None

    def save(self, spent: DaySpent) -> None:
        """Have it written soon, in place of what was to be written before."""
        self._latest = spent
        self._changed.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="spending", daemon=True)
            self._thread.start()

    def close(self, within_s: float) -> None:
        """Write what waits, for so long."""
        self._closing = True
        self._changed.set()
        if self._thread is not None:
            self._thread.join(within_s)

    def _run(self) -> None:
        while not self._closing or self._changed.is_set():
            self._changed.wait()
            self._changed.clear()
            spent, self._latest = self._latest, None
            if spent is None:
                continue
            try:
                self._write(spent)
            except OSError as fault:
                logger.warning("%s cannot be written: %s", self._path, fault)
                self._lost(SPENDING, "unwritable", 1)

    def _write(self, spent: DaySpent) -> None:
        kept = {
            "day": spent.day,
            "accounts": {
                name: [used.calls, used.tokens, used.cost_usd]
                for name, used in spent.accounts.items()
            },
        }
        make_directory(self._path.parent)
        draft = self._path.with_suffix(".draft")
        draft.write_text(json.dumps(kept), "utf-8")
        draft.replace(self._path)


def _used(part: Any) -> Used:
    calls, tokens, cost_usd = part
    return Used(calls=int(calls), tokens=int(tokens), cost_usd=float(cost_usd))
