"""Texts and turns cut to what the sidecar takes, so that no turn ever ends a stream."""

import hashlib
from typing import Final

from sidecar.v1 import run_pb2 as pb

# The sidecar reads 64 KiB of a text.
TEXT_BYTES_MAX: Final = 64 * 1024
# When a whole turn is too large its texts are cut harder, step by step.
_STEPS: Final = (16 * 1024, 4 * 1024, 1024, 256)
_DIGEST_HEX: Final = 16


def cut(text: str, bytes_max: int = TEXT_BYTES_MAX) -> str:
    """The text, or its beginning and its end: errors tend to stand at one of the two.

    The text must be encodable.
    """
    if len(text) <= bytes_max and len(text.encode()) <= bytes_max:
        return text
    mark = f"\n[... of {len(text)} characters the middle is left out ...]\n"
    room = bytes_max - len(mark)
    if room < len(mark):
        return text[:bytes_max].encode()[:bytes_max].decode("utf-8", "ignore")
    head, tail = room - room // 4, room // 4
    return (
        text[:head].encode()[:head].decode("utf-8", "ignore")
        + mark
        + text[-tail:].encode()[-tail:].decode("utf-8", "ignore")
    )


def digest(text: str) -> str:
    """16 hex digits that stand in for arguments too long to send: cut JSON would not be JSON."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_HEX]


def shrink(turn: pb.Turn, bytes_max: int) -> None:
    """Cuts the turn down to so many bytes on the wire; its measurements stay to the last."""
    for step in _STEPS:
        if turn.ByteSize() <= bytes_max:
            return
        _cut_texts(turn, step)
    while turn.ByteSize() > bytes_max and (turn.tool_calls or turn.failures):
        del turn.tool_calls[len(turn.tool_calls) // 2 :]
        del turn.failures[len(turn.failures) // 2 :]
    if turn.ByteSize() > bytes_max:
        turn.ClearField("said")


def _cut_texts(turn: pb.Turn, bytes_max: int) -> None:
    if turn.HasField("text"):
        turn.text = cut(turn.text, bytes_max)
    turn.final_answer = cut(turn.final_answer, bytes_max)
    for call in turn.tool_calls:
        if len(call.arguments_json) > bytes_max:
            call.arguments_digest = digest(call.arguments_json)
        if call.HasField("result_text"):
            call.result_text = cut(call.result_text, bytes_max)
    for failure in turn.failures:
        failure.message = cut(failure.message, bytes_max)
