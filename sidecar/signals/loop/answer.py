"""The same result from the same tool, whatever it was asked.

This catches refusals that come as ordinary text, and agents that reword a question. Silence and
short confirmations are what many different calls rightly share, so they never count. One and the
same call, asked again, is for the rules about repeats: they know when it is rightly asked again.
"""

from sidecar.core.turn import ToolCall
from sidecar.signals.loop.finding import Finding, in_turns, named, near
from sidecar.signals.loop.thresholds import LoopThresholds
from sidecar.signals.loop.window import (
    ANSWER,
    DENIED,
    FAILED,
    KNOWN_ANSWER,
    NEWS,
    PAIR,
    WAITING,
    Window,
    is_plain,
)


def answer(window: Window, call: ToolCall, limits: LoopThresholds) -> tuple[Finding, ...]:
    """The latest answer, counted in the windows of the breaks and in that of the warning."""
    if not window.traits & KNOWN_ANSWER or window.traits & WAITING or not is_plain(call):
        return ()
    found = []
    for calls, warning, break_ in (
        (limits.answer_break_window, None, limits.answer_break),
        (limits.answer_warning_window, limits.answer_warning, None),
    ):
        count = _count(window, calls)
        if count < 2 or not _is_asked_otherwise(window, calls):
            continue
        if limits.concern(count, warning, break_):
            found.append(_finding(window, call, calls, count, warning, break_))
        else:
            found.append(near(count, warning, break_))
    calls, break_ = limits.answer_break_window, limits.answer_fruitless_break
    count = _count(window, calls)
    if (
        limits.concern(count, None, break_)
        and _is_fruitless(window, calls)
        and _is_asked_otherwise(window, calls)
    ):
        found.append(_finding(window, call, calls, count, None, break_, ", with nothing new since"))
    return tuple(found)


def _count(window: Window, calls: int) -> int:
    """Times that the last so many calls had the latest answer. A person who refuses a turn refuses
    all its calls at once, and of calls that were made together none knew how the others fail: that
    counts as one."""
    if window.traits & (DENIED | FAILED):
        return len(set(window.turns_with_answer(calls)))
    return window.answers[-calls * ANSWER.size :].count(window.answer)


def _is_asked_otherwise(window: Window, calls: int) -> bool:
    """Whether among the last so many calls another one than the latest brought its answer."""
    answers = window.answers[-calls * ANSWER.size :]
    pairs = window.pairs[-calls * PAIR.size :]
    return any(
        answers.startswith(window.answer, at * ANSWER.size)
        and not pairs.startswith(window.pair[:8], at * PAIR.size)
        for at in range(len(answers) // ANSWER.size)
    )


def _finding(
    window: Window,
    call: ToolCall,
    calls: int,
    count: int,
    warning: int | None,
    break_: int | None,
    since: str = "",
) -> Finding:
    turns = window.turns_with_answer(calls)
    last = min(calls, len(window.answers) // ANSWER.size)
    return Finding(
        count=count,
        warning=warning,
        break_=break_,
        summary=f"{named(call)} gave the same result in {count} of the last {last} calls, "
        f"whatever its arguments were ({in_turns(turns)}){since}",
        key=window.answer,
        since=turns[0],
    )


def _is_fruitless(window: Window, calls: int) -> bool:
    """Whether since the first of these answers nothing was written, and nothing else was new."""
    answers = window.answers[-calls * ANSWER.size :]
    first = answers.find(window.answer)
    since = len(answers) // ANSWER.size - first // ANSWER.size
    return window.write_age >= since and not any(
        traits & NEWS and not traits & KNOWN_ANSWER for traits in window.traits_of_last(since)[1:]
    )
