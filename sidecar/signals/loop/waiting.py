"""Waiting with nothing changing: an empty command, a sleep, a result that says "still running".

Waiting is often right, so it has far more patience than a repeat, counted in looks and, where turns
carry their times, in seconds.
"""

import math
from typing import Final

from sidecar.core.digests.tool_name import searches
from sidecar.core.turn import CallKind, ToolCall, Turn
from sidecar.core.value import value
from sidecar.signals.loop.finding import Finding, from_to
from sidecar.signals.loop.thresholds import LoopThresholds
from sidecar.signals.loop.window import FAILED, KNOWN_ANSWER, NO_RESULT, SEEN, Window, waits


@value
class Waiting:
    """Waits since something last changed; a pause and the look after it are one."""

    count: int = 0
    result: bytes = NO_RESULT
    """Of the latest."""
    since: int = 0
    """Turn of the first."""
    since_s: float | None = None
    """When that turn began, in seconds since the epoch."""

    def after(self, call: ToolCall, turn: Turn, window: Window, *, news: bool) -> "Waiting":
        """The waiting after one more call, which is the window's latest."""
        if not waits(call):
            return NOT_WAITING if news else self
        result = call.result or NO_RESULT
        # A call made for the first time that says "queued" sets something going, and waits for
        # nothing yet.
        goes_on = (
            call.kind is CallKind.WAIT
            or window.is_made_again
            or (searches(call.name) and bool(window.traits & KNOWN_ANSWER))
        )
        # One that fails may look in several ways at what is not there: each finds out the same.
        is_known = window.traits & (KNOWN_ANSWER if window.traits & FAILED else SEEN)
        if self.count and goes_on and (result == self.result or is_known):
            is_same_wait = (
                window.waited_otherwise_in_turn
                or _is_look_after_pause(call, window)
                or (call.kind is not CallKind.WAIT and window.is_looked_at_anew)
            )
            count = self.count + (not is_same_wait)
            return Waiting(count=count, result=result, since=self.since, since_s=self.since_s)
        start_s = turn.end_s if turn.start_s is None else turn.start_s
        return Waiting(count=1, result=result, since=turn.sequence, since_s=start_s)

    def findings(self, turn: Turn, limits: LoopThresholds) -> tuple[Finding, ...]:
        """The waiting so far in looks and, where it is known, in whole seconds."""
        where = from_to(self.since, turn.sequence)
        looks = Finding(
            count=self.count,
            warning=limits.waiting_warning,
            break_=limits.waiting_break,
            summary=f"{self.count} waits in a row found nothing changed ({where})",
            since=self.since,
        )
        elapsed_s = self._elapsed_s(turn)
        if limits.waiting_max_s is None or self.count < 2:
            return (looks,)
        long = Finding(
            count=int(elapsed_s),
            warning=None,
            break_=int(limits.waiting_max_s),
            summary=f"{self.count} waits over {elapsed_s:.0f} s found nothing changed ({where})",
            since=self.since,
        )
        return looks, long

    def _elapsed_s(self, turn: Turn) -> float:
        now_s = turn.start_s if turn.end_s is None else turn.end_s
        if now_s is None or self.since_s is None:
            return 0.0
        elapsed_s = now_s - self.since_s
        # Clocks can be wrong; what is no number of seconds is no wait.
        return elapsed_s if math.isfinite(elapsed_s) else 0.0


NOT_WAITING: Final = Waiting()


def _is_look_after_pause(call: ToolCall, window: Window) -> bool:
    return call.kind is not CallKind.WAIT and window.pause_age == 2
