"""Turn after turn that only says the same, without a call and without a person in between.

The same may be one message or a few that go round.
"""

from struct import Struct
from typing import Final

from sidecar.core.packed import rounds
from sidecar.core.turn import Turn
from sidecar.core.value import value
from sidecar.signals.loop.finding import Finding, from_to
from sidecar.signals.loop.thresholds import TEXTS_MAX, LoopThresholds

TEXT: Final = Struct("8s")
PERIOD_MAX: Final = 4
"""Messages in one round. Models that talk to themselves go round two or three messages; four
leaves one to spare."""


@value
class Monologue:
    """What was said since a call, progress or a person came in between. A turn that says nothing at
    all is no end of it."""

    texts: bytes = b""
    """Packed, oldest first."""
    turns: bytes = b""
    """Of each text, packed as 4 bytes."""

    def __post_init__(self) -> None:
        """Refuse what was not packed here."""
        if len(self.texts) != len(self.turns) * 2 or len(self.turns) % 4:
            raise ValueError("the monologue is cut")

    def after(self, turn: Turn) -> "Monologue":
        """The monologue after one more turn."""
        if turn.tool_calls or turn.reports_progress:
            return SILENCE
        if turn.text is None:
            return self
        return Monologue(
            texts=(self.texts + TEXT.pack(turn.text))[-TEXTS_MAX * TEXT.size :],
            turns=(self.turns + (turn.sequence & 0xFFFFFFFF).to_bytes(4))[-TEXTS_MAX * 4 :],
        )

    def finding(self, turn: Turn, limits: LoopThresholds) -> Finding | None:
        """The shortest round that this turn closes, when it was said before."""
        if turn.text is None:
            return None
        for period in range(1, PERIOD_MAX + 1):
            times = rounds(self.texts, period * TEXT.size)
            if times < 2:
                continue
            said = "the same" if period == 1 else f"the same {period} messages in turn"
            since = int.from_bytes(self.turns[-times * period * 4 :][:4])
            return Finding(
                count=times,
                warning=limits.monologue_warning,
                break_=limits.monologue_break,
                summary=f"{times * period} turns without a tool call said {said} "
                f"({from_to(since, turn.sequence)})",
                since=since,
            )
        return None


SILENCE: Final = Monologue()
