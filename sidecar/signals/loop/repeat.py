"""The same call with the same result, with nothing new in between.

A repeat counts only if it taught nothing. A changed result starts the count again, and so does
progress: news from another call, a write made for the first time, a changed file. A silent success
of some other call is none; but where all is silence, nothing shows that the same came of it either,
so a silent call that comes back between others has one more try. So has a question for the status
of something, which may be about to change. A click or a key that is merely confirmed has seven
more: "Clicked" says the same of the button for the next month each time, and where it led to is in
a message of its own, or in what is looked at next.
"""

from typing import Final

from sidecar.core.digests.call_kind import asks_for_status
from sidecar.core.turn import ResultKind, ToolCall
from sidecar.signals.loop.finding import Finding, in_turns, named, near
from sidecar.signals.loop.thresholds import MORE_PRESSES, LoopThresholds, later
from sidecar.signals.loop.window import LOOK_BACK, PRESSED, SILENT_STEP, WAITING, Window

MORE_TRIES: Final = 1
"""For a question of status, and until the break where the result is empty and other calls stand in
between."""


def repeat(window: Window, call: ToolCall, limits: LoopThresholds) -> Finding | None:
    """The latest call, when it came back fruitless. Waiting has its own patience, and a step whose
    result does not show where it led may have led on."""
    count, warning, break_ = window.repeats, limits.repeat_warning, limits.repeat_break
    if count < 2 or window.traits & (WAITING | SILENT_STEP):
        return None
    if window.traits & PRESSED:
        warning, break_ = later(warning, MORE_PRESSES), later(break_, MORE_PRESSES)
    elif asks_for_status(call.name):
        warning, break_ = later(warning, MORE_TRIES), later(break_, MORE_TRIES)
    elif call.result_kind is ResultKind.EMPTY and _is_apart(window):
        break_ = later(break_, MORE_TRIES)
    if not limits.concern(count, warning, break_):
        return near(count, warning, break_)
    turns = window.turns_with_pair(window.pair, LOOK_BACK)[-count:]
    result = "no result reported" if call.result is None else "the same result"
    return Finding(
        count=count,
        warning=warning,
        break_=break_,
        summary=f"{named(call)} was called {count} times with the same arguments and {result} "
        f"({in_turns(turns)}), with nothing new in between",
        key=call.call,
        since=turns[0],
    )


def _is_apart(window: Window) -> bool:
    """Whether other calls stand between the latest call and the repeats before it."""
    return not window.pairs.endswith(window.pair * window.repeats)
