"""Texts and turns cut to what the sidecar takes, so that no turn ever ends a stream."""

import hashlib
from collections.abc import Sequence
from typing import Final

from sidecar.v1 import run_pb2 as pb

# The sidecar reads 64 KiB of a text.
TEXT_BYTES_MAX: Final = 64 * 1024
# When a whole turn is too large its texts are cut harder, step by step.
_STEPS: Final = (16 * 1024, 4 * 1024, 1024, 256)
_DIGEST_HEX: Final = 16
# A MiB takes 1 ms; a file of a GiB that is written must not cost the agent a second.
_DIGESTED_MAX: Final = 1024 * 1024


def cut(text: str, bytes_max: int = TEXT_BYTES_MAX) -> str:
    """The text, or its beginning and its end: errors tend to stand at one of the two."""
    return cut_lines([text], bytes_max)


def cut_lines(texts: Sequence[str], bytes_max: int = TEXT_BYTES_MAX) -> str:
    """As `cut`, of texts that are joined by line ends: no more of them than is returned. What
    cannot be encoded is a question mark."""
    length = sum(map(len, texts)) + max(0, len(texts) - 1)
    if length <= bytes_max and len(text := _encoded("\n".join(texts))) <= bytes_max:
        return text.decode()
    mark = f"\n[... of {length} characters the middle is left out ...]\n"
    room = bytes_max - len(mark)
    if room < len(mark):
        return _head(texts, bytes_max)
    return _head(texts, room - room // 4) + mark + _tail(texts, room // 4)


def _head(texts: Sequence[str], bytes_max: int) -> str:
    joined = "\n".join(text[:bytes_max] for text in texts)[:bytes_max]
    return _encoded(joined)[:bytes_max].decode("utf-8", "ignore")


def _tail(texts: Sequence[str], bytes_max: int) -> str:
    joined = "\n".join(text[-bytes_max:] for text in texts)[-bytes_max:]
    return _encoded(joined)[-bytes_max:].decode("utf-8", "ignore")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def is_within(text: str, bytes_max: int) -> bool:
    """Whether it has no more bytes than that, without a look at more of them."""
    return len(text) <= bytes_max and (text.isascii() or len(_encoded(text)) <= bytes_max)


def digest(text: str) -> str:
    """16 hex digits that stand in for arguments too long to send: cut JSON would not be JSON.

    A text of more than _DIGESTED_MAX characters is known by its length and its two ends.
    """
    if len(text) > _DIGESTED_MAX:
        text = f"{len(text)}\n{text[:TEXT_BYTES_MAX]}\n{text[-TEXT_BYTES_MAX:]}"
    return hashlib.sha256(_encoded(text)).hexdigest()[:_DIGEST_HEX]


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
