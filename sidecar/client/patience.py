"""Whether a decision is still worth waiting for, and when to try the sidecar again."""

from collections.abc import Callable

# An outage costs three timeouts, once: 0.6 s at the default of 0.2 s.
MISSES_MAX = 3

# A stream on which nothing came for this long is cut. It starts at what three missed turns take by
# default, and doubles with every cut, so that a sidecar which is slow, but not dead, is left alone.
SILENCE_FIRST_S = 0.6
SILENCE_MAX_S = 10.0

# A goodbye is worth a second, if the sidecar is there. An outage costs no more in all, turns and
# goodbye together.
GOODBYE_S = 1.0
GOODBYE_MIN_S = 0.4

# A sidecar that is back is found within a second; an attempt on a socket that nobody listens on
# costs about 0.1 ms of CPU.
SOON_FIRST_S = 0.05
SOON_MAX_S = 1.0
# One that answered "no" will say so again.
LATER_FIRST_S = 1.0
LATER_MAX_S = 30.0
_DOUBLINGS_MAX = 16


def soon_s(attempts: int, random: Callable[[], float]) -> float:
    """Pause before the next attempt, after so many in vain. `random` gives numbers in [0, 1)."""
    return _jittered(SOON_FIRST_S, SOON_MAX_S, attempts, random)


def later_s(attempts: int, random: Callable[[], float]) -> float:
    """As soon_s, for a sidecar that refused."""
    return _jittered(LATER_FIRST_S, LATER_MAX_S, attempts, random)


def _jittered(first_s: float, max_s: float, attempts: int, random: Callable[[], float]) -> float:
    # Half fixed, half random: agents that lost one sidecar together do not come back together.
    pause_s: float = min(max_s, first_s * 2.0 ** min(attempts, _DOUBLINGS_MAX))
    return pause_s * (0.5 + 0.5 * random())


class Patience:
    """The client's own circuit breaker: counts misses in a row."""

    def __init__(self, *, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._misses = 0
        self._cuts = 0

    def __repr__(self) -> str:
        return f"Patience(misses={self._misses}, cuts={self._cuts})"

    @property
    def spent(self) -> bool:
        """Whether waiting has been in vain too often."""
        return self._misses >= MISSES_MAX

    def missed(self) -> None:
        """A turn was given up."""
        self._misses += 1

    def answered(self, *, after_s: float) -> None:
        """A decision came so long after its turn was sent. Only one in time restores patience."""
        if after_s <= self._timeout_s:
            self._misses = 0
            self._cuts = 0

    def cut(self) -> None:
        """A stream was cut for its silence."""
        self._cuts += 1

    @property
    def goodbye_s(self) -> float:
        """How long a goodbye may be waited for, after what turns that were missed have cost."""
        return max(GOODBYE_MIN_S, GOODBYE_S - self._misses * self._timeout_s)

    def silence_max_s(self) -> float:
        """How long a stream with turns unanswered may be silent before it counts as dead."""
        limit_s = max(SILENCE_FIRST_S, MISSES_MAX * self._timeout_s)
        doubled_s: float = limit_s * 2.0 ** min(self._cuts, _DOUBLINGS_MAX)
        return min(doubled_s, max(SILENCE_MAX_S, limit_s))
