"""Values of metric labels, bounded: an agent names its tools and models as it likes."""

import threading
from typing import Final

from sidecar.adapters.telemetry.text import cut

OTHER: Final = "other"
UNKNOWN: Final = "unknown"


class LabelValues:
    """The first values that one label takes on; every later one is `other`."""

    def __init__(self, values_max: int) -> None:
        """Bound the label to `values_max` values beside `other` and `unknown`."""
        self._values_max = values_max
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()

    def fold(self, value: str) -> str:
        """The value as it may stand in a label; `unknown` for an empty one."""
        known = self._known.get(value)
        return known if known is not None else self._meet(value)

    def _meet(self, value: str) -> str:
        if not value:
            return UNKNOWN
        with self._lock:
            if len(self._known) >= self._values_max:
                return self._known.get(value, OTHER)
            return self._known.setdefault(value, cut(value))
