"""The same call with the same result, with nothing new in between.

A repeat counts only if it taught nothing. A changed result starts the count again, and so does
progress: news from another call, a write made for the first time, a changed file. A silent success
of some other call is none.
"""

from sidecar.core.turn import ToolCall
from sidecar.signals.loop.finding import Finding, in_turns, named
from sidecar.signals.loop.thresholds import LoopThresholds
from sidecar.signals.loop.window import LOOK_BACK, SILENT_STEP, WAITING, Window


def repeat(window: Window, call: ToolCall, limits: LoopThresholds) -> Finding | None:
    """The latest call, when it came back fruitless. Waiting has its own patience, and a step whose
    result does not show where it led may have led on."""
    count = window.repeats
    if window.traits & (WAITING | SILENT_STEP):
        return None
    if not limits.concern(count, limits.repeat_warning, limits.repeat_break):
        return None
    turns = window.turns_with_pair(window.pair, LOOK_BACK)[-count:]
    result = "no result reported" if call.result is None else "the same result"
    return Finding(
        count=count,
        warning=limits.repeat_warning,
        break_=limits.repeat_break,
        summary=f"{named(call)} was called {count} times with the same arguments and {result} "
        f"({in_turns(turns)}), with nothing new in between",
        key=call.call,
        since=turns[0],
    )
