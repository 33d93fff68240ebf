"""The same call asked for again after it was denied.

Nothing the agent does in between makes a refusal go away; only a person's word does, and that
empties the look-back.
"""

from sidecar.core.turn import ToolCall
from sidecar.signals.loop.finding import Finding, in_turns, named, near
from sidecar.signals.loop.thresholds import LoopThresholds
from sidecar.signals.loop.window import DENIED, LOOK_BACK, Window


def refusal(window: Window, call: ToolCall, limits: LoopThresholds) -> Finding | None:
    """The latest call, when it was denied as it had been before."""
    count = window.failures
    if not window.traits & DENIED:
        return None
    if not limits.concern(count, limits.refusal_warning, limits.refusal_break):
        return near(count, limits.refusal_warning, limits.refusal_break)
    turns = window.turns_with_pair(window.pair[:8], LOOK_BACK)[-count:]
    return Finding(
        count=count,
        warning=limits.refusal_warning,
        break_=limits.refusal_break,
        summary=f"the same call of {named(call)} was denied {count} times ({in_turns(turns)})",
        key=call.call,
        since=turns[0],
    )
