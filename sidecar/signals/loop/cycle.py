"""A sequence of calls that goes round: the same calls with the same results in the same order.

Looked for at the end of the look-back only, since a cycle that stands now ends now; so each call
costs a few comparisons of packed strings, whatever the period and wherever the cycle began.
"""

from sidecar.core.packed import rounds
from sidecar.core.turn import ToolCall
from sidecar.signals.loop.finding import Finding, from_to, named, near
from sidecar.signals.loop.thresholds import MORE_PRESSES, LoopThresholds, later
from sidecar.signals.loop.window import (
    PAIR,
    PRESSED,
    SEEN,
    SILENT_STEP,
    WAITING,
    Window,
)

PERIOD_MIN = 2
"""A period of one is a plain repeat."""


def cycle(window: Window, call: ToolCall, limits: LoopThresholds) -> Finding | None:
    """The shortest cycle that the latest call closes, when it went round twice or more."""
    if window.traits & WAITING or not _came_lately(window, limits.cycle_period_max):
        return None
    for period in range(PERIOD_MIN, limits.cycle_period_max + 1):
        times = rounds(window.pairs, period * PAIR.size)
        if times < 2:
            continue
        if not _circles(window, period):
            return None
        more = MORE_PRESSES if _is_of_presses(window, period) else 0
        warning, break_ = later(limits.cycle_warning, more), later(limits.cycle_break, more)
        if not limits.concern(times, warning, break_):
            return near(times, warning, break_)
        turns = window.turns_of_last(times * period)
        return Finding(
            count=times,
            warning=warning,
            break_=break_,
            summary=f"the same {period} calls with the same results went round {times} times "
            f"({from_to(turns[0], turns[-1])}), the last of them {named(call)}",
            key=_key(window, period),
            since=turns[0],
        )
    return None


def _came_lately(window: Window, calls: int) -> bool:
    """Whether the latest call and result stand among so many before it: a cheap test first."""
    return bool(window.traits & SEEN) and (
        window.pairs.find(window.pair, -(calls + 1) * PAIR.size, -PAIR.size) >= 0
    )


def _key(window: Window, period: int) -> bytes:
    """One key for a cycle, with whichever of its calls it was met; none that a call has."""
    key = 0
    for call, _ in PAIR.iter_unpack(window.pairs[-period * PAIR.size :]):
        key ^= int.from_bytes(call)
    return key.to_bytes(8)


def _circles(window: Window, period: int) -> bool:
    """Whether the entries of one round are a loop: not all one and the same call, no pause among
    them, and not all of them waiting or steps that may have led on."""
    if window.pause_age <= period:
        return False
    latest = window.pairs[-period * PAIR.size :]
    if latest.count(window.pair) == period:
        return False
    return not all(trait & (WAITING | SILENT_STEP) for trait in window.traits_of_last(period))


def _is_of_presses(window: Window, period: int) -> bool:
    """Whether a round shows nowhere what its clicks and keys did: they may have led on."""
    latest = window.traits_of_last(period)
    return any(trait & PRESSED for trait in latest) and all(
        trait & (WAITING | SILENT_STEP | PRESSED) for trait in latest
    )
