"""The part of a failed call's result that says what went wrong.

For turns that name no failures of their own. Where the error stands is told by the whole result
(`sidecar.core.error_position`).
"""

import json
import re
from typing import Final

from sidecar.core.masks import words
from sidecar.core.measured import plain_lines

LINE_MAX: Final = 1_000
"""Bytes read of one line: what an error says stands at its beginning."""

_WORDS: Final = (
    *b"errors? exception fatal fail(?:ed|ure|s)? panic(?:ked)? denied refused rejected".split(),
    *b"forbidden unauthorized cannot can't couldn't unable invalid illegal unexpected".split(),
    *b"undefined undeclared unknown unrecognized unsupported unresolved missing mismatch".split(),
    *b"timeout aborted segmentation killed conflict".split(),
    *(b"no such", b"could not", b"timed out", b"already exists"),
    rb"not (?:found|defined|allowed|permitted|supported|valid|available|enough|recognized)",
)
"""Words of an error, which may begin with a capital letter."""
_MORE_WORDS: Final = (
    *(b"ERR(?:ORS?)?", b"FATAL", b"FAIL(?:ED|URE)?", b"is required"),
    *(b"did not", b"does not", b"do not", b"is not", b"are not", b"was not", b"were not"),
)
_TOLD_IN_WORDS = re.compile(
    words(
        *(*_WORDS, *map(bytes.capitalize, _WORDS), *_MORE_WORDS),
        also=(rb"E(?<=[a-z].)(?:rror|xception)", b"n't"),
    )
    + rb"\b"
)
_TOLD_FROM_THE_BEGINNING = re.compile(
    rb"(?:[a-z_][0-9A-Za-z_]*\.)+[A-Z][0-9A-Za-z_]+(?::|$)|E  +\S"
)
"""A type with the module it is from, and what pytest puts before an error."""
_HEADING = re.compile(rb"^(?:Traceback \(most recent call last\)|[A-Z ]*ERRORS?):?\s*$")
"""Lines that only announce an error."""
_REFUSED_EDIT = re.compile(rb"^- [A-Z][0-9]{3} ")
"""A linter's finding, as editors list them when they refuse an edit."""
_FRAME = re.compile(
    rb"</?(?:returncode|output|stdout|stderr|tool_use_error|error)>(?:[0-9-]+</returncode>)?"
    rb"|(?:Error|Signal|Stdout|Stderr|Background PIDs): \((?:none|empty)\)"
    rb"|(?:Exit code|Exit Code|Wall time|Process Group PGID|Output): ?[0-9.-]*(?: seconds?)?"
    rb"|\[(?:The command completed with exit code|Current working directory:|Python interpreter:"
    rb"|Command finished with exit code)[^\]]*\]"
)
"""A line of what a tool puts around what was printed, whatever it was."""
_OUTPUTS: Final = ("output", "stdout", "stderr")
"""Fields in which a tool that answers in JSON hands over what was printed; Codex has the first."""


def error_text(result_text: str) -> str:
    """What went wrong in a failed call, in one or two lines; empty for an empty result.

    The first and the last line that look like an error (of a refused edit, of its findings); if
    none does, the first and the last line. Of a JSON object that hands over what was printed it is
    that which is read: as one line of JSON, every error would be a quoted text like any other.
    """
    printed = _printed(result_text)
    lines = [line[:LINE_MAX] for line in plain_lines(printed).split(b"\n") if line.strip()]
    if not lines:
        return ""
    first, last = _ends(_unframed(lines) or lines)
    chosen = first if first == last else first + b"\n" + last
    return chosen.decode("utf-8", "replace")


def _printed(text: str) -> str:
    if not text.lstrip().startswith("{") or not any(f'"{name}"' in text for name in _OUTPUTS):
        return text
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        return text
    parts = [answer.get(name) for name in _OUTPUTS]
    return "\n".join(part for part in parts if isinstance(part, str) and part.strip()) or text


def _unframed(lines: list[bytes]) -> list[bytes]:
    """The lines without those of a frame at both ends."""
    start, end = 0, len(lines)
    while start < end and _FRAME.fullmatch(lines[start].strip()):
        start += 1
    while start < end and _FRAME.fullmatch(lines[end - 1].strip()):
        end -= 1
    return lines[start:end]


def _ends(lines: list[bytes]) -> tuple[bytes, bytes]:
    """The first and the last line that tell of the error."""
    # A line that comes again is looked at once.
    from_the_first, from_the_last = dict.fromkeys(lines), dict.fromkeys(reversed(lines))
    for tells in (_REFUSED_EDIT.match, _tells):
        for first in from_the_first:
            if tells(first):
                return first, next(filter(tells, from_the_last))
    return lines[0], lines[-1]


def _tells(line: bytes) -> bool:
    told = _TOLD_IN_WORDS.search(line) or _TOLD_FROM_THE_BEGINNING.match(line)
    return told is not None and _HEADING.match(line) is None
