"""What every digest does first: bound the text, make it UTF-8, and hash.

All masks of the core work on UTF-8 bytes with ASCII classes, as RE2 does, so that a client in any
language computes the same (proto/digests.md).
"""

import hashlib
import re
from typing import Final

TEXT_MAX: Final = 65_536
"""Characters read of one text: 64 Ki, so that no input costs more than a few milliseconds."""
ERROR_MAX: Final = 8_192
"""Characters read of an error, whose masks are five times as many as a result's. Of the 857
failures that the recorded runs and scenarios name none is as long."""

BLANKS: Final = b"\t\n\x0b\x0c\r "
"""ASCII white space."""
ANSI: Final = rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_]|[ -/]+[0-~])"
"""Escape sequences of a terminal (ECMA-48): CSI, OSC with its end, and the short ones."""
_ANSI = re.compile(ANSI)
_SHA256 = hashlib.sha256()
"""To copy, which is quicker than to look the hash up by its name."""


def hex16(content: bytes) -> str:
    """The first 16 hex digits of SHA-256: the length that founded the wire format."""
    state = _SHA256.copy()
    state.update(content)
    return state.hexdigest()[:16]


def utf8(text: str) -> bytes:
    """The text as UTF-8; a lone surrogate becomes its three bytes instead of an error."""
    return text.encode("utf-8", "surrogatepass")


def bounded(text: str, most: int = TEXT_MAX) -> str:
    """The text, or of one longer than `most` characters the first and the last half of that, a
    newline between them: logs grow and errors stand at the end."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n{text[len(text) - half :]}"


def plain_lines(text: str, most: int = TEXT_MAX) -> bytes:
    """The bounded text as UTF-8, carriage returns as newlines, terminal escapes taken out."""
    lines = utf8(bounded(text, most))
    if b"\r" in lines:
        lines = lines.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"\x1b" in lines:
        lines = _ANSI.sub(b"", lines)
    return lines
