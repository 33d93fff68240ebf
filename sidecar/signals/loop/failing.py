"""The same call failing again, whatever the error says.

The text of an error may differ from one failure to the next without anything having changed. Two
things show that something has: the error names another line, or its text changed after some other
step had worked.
"""

from sidecar.core.turn import ToolCall
from sidecar.signals.loop.finding import Finding, in_turns, named, near
from sidecar.signals.loop.thresholds import LoopThresholds
from sidecar.signals.loop.window import FAILED, LOOK_BACK, WAITING, Window, waits


def failing(window: Window, call: ToolCall, limits: LoopThresholds) -> Finding | None:
    """The latest call, when it failed as it had before. A wait that fails is not over yet; what is
    tried again after a pause has the patience of waiting."""
    count = window.failures
    if not window.traits & FAILED or waits(call):
        return None
    warning, break_ = limits.failing_warning, limits.failing_break
    if window.traits & WAITING:
        warning, break_ = limits.waiting_warning, limits.waiting_break
    if not limits.concern(count, warning, break_):
        return near(count, warning, break_)
    turns = window.turns_with_pair(window.pair[:8], LOOK_BACK)[-count:]
    return Finding(
        count=count,
        warning=warning,
        break_=break_,
        summary=f"{named(call)} failed {count} times in a row with the same arguments "
        f"({in_turns(turns)}), and no step in between is known to have changed anything",
        key=call.call,
        since=turns[0],
    )
