"""The machine's clocks."""

import time


class SystemClock:
    """A `Clock` of what the machine says."""

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()
