"""The same call with the same result, with nothing new in between.

A repeat counts only if it taught nothing. A changed result starts the count again, and so does
progress: news from another call, a write made for the first time, a changed file. A silent success
of some other call is none; but where all is silence, nothing shows that the same came of it either,
so a silent call that comes back between others has one more try.
"""

from typing import Final

from sidecar.core.turn import ResultKind, ToolCall
from sidecar.signals.loop.finding import Finding, in_turns, named
from sidecar.signals.loop.thresholds import LoopThresholds
from sidecar.signals.loop.window import LOOK_BACK, SILENT_STEP, WAITING, Window

SILENT_TRIES: Final = 1
"""Repeats more that end in a break where the result is empty and other calls stand in between."""


def repeat(window: Window, call: ToolCall, limits: LoopThresholds) -> Finding | None:
    """The latest call, when it came back fruitless. Waiting has its own patience, and a step whose
    result does not show where it led may have led on."""
    count, break_ = window.repeats, limits.repeat_break
    if window.traits & (WAITING | SILENT_STEP):
        return None
    if not limits.concern(count, limits.repeat_warning, break_):
        return None
    if break_ is not None and call.result_kind is ResultKind.EMPTY and _is_apart(window):
        break_ += SILENT_TRIES
    turns = window.turns_with_pair(window.pair, LOOK_BACK)[-count:]
    result = "no result reported" if call.result is None else "the same result"
    return Finding(
        count=count,
        warning=limits.repeat_warning,
        break_=break_,
        summary=f"{named(call)} was called {count} times with the same arguments and {result} "
        f"({in_turns(turns)}), with nothing new in between",
        key=call.call,
        since=turns[0],
    )


def _is_apart(window: Window) -> bool:
    """Whether other calls stand between the latest call and the repeats before it."""
    return not window.pairs.endswith(window.pair * window.repeats)
