"""Turn after turn fails, whatever is tried.

An agent that guesses (another path, another flag, another wording of the edit) never does the same
twice and never gets the same error, so no rule about repeats sees it. What shows is that nothing
works: of its latest turns nearly all only failed, or every edit was refused since one last worked.
Both are only warned of, for the next guess may be the right one, and there is work that consists of
failures: to audit, to probe, to check what must be refused.
"""

from struct import Struct
from typing import Final

from sidecar.core.turn import ResultKind, Turn
from sidecar.core.value import value
from sidecar.signals.loop.finding import Finding, in_turns
from sidecar.signals.loop.thresholds import LoopThresholds
from sidecar.signals.loop.window import (
    DENIED,
    EDIT,
    FAILED,
    LOOK_BACK,
    RECORD,
    WAITING,
    Window,
)

NO_LINE: Final = bytes(4)
OUTCOME: Final = Struct("<I?")
"""Turn, whether every call of it failed."""


@value
class Outcomes:
    """How the latest turns with calls went. A wait counts for nothing, since it has a patience of
    its own; a search that found nothing is no failure, whatever its exit code."""

    packed: bytes = b""

    def __post_init__(self) -> None:
        """Refuse what was not packed here."""
        if len(self.packed) % OUTCOME.size:
            raise ValueError("the outcomes are cut")

    def after(self, turn: Turn, window: Window, limits: LoopThresholds) -> "Outcomes":
        """With that of a turn whose calls are the last of the window."""
        calls = turn.tool_calls[-LOOK_BACK:]
        failed = [
            traits & (FAILED | DENIED) and call.result_kind is not ResultKind.EMPTY
            for call, traits in zip(calls, window.traits_of_last(len(calls)), strict=False)
            if not traits & WAITING
        ]
        if not failed or limits.failed_turns_warning is None:
            return self
        packed = self.packed + OUTCOME.pack(turn.sequence & 0xFFFFFFFF, all(failed))
        return Outcomes(packed=packed[-limits.failed_turns_window * OUTCOME.size :])

    def finding(self, turn: Turn, limits: LoopThresholds) -> Finding | None:
        """The turns in which every call failed, where this is one of them."""
        latest = list(OUTCOME.iter_unpack(self.packed))
        turns = [sequence for sequence, only_failed in latest if only_failed]
        if turn.sequence not in turns[-1:]:
            return None
        return Finding(
            count=len(turns),
            warning=limits.failed_turns_warning,
            break_=None,
            summary=f"every call failed in {len(turns)} of the last {len(latest)} turns with "
            f"calls ({in_turns(turns)})",
            since=turns[0],
        )


NO_OUTCOMES: Final = Outcomes()


def failed_edits(window: Window, turn: Turn, limits: LoopThresholds) -> Finding | None:
    """The latest turns in which an edit failed, since a write last worked. An error that names a
    line is one of what was written, and tells how far it came."""
    if limits.failed_edits_warning is None:
        return None
    since = min(window.write_age - 1, LOOK_BACK)
    records = window.records[-since * RECORD.size :] if since > 0 else b""
    turns = list(
        dict.fromkeys(
            sequence
            for sequence, _, _, traits, manner, line in RECORD.iter_unpack(records)
            if manner & EDIT
            and line == NO_LINE
            and traits & (FAILED | DENIED)
            and sequence > turn.sequence - limits.failed_edits_window
        )
    )
    if turn.sequence not in turns:
        return None
    last = min(limits.failed_edits_window, turn.sequence)
    return Finding(
        count=len(turns),
        warning=limits.failed_edits_warning,
        break_=None,
        summary=f"what was to change something failed in {len(turns)} of the last {last} turns "
        f"({in_turns(turns)}), and worked in none between them",
        since=turns[0],
    )
