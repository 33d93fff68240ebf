"""What a rule has found, before it is held against its limits."""

from collections.abc import Sequence
from typing import Final

from sidecar.core.bounds import below, reached
from sidecar.core.reading import QUIET, Reading, Severity
from sidecar.core.turn import ToolCall
from sidecar.core.value import value

NAME_LENGTH_MAX: Final = 64
"""Characters of a tool's name in a sentence; a longer one says no more to a reader."""
ONCE_MORE: Final = 2
"""Once is no repeat."""
TURNS_LISTED_MAX: Final = 8
"""Turns that a sentence lists before it gives a range."""


@value
class Finding:
    """A count, its limits and the evidence."""

    count: int
    warning: int | None
    break_: int | None
    summary: str
    key: bytes = b""
    """What came again, for the strikes; empty: nothing that could be told apart."""
    since: int = 0
    """Turn of the first of what was counted."""

    def reading(self, *, sooner: int = 0) -> Reading:
        """The finding held against its limits, the break `sooner` by so many because it was found
        before."""
        break_ = None if self.break_ is None else max(self.break_ - sooner, ONCE_MORE)
        found = reached(self.count, warning=self.warning, break_=break_)
        if found is None:
            return below(self.count, self.warning, break_) if self.count >= ONCE_MORE else QUIET
        severity, threshold = found
        again = "; this loop was found before in this run"
        return Reading(
            severity=severity,
            value=self.count,
            threshold=threshold,
            summary=self.summary + (again if sooner and severity is Severity.BREAK else ""),
        )


def near(count: int, warning: int | None, break_: int | None) -> Finding:
    """What comes to no limit, and so needs no evidence yet."""
    return Finding(count=count, warning=warning, break_=break_, summary="")


def named(call: ToolCall) -> str:
    """The tool's name as it may stand in a sentence."""
    name = "".join(c for c in call.name[:NAME_LENGTH_MAX] if c.isprintable() and c != "`")
    return f"`{name}`" if name else "a tool"


def in_turns(turns: Sequence[int]) -> str:
    """The turns in words: "turn 4", "turns 4, 5, 7", "turns 4 to 20"."""
    distinct = sorted(set(turns))
    if len(distinct) == 1:
        return f"turn {distinct[0]}"
    if len(distinct) > TURNS_LISTED_MAX:
        return f"turns {distinct[0]} to {distinct[-1]}"
    return "turns " + ", ".join(map(str, distinct))


def from_to(first: int, last: int) -> str:
    """A stretch of turns in words."""
    return f"turn {last}" if first == last else f"turns {first} to {last}"
