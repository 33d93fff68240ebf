"""Turns that only brought what their tools had said before.

An agent can change its arguments with every call and still be told nothing. Turns without a plain
result neither add nor reset: silence and waiting can be neither new nor old. A confirmation that
had not been given before, and a write made for the first time, are movement.
"""

from typing import Final

from sidecar.core.turn import CallKind, ToolCall, Turn
from sidecar.core.value import value
from sidecar.signals.loop.finding import Finding, from_to
from sidecar.signals.loop.thresholds import LoopThresholds
from sidecar.signals.loop.window import (
    DENIED,
    FAILED,
    KNOWN_ANSWER,
    LOOK_BACK,
    SEEN,
    WAITING,
    Window,
    is_plain,
)


@value
class Staleness:
    """Stale turns since something last moved."""

    turns: int = 0
    since: int = 0
    """The first of them."""

    def after(self, turn: Turn, window: Window, news: tuple[bool, ...]) -> "Staleness":
        """The staleness after a turn whose calls, with their news, are the window's latest."""
        if not window.traits & KNOWN_ANSWER and is_plain(turn.tool_calls[-1]):
            return FRESH  # what most turns come to, found without a walk
        calls = turn.tool_calls[-LOOK_BACK:]
        stale = True
        for call, traits, is_news in zip(
            calls, window.traits_of_last(len(calls)), news[-LOOK_BACK:], strict=False
        ):
            if _moves(call, traits, news=is_news):
                return FRESH
            stale = stale and is_plain(call) and not traits & WAITING
        if not stale:
            return self
        return Staleness(turns=self.turns + 1, since=self.since or turn.sequence)

    def finding(self, turn: Turn, limits: LoopThresholds) -> Finding:
        """The stale turns so far."""
        among = turn.sequence - self.since + 1 - self.turns
        others = f"; {among} more failed, waited or said nothing" if among else ""
        return Finding(
            count=self.turns,
            warning=limits.stale_warning,
            break_=limits.stale_break,
            summary=f"{self.turns} turns brought only results that their tools had given before "
            f"({from_to(self.since, turn.sequence)}{others})",
            since=self.since,
        )


FRESH: Final = Staleness()


def _moves(call: ToolCall, traits: int, *, news: bool) -> bool:
    if is_plain(call):
        return not traits & KNOWN_ANSWER
    if call.kind is CallKind.WRITE and not traits & (SEEN | FAILED | DENIED):
        return True
    return news and call.result is not None
