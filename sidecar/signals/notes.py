"""Calls by which an agent only tells itself something: thoughts, plans, notes.

They stand between its other calls as a text does, and say nothing of whether those go round.
"""

from sidecar.core.digests.tool_name import may_take_notes
from sidecar.core.turn import Outcome, ResultKind, ToolCall, Turn
from sidecar.core.value import replace


def without_notes(turn: Turn) -> Turn:
    """The turn without the new notes among its calls; one that comes again is a repeat like any
    other."""
    if not any(map(_is_note, turn.tool_calls)):
        return turn
    known = turn.repeated or (False,) * len(turn.tool_calls)
    told = [
        (call, again)
        for call, again in zip(turn.tool_calls, known, strict=True)
        if again or not _is_note(call)
    ]
    return replace(
        turn,
        tool_calls=tuple(call for call, _ in told),
        repeated=tuple(again for _, again in told),
    )


def _is_note(call: ToolCall) -> bool:
    empty = call.result_kind is ResultKind.EMPTY and call.outcome is Outcome.OK
    return empty and may_take_notes(call.name)
