"""The rule this project is founded on: equal calls among the last few, whatever came of them and
whoever spoke in between."""

from struct import Struct
from typing import Final

from sidecar.core.turn import ToolCall, Turn
from sidecar.signals.loop.finding import Finding, in_turns, named
from sidecar.signals.loop.thresholds import LoopThresholds

CALL: Final = Struct("<8sI")
"""Digest of the call, turn."""


def recorded(recent: bytes, turn: Turn, calls_max: int) -> bytes:
    """The last calls, packed, after those of one more turn."""
    for call in turn.tool_calls:
        recent += CALL.pack(call.call, turn.sequence & 0xFFFFFFFF)
    return recent[-calls_max * CALL.size :]


def founding(recent: bytes, turn: Turn, limits: LoopThresholds) -> Finding:
    """The call that stands most often among the last ones, after a turn with calls."""
    calls = [digest for digest, _ in CALL.iter_unpack(recent)]
    commonest = max(calls, key=calls.count)
    turns = tuple(sequence for digest, sequence in CALL.iter_unpack(recent) if digest == commonest)
    return Finding(
        count=len(turns),
        warning=None,
        break_=limits.founding_break,
        summary=f"{_name(turn.tool_calls, commonest)} was called {len(turns)} times with the same "
        f"arguments among the last {len(calls)} calls ({in_turns(turns)})",
        since=turns[0],
    )


def _name(calls: tuple[ToolCall, ...], digest: bytes) -> str:
    """The tool's name, where the call is one of this turn's; only digests are kept."""
    return next((named(call) for call in calls if call.call == digest), "a tool")
