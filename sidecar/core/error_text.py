"""The part of a failed call's result that says what went wrong.

For turns that name no failures of their own. Where the error stands is told by the whole result
(`sidecar.core.error_position`).
"""

import re
from typing import Final

from sidecar.core.measured import plain_lines

LINE_MAX: Final = 1_000
"""Bytes read of one line: what an error says stands at its beginning."""

_LOOKS_LIKE_AN_ERROR = re.compile(
    rb"(?:\b|[a-z])(?:Error|Exception)\b"
    rb"|\b(?:[Ee]rrors?|ERR(?:ORS?)?|[Ee]xception|[Ff]atal|FATAL|[Ff]ail(?:ed|ure|s)?"
    rb"|FAIL(?:ED|URE)?|[Pp]anic(?:ked)?|[Dd]enied|[Rr]efused|[Rr]ejected|[Ff]orbidden"
    rb"|[Uu]nauthorized|[Nn]ot found|[Nn]o such|[Cc]annot|[Cc]an't|[Cc]ould not|[Cc]ouldn't"
    rb"|[Uu]nable|[Ii]nvalid|[Ii]llegal|[Uu]nexpected|[Uu]ndefined|[Uu]ndeclared|[Uu]nknown"
    rb"|[Uu]nrecognized|[Uu]nsupported|[Uu]nresolved|[Mm]issing|[Mm]ismatch|[Tt]imed out"
    rb"|[Tt]imeout|[Aa]borted|[Ss]egmentation|[Kk]illed|[Cc]onflict"
    rb"|[Nn]ot (?:defined|allowed|permitted|supported|valid|available|enough|recognized)"
    rb"|(?:did|does|do|is|are|was|were) not|is required|[Aa]lready exists)\b|n't\b"
    rb"|^(?:[a-z_][0-9A-Za-z_]*\.)+[A-Z][0-9A-Za-z_]+(?::|$)|^E  +\S"
)
_HEADING = re.compile(rb"^(?:Traceback \(most recent call last\)|[A-Z ]*ERRORS?):?\s*$")
"""Lines that only announce an error."""
_REFUSED_EDIT = re.compile(rb"^- [A-Z][0-9]{3} ")
"""A linter's finding, as editors list them when they refuse an edit."""


def error_text(result_text: str) -> str:
    """What went wrong in a failed call, in one or two lines; empty for an empty result.

    The first and the last line that look like an error (of a refused edit, of its findings); if
    none does, the first and the last line.
    """
    lines = [line[:LINE_MAX] for line in plain_lines(result_text).split(b"\n") if line.strip()]
    if not lines:
        return ""
    first, last = _ends(lines)
    chosen = first if first == last else first + b"\n" + last
    return chosen.decode("utf-8", "replace")


def _ends(lines: list[bytes]) -> tuple[bytes, bytes]:
    """The first and the last line that tell of the error."""
    findings = [line for line in lines if _REFUSED_EDIT.match(line)]
    if findings:
        return findings[0], findings[-1]
    for first in lines:
        if _tells(first):
            return first, next(line for line in reversed(lines) if _tells(line))
    return lines[0], lines[-1]


def _tells(line: bytes) -> bool:
    return _LOOKS_LIKE_AN_ERROR.search(line) is not None and _HEADING.match(line) is None
