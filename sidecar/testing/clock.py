"""Time that passes when it is told to."""

from typing import Final

START_S: Final = 1_767_225_600.0
"""2026-01-01T00:00:00Z; any moment would do that is not 0, which hides a clock left out."""


class FakeClock:
    """The port `Clock`, for one test."""

    def __init__(self, *, now_s: float = START_S, monotonic_s: float = 1_000.0) -> None:
        """Seconds since the epoch, and seconds since whenever."""
        self._now_s = now_s
        self._monotonic_s = monotonic_s

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return self._now_s

    def monotonic_s(self) -> float:
        """Seconds on a clock that never goes back."""
        return self._monotonic_s

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks. Raises ValueError when it is to run backwards."""
        if seconds < 0:
            raise ValueError(f"time cannot pass by {seconds} seconds; set_now_s can step back")
        self._now_s += seconds
        self._monotonic_s += seconds

    def set_now_s(self, now_s: float) -> None:
        """Set the wall clock, as an operator or a time server does; the other goes on."""
        self._now_s = now_s
