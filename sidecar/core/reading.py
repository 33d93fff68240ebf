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
    """One signal's finding on one turn, with its evidence."""

    severity: Severity
    value: float = 0.0
    """What was measured, in the signal's own unit."""
    threshold: float = 0.0
    """What it was held against."""
    summary: str = ""
    """The evidence in one sentence: which turns, what repeated."""
    notice: bool = False
    """Worth saying, but no reason to change course: the breaker does not count it. Budgets warn
    like this, since running low is not misbehaviour."""
    signal: str = ""
    """Name of the signal; set by the fold."""


QUIET = Reading(severity=Severity.NONE)
"""The reading of a signal that has nothing to say; shared, since most readings are this one."""
