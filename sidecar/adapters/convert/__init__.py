"""Wire messages to core values and back: where a value of the one becomes one of the other."""

from sidecar.adapters.convert.decisions import (
    decision_out,
    rejection_in,
    write_decision,
)
from sidecar.adapters.convert.entries import EntryBytes, line_out
from sidecar.adapters.convert.inherited import SuccessorReader
from sidecar.adapters.convert.numbers import Doubts
from sidecar.adapters.convert.openings import (
    closing_in,
    command_in,
    limits_in,
    opening_in,
    opening_out,
)
from sidecar.adapters.convert.records import (
    history_out,
    opened_out,
    session_out,
    story_out,
    totals_out,
    turn_record,
)
from sidecar.adapters.convert.turns_in import (
    Steps,
    TurnBounds,
    TurnReader,
    content_of,
    identifier,
    texts_cut,
)
from sidecar.adapters.convert.turns_out import duration

__all__ = [
    "Doubts",
    "EntryBytes",
    "Steps",
    "SuccessorReader",
    "TurnBounds",
    "TurnReader",
    "closing_in",
    "command_in",
    "content_of",
    "decision_out",
    "duration",
    "history_out",
    "identifier",
    "limits_in",
    "line_out",
    "opened_out",
    "opening_in",
    "opening_out",
    "rejection_in",
    "session_out",
    "story_out",
    "texts_cut",
    "totals_out",
    "turn_record",
    "write_decision",
]
