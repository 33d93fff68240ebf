"""What one signal makes of one turn."""

from enum import IntEnum

from sidecar.core.value import value


class Severity(IntEnum):
    """How bad; the order is the order of the numbers."""

    NONE = 0
    WARNING = 1
    BREAK = 2


@value
class Reading:
    """One signal's finding on one turn, with its evidence.

    Of severity NONE it tells how near the signal is, and has no summary: nothing is to be said yet.
    """

    severity: Severity
    value: float = 0.0
    """What was measured, in the signal's own unit."""
    threshold: float = 0.0
    """What it was held against; of severity NONE the first that it would meet."""
    summary: str = ""
    """The evidence in one sentence: which turns, what repeated."""
    notice: bool = False
    """Worth saying, but no reason to change course: the breaker does not count it. Budgets warn
    like this, since running low is not misbehaviour."""
    signal: str = ""
    """Name of the signal; set by the fold."""

    @property
    def share(self) -> float:
        """Of the threshold that was measured; 0 where there is none."""
        return self.value / self.threshold if self.threshold else 0.0


QUIET = Reading(severity=Severity.NONE)
"""The reading of a signal that measured nothing; shared, since most readings are this one."""


def worse(one: Reading, other: Reading) -> Reading:
    """The reading of higher severity, and of none the nearer one; the first where they are
    level."""
    if other is QUIET or other.severity < one.severity:
        return one
    if other.severity > one.severity:
        return other
    return other if not one.severity and other.share > one.share else one
