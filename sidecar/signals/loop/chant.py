"""One phrase chanted within a text. What counts as chanting is found where the text still is, when
the turn is reduced to digests; here the count is held against its limits."""

from sidecar.core.turn import Turn
from sidecar.signals.loop.finding import Finding
from sidecar.signals.loop.thresholds import LoopThresholds


def chant(turn: Turn, limits: LoopThresholds) -> Finding:
    """The chanting within the turn's text."""
    return Finding(
        count=turn.text_repeats,
        warning=limits.chant_warning,
        break_=limits.chant_break,
        summary=f"one phrase stands {turn.text_repeats} times at equal distances in the text of "
        f"turn {turn.sequence}",
        since=turn.sequence,
    )
