"""The context is compacted again and again, and nothing moves in between."""

from typing import Final

from sidecar.core.turn import Turn
from sidecar.core.value import value
from sidecar.signals.loop.finding import Finding, from_to
from sidecar.signals.loop.thresholds import LoopThresholds


def is_compacted(before: int | None, after: int | None) -> bool:
    """Whether the context was compacted between two levels in tokens: it fell by more than half."""
    return before is not None and after is not None and after * 2 < before


@value
class Compactions:
    """Compactions since there was progress."""

    count: int = 0
    since: int = 0
    """Turn of the first."""

    def after(self, turn: Turn) -> "Compactions":
        """The compactions with the one that this turn shows."""
        return Compactions(count=self.count + 1, since=self.since or turn.sequence)

    def finding(self, turn: Turn, limits: LoopThresholds) -> Finding:
        """The compactions so far, in the turn that shows one."""
        return Finding(
            count=self.count,
            warning=limits.compaction_warning,
            break_=limits.compaction_break,
            summary=f"the context was compacted {self.count} times with no progress in between "
            f"({from_to(self.since, turn.sequence)})",
            since=self.since,
        )


NOT_COMPACTED: Final = Compactions()
