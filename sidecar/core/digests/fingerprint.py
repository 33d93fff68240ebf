"""Error fingerprints: what an error says, without where, when and about whom it says it.

Two errors have one fingerprint when an engineer would call them the same error. In this order: the
text is bounded, MESSAGE_MASKS are applied, what stands in quotes is masked, PATH_MASKS and
ERROR_MASKS are applied, white space is folded. proto/digests.md is the specification.
"""

import re
from dataclasses import dataclass
from typing import Final, assert_never

from sidecar.core.digests.error_masks import ERROR_MASKS
from sidecar.core.digests.masks import Masking, not_in_word
from sidecar.core.digests.measured import BLANKS, ERROR_MAX, hex16, plain_lines
from sidecar.core.digests.message_masks import MESSAGE_MASKS, PATH_MASKS
from sidecar.core.digests.subjects import Subjects

TYPOGRAPHIC_QUOTES: Final = (("'", "\u2018\u2019"), ('"', "\u201c\u201d\u201e\u00ab\u00bb"))
"""Read as the plain ones."""
QUOTED: Final = (
    rb"\B`[^`'\n]*[`']\B",
    rb"\B`[^`\n]*`\B",
    rb"\B'[^'\n]*'\B",
    rb"\b[bu]'[^'\n]*'\B",
    rb"\B\"[^\"\n]*\"\B",
)
"""What stands in quotes, in the order in which it is masked; `like this' is how ld quotes."""
TELLING: Final = (
    rb"\b(?:[Ee]rror|[Ee]rrno|[Ff]ailed|[Rr]efused|[Dd]enied|[Uu]nable|[Cc]annot|[Ii]nvalid"
    rb"|[Tt]imed out|[Nn]ot known|[Nn]ot found)\b"
)
"""Words by which a quoted sentence, of three words or more, is the error and no name."""
SUBJECT: Final = (
    rb"(?i)no module named|(?:cannot|can't|could not) (?:find|resolve|import)|module not found"
    rb"|\bundefined(?:: | (?:reference|symbol|name|variable|local|method|function|identifier))"
    rb"|not defined|undeclared|unresolved|not declared|not found in|uninitialized constant"
    rb"|no such module|unknown (?:import|module|identifier|type|field)|no required module"
    rb"|does not name a type|no exported member|no member named|is undefined\b|no package called"
    rb"|required property|did not complete successfully|\bkeyerror: "
    rb"|\bmodule '[^'\n]{1,80}' has no attribute"
    rb"|the argument \"[^\"]{1,80}\" is required"
    rb"|\"(?:field|parameter|property|argument)\""
)
"""Words of a line that is about a missing import, an undefined name, the field that is wrong or the
step of a build that failed: that it is about another one is news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """One error, reduced; each digest has 16 hex digits."""

    masked: str
    """Digest of the masked message."""
    strict: str
    """Digest of the masked message and the line and column numbers that it named."""
    position: str
    """Digest of these numbers alone; empty: it named none."""


def error_fingerprint(message: str, *, subjects: Subjects) -> Fingerprint:
    """The fingerprint of an error's message. Never raises."""
    places: list[bytes] = []
    masked = masked_error(message, subjects=subjects, places=places)
    digest = hex16(masked)
    if not places:
        return Fingerprint(masked=digest, strict=digest, position="")
    numbers = b",".join(places)
    strict = hex16(masked + b"\n" + numbers)
    return Fingerprint(masked=digest, strict=strict, position=hex16(numbers))


def masked_error(message: str, *, subjects: Subjects, places: list[bytes]) -> bytes:
    """The masked message; the numbers of the places that it named are added to `places`."""
    text = plain_lines(message, ERROR_MAX)
    if not text.isascii():
        for typographic, plain in _PLAIN_QUOTES:
            text = text.replace(typographic, plain)
    text = _MESSAGE.masked(text, places).strip(BLANKS)
    if text[:1] in _WHOLLY_QUOTED and text.count(text[:1]) == 2 and text[-1:] == text[:1]:
        text = text[1:-1]
    match subjects:
        case Subjects.MASKED:
            text = _without_quoted(text)
        case Subjects.KEPT:
            text = _without_quoted_but_subjects(text)
        case _ as never:
            assert_never(never)
    text = _PATH.masked(text, places)
    text = _ERROR.masked(text, places)
    return b" ".join(text.split())


def _without_quoted_but_subjects(text: bytes) -> bytes:
    lowered = text.lower()
    if not any(hint in lowered for hint in _SUBJECT_HINTS):
        return _without_quoted(text)
    return b"\n".join(
        line if _SUBJECT.search(line.lower()) else _without_quoted(line)
        for line in text.split(b"\n")
    )


def _without_quoted(text: bytes) -> bytes:
    for mark, pattern in _QUOTED:
        if mark in text:
            text = pattern.sub(_quoted, text)
    return text


def _quoted(match: re.Match[bytes]) -> bytes:
    """`<q>`, or, for a quoted sentence that tells of an error, the sentence."""
    said = match[0]
    return said if said.count(b" ") >= 2 and _TELLING.search(said) else b"<q>"


def _quick(quoted: bytes) -> bytes:
    """The same pattern in the form that Python searches by the quote it begins with."""
    if not quoted.startswith(rb"\B"):
        return quoted
    mark, rest = quoted[2:].removeprefix(b"\\")[:1], quoted[2:].removeprefix(b"\\")[1:]
    return mark + rb"(?<![0-9A-Za-z_]" + mark + b")" + rest


_PLAIN_QUOTES: Final = tuple(
    (mark.encode(), plain.encode()) for plain, marks in TYPOGRAPHIC_QUOTES for mark in marks
)
_QUOTED = tuple(
    (mark, re.compile(_quick(pattern)))
    for mark, pattern in zip((b"`", b"`", b"'", b"'", b'"'), QUOTED, strict=True)
)
_WHOLLY_QUOTED: Final = frozenset({b"`", b"'", b'"'})
_TELLING = re.compile(TELLING)
_SUBJECT = re.compile(
    SUBJECT.removeprefix(b"(?i)")
    .replace(rb"\bu", not_in_word(rb"u", 1))
    .replace(rb"\bk", not_in_word(rb"k", 1))
    .replace(rb"\bm", not_in_word(rb"m", 1)),
)
"""The same of a text in lower case: looking for words in either case takes ten times as long."""
_SUBJECT_HINTS: Final = (
    b"efined",
    b"eclared",
    b" find",
    b"esolve",
    b"module named",
    b"module not",
    b"such module",
    b"required module",
    b"t import",
    b"found in",
    b"initialized",
    b"nknown ",
    b"name a type",
    b"member",
    b"no package",
    b"required property",
    b"complete successfully",
    b"keyerror: ",
    b"no attribute",
    b"the argument ",
    b'"field"',
    b'"parameter"',
    b'"property"',
    b'"argument"',
)
"""Every text that SUBJECT matches holds one of these, in lower case."""
_MESSAGE = Masking(MESSAGE_MASKS)
_PATH = Masking(PATH_MASKS)
_ERROR = Masking(ERROR_MASKS)
