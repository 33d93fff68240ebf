"""Turn after turn that only talks, by an agent that has used tools: it announces, apologizes or
agrees, in ever other words, or plans anew what it has planned, and does nothing.

With a person there that is a dialogue; while other actors move something it may be called for. Long
texts are work of their own: a report, a chapter.
"""

from typing import Final

from sidecar.core.turn import Turn
from sidecar.core.value import value
from sidecar.signals.loop.finding import Finding, from_to
from sidecar.signals.loop.thresholds import LoopThresholds
from sidecar.signals.loop.window import is_talk

BRIEF_MAX: Final = 600
"""Characters of a text that may only announce something. With a list of the steps to come none of
the agents in tests/data/stuck.jsonl that announce and never act had above 200."""


@value
class Idling:
    """Brief texts and plans in a row, and nothing else."""

    turns: int = 0
    since: int = 0
    """The first of them."""

    def after(self, turn: Turn) -> "Idling":
        """The idling after one more turn. A turn that says nothing at all is no end of it."""
        acts = not all(map(is_talk, turn.tool_calls))
        moved = acts or turn.reports_progress or turn.user_input
        if moved or turn.others_progressed or turn.others_changed or turn.text_length > BRIEF_MAX:
            return BUSY
        if not _says(turn):
            return self
        return Idling(turns=self.turns + 1, since=self.since or turn.sequence)

    def finding(self, turn: Turn, limits: LoopThresholds) -> Finding | None:
        """The turns so far, in one that adds to them."""
        if not self.turns or not _says(turn):
            return None
        return Finding(
            count=self.turns,
            warning=limits.idling_warning,
            break_=None,
            summary=f"{self.turns} turns in a row talked or planned, and called no tool that acts "
            f"({from_to(self.since, turn.sequence)})",
            since=self.since,
        )


BUSY: Final = Idling()


def _says(turn: Turn) -> bool:
    return turn.text is not None or bool(turn.tool_calls)
