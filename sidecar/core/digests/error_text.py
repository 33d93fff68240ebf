"""The part of a failed call's result that says what went wrong.

For turns that name no failures of their own. Where the error stands is told by the whole result
(`sidecar.core.digests.error_position`).
"""

import re
from typing import Final

from sidecar.core.digests.framing import framed
from sidecar.core.digests.masks import words
from sidecar.core.digests.measured import plain_lines

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
_HEADING = re.compile(
    rb"(?:\[ERROR\] )?(?:Traceback \(most recent call last\)|[A-Z ]*ERRORS?) ?:?\s*$"
    rb"|CMake Error at [^\n]*:$|npm (?:error|ERR!)(?: code [A-Z]+| E[A-Z]+ [a-z ]+)?$"
    rb"|npm (?:error|ERR!) (?:.*_logs.*|Fix the upstream dependency conflict, or retry"
    rb"|this command with --force.*|to accept an incorrect .*|For a full report see:)$"
    rb"|npm (?:error|ERR!) A complete log of this run|\[ERROR\] (?:\[Help [0-9]+\]|Re-run Maven"
    rb"|To see the full stack trace|For more information about the errors|-> \[Help|$)"
    rb"|-- Configuring incomplete|collect2: error: ld returned|ninja: build stopped"
    rb"|[^\s]*make(?:\[[0-9]+\])?: \*\*\* \[.*\] Error [0-9]+$"
    rb"|clang(?:\+\+)?: error: linker command failed"
)
"""Lines that only announce an error, or come after each."""
_REFUSED_EDIT = re.compile(rb"^- [A-Z][0-9]{3} ")
"""A linter's finding, as editors list them when they refuse an edit."""


def error_text(result_text: str) -> str:
    """What went wrong in a failed call, in one or two lines; empty for an empty result.

    The first and the last line that look like an error (of a refused edit, of its findings); if
    none does, the first and the last line. A tool's frame is read only where nothing was printed.
    """
    printed = framed(result_text).printed or result_text
    lines = [line[:LINE_MAX] for line in plain_lines(printed).split(b"\n") if line.strip()]
    if not lines:
        return ""
    first, last = _ends(lines)
    chosen = first if first == last else first + b"\n" + last
    return chosen.decode("utf-8", "replace")


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
