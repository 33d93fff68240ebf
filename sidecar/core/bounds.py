"""What a number may be, and when it is too much: shared by the signals."""

from typing import Final

from sidecar.core.reading import QUIET, Reading, Severity
from sidecar.core.turn import Turn

COUNT_MAX: Final = 2**63 - 1
"""Largest count: what the wire's int64 can carry."""

COST_MAX_USD: Final = 1e9
"""A turn that costs more than this was not measured but mistaken."""


def is_count(value: int | None) -> bool:
    """Whether a count was measured: absent, negative, not a number or beyond COUNT_MAX is not."""
    return value is not None and 0 <= value <= COUNT_MAX


def counted_cost(cost_usd: float | None) -> float:
    """The cost of a turn in US dollars as far as it counts: nothing where it is absent, negative,
    not a number or above COST_MAX_USD."""
    return cost_usd if cost_usd is not None and 0 <= cost_usd <= COST_MAX_USD else 0.0


def occupancy(turn: Turn) -> float | None:
    """Share of the model's context window that is full after the turn; None: not measured."""
    level, window = turn.usage.context_tokens, turn.usage.context_window
    if level is None or window is None:
        return None
    if 0 <= level <= COUNT_MAX and 0 < window <= COUNT_MAX:
        return level / window
    return None


def budget_severity(spent: float, limit: float | None, warning_ratio: float | None) -> Severity:
    """BREAK at the limit, WARNING from a share of it on; NONE without a limit.

    `spent` is in the limit's unit; below 0 (a clock that went back) it is nothing.
    """
    if limit is None:
        return Severity.NONE
    if spent >= limit:
        return Severity.BREAK
    # By division, which rounds right: 28 of 35 is exactly 0.8, and 0.8 * 35 may not be 28.
    if warning_ratio is not None and spent > 0 and spent / limit >= warning_ratio:
        return Severity.WARNING
    return Severity.NONE


def reached(count: int, *, warning: int | None, break_: int | None) -> tuple[Severity, int] | None:
    """The worse of two limits that a count reaches, with its severity; None: neither."""
    if break_ is not None and count >= break_:
        return Severity.BREAK, break_
    if warning is not None and count >= warning:
        return Severity.WARNING, warning
    return None


def below(value: float, warning: float | None, break_: float | None = None) -> Reading:
    """How near a value is to the first of two limits.

    QUIET where the value is 0, and where it has reached the limit and is held back by another rule.
    """
    threshold = break_ if warning is None else warning
    if threshold is None or not 0 < value < threshold:
        return QUIET
    return Reading(severity=Severity.NONE, value=value, threshold=threshold)


def require_at_least(least: float, **thresholds: float | None) -> None:
    """Hold thresholds to a least value; None ("never") passes.

    Raises ValueError naming the threshold, its value and what would be right.
    """
    for name, value in thresholds.items():
        if value is not None and not value >= least:
            raise ValueError(f"{name} is {value}: it must be at least {least:g}")


def require_whole(least: int, **thresholds: float) -> None:
    """Hold thresholds to whole numbers from a least one on. Raises ValueError naming the first that
    is none."""
    for name, value in thresholds.items():
        if value < least or not float(value).is_integer():
            raise ValueError(f"{name} is {value}: it must be a whole number, at least {least}")


def require_share(**thresholds: float | None) -> None:
    """Hold thresholds to shares in (0, 1]; None ("never") passes.

    Raises ValueError naming the threshold, its value and what would be right.
    """
    for name, value in thresholds.items():
        if value is not None and not 0 < value <= 1:
            raise ValueError(f"{name} is {value}: it must be above 0 and at most 1")
