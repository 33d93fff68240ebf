"""The same result from the same tool, whatever it was asked.

This catches refusals that come as ordinary text, and agents that reword a question. Silence and
short confirmations are what many different calls rightly share, so they never count.
"""

from sidecar.core.turn import ToolCall
from sidecar.signals.loop.finding import Finding, in_turns, named
from sidecar.signals.loop.thresholds import LoopThresholds
from sidecar.signals.loop.window import ANSWER, KNOWN_ANSWER, WAITING, Window, is_plain


def answer(window: Window, call: ToolCall, limits: LoopThresholds) -> tuple[Finding, ...]:
    """The latest answer, counted in the window of the break and in that of the warning."""
    if not window.traits & KNOWN_ANSWER or window.traits & WAITING or not is_plain(call):
        return ()
    found = []
    for calls, warning, break_ in (
        (limits.answer_break_window, None, limits.answer_break),
        (limits.answer_warning_window, limits.answer_warning, None),
    ):
        count = window.answers[-calls * ANSWER.size :].count(window.answer)
        if not limits.concern(count, warning, break_):
            continue
        turns = window.turns_with_answer(calls)
        found.append(
            Finding(
                count=count,
                warning=warning,
                break_=break_,
                summary=f"{named(call)} gave the same result in {count} of the last {calls} calls, "
                f"whatever its arguments were ({in_turns(turns)})",
                key=window.answer,
                since=turns[0],
            )
        )
    return tuple(found)
