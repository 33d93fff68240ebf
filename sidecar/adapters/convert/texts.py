"""The texts of a turn, cut, for whoever was allowed to keep them."""

from typing import Final

from sidecar.core.answers.condensing import clipped
from sidecar.core.texts import CallTexts, TurnTexts
from sidecar.v1 import run_pb2 as pb

TEXT_BYTES_MAX: Final = 4_000
"""Kept of one text, its beginning and end: twice what a forced commit sends of a result."""

CALLS_MAX: Final = 32
"""Kept of one turn."""


def texts_in(wire: pb.Turn) -> TurnTexts:
    """What was said in a turn; digests say nothing."""
    return TurnTexts(
        sequence=wire.sequence,
        said=clipped(wire.text, TEXT_BYTES_MAX),
        calls=tuple(
            CallTexts(
                name=call.name[:TEXT_BYTES_MAX],
                arguments=clipped(call.arguments_json, TEXT_BYTES_MAX),
                result=clipped(call.result_text, TEXT_BYTES_MAX),
            )
            for call in wire.tool_calls[:CALLS_MAX]
        ),
    )
