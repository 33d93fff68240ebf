"""Looking at the whole again and again: `git status` in ever new wordings, none of them telling
anything new."""

from typing import Final

from sidecar.core.turn import CallKind, ToolCall
from sidecar.core.value import value
from sidecar.signals.loop.finding import Finding, from_to, named
from sidecar.signals.loop.thresholds import LoopThresholds


@value
class Overviews:
    """Overviews in a row that told nothing new."""

    count: int = 0
    since: int = 0
    """Turn of the first."""

    def after(self, call: ToolCall, sequence: int, *, news: bool) -> "Overviews":
        """The row after one more call. A pause between two looks does not end it."""
        if call.kind is CallKind.WAIT:
            return self
        if news or call.kind is not CallKind.OVERVIEW:
            return NO_OVERVIEWS
        return Overviews(count=self.count + 1, since=self.since or sequence)

    def finding(self, call: ToolCall, sequence: int, limits: LoopThresholds) -> Finding:
        """The row so far."""
        return Finding(
            count=self.count,
            warning=limits.overview_warning,
            break_=limits.overview_break,
            summary=f"{self.count} looks at the whole in a row told nothing new "
            f"({from_to(self.since, sequence)}), the last of them by {named(call)}",
            since=self.since,
        )


NO_OVERVIEWS: Final = Overviews()
