"""What a result may change in without being news: clocks, durations, ids, addresses, temp names.

Counts, percentages and line numbers stay: they are news.
"""

from typing import Final

from sidecar.core.digests.masks import Mask, Masking, Sketch, not_in_word
from sidecar.core.digests.measured import BLANKS, hex16, plain_lines

MONTH: Final = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
FRACTION: Final = rb"(?:[.,][0-9]{1,9})?"
ZONE: Final = rb"(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}))?"
SECONDS: Final = rb"(?:ms|us|\xc2\xb5s|\xce\xbcs|ns|s|secs?|seconds?|mins?|minutes?)"
DIGIT: Final = not_in_word(rb"[0-9]", 1)
MIXED: Final = rb"(?:(?<=[0-9])(?![0-9]*\b)|(?<=[A-Fa-f])(?![A-Fa-f]*\b))"
"""After the first hexadecimal digit of a word: the word has letters and digits."""

_MONTH_CLOCK = rb" +[0-9]{1,2} +[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?\b"
_AFTER_YEAR = (
    rb"[-/][0-9]{2}[-/][0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}" + FRACTION + rb")?" + ZONE
)
AFTER_HOUR = rb":[0-9]{2}(?::[0-9]{2}" + FRACTION + rb"(?: ?[AaPp][Mm])?| ?[AaPp][Mm])"

RESULT_MASKS: Final = (
    Mask(
        name="month clock",
        pattern=rb"\b" + MONTH + _MONTH_CLOCK,
        put=b"<t>",
        within=(Sketch.DIGITS, b"0:00"),
        quick=not_in_word(MONTH, 3) + _MONTH_CLOCK,
    ),
    Mask(
        name="clock",
        pattern=rb"\b(?:[0-9]{4}" + _AFTER_YEAR + rb"|[0-9]{1,2}" + AFTER_HOUR + rb")\b",
        put=b"<t>",
        within=(Sketch.DIGITS, b"0:00"),
        quick=DIGIT + rb"(?:[0-9]{3}" + _AFTER_YEAR + rb"|[0-9]?" + AFTER_HOUR + rb")\b",
    ),
    Mask(
        name="epoch",
        pattern=rb'((?:time|stamp|date|epoch|_at|ts)"? ?: ?"?)'
        rb"1[5-9][0-9]{8}(?:[0-9]{3})?(?:\.[0-9]+)?\b",
        put=rb"\1<t>",
        within=(Sketch.DIGITS, b"0000000000"),
        sketch=Sketch.DIGITS,
        hints=(b":0000000000", b":.0000000000"),
    ),
    Mask(
        name="duration",
        pattern=rb"\b(?:[0-9]+[dhm] ?){0,3}[0-9]+(?:\.[0-9]+)? ?" + SECONDS + rb"\b",
        put=b"<d>",
        within=(Sketch.DIGITS, b"0s"),
        quick=DIGIT + rb"[0-9]*+(?:[dhm] ?[0-9]++){0,3}+(?:\.[0-9]++)?+ ?+" + SECONDS + rb"\b",
    ),
    Mask(
        name="uuid",
        pattern=rb"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b",
        put=b"<x>",
        within=(Sketch.HEX, b"hhhhhhhhhhhh"),
        sketch=Sketch.HEX,
        hints=(b"-hhhhhhhhhhhh",),
    ),
    # Of a result that was cut, it may be all that tells of what was left out.
    Mask(
        name="digest of an output",
        pattern=rb"([Oo]utput (?:sha256|digest|checksum): [0-9a-f]{8})[0-9a-f]{4,}",
        put=rb"\1",
        within=(Sketch.HEX, b"hhhhhhhhhhhh"),
    ),
    Mask(
        name="hex id",
        pattern=rb"(\b|_)[0-9A-Fa-f]{12,}\b",
        put=rb"\1<x>",
        spared=rb"_?[0-9]+|_?[A-Fa-f]+",
        within=(Sketch.HEX, b"hhhhhhhhhhhh"),
        quick=rb"[0-9A-Fa-f](?<![0-9A-Za-z].)" + MIXED + rb"[0-9A-Fa-f]{11,}+\b()",
    ),
    Mask(
        name="address",
        pattern=rb"\b0x[0-9A-Fa-f]{6,}\b",
        put=b"<x>",
        within=(Sketch.TEXT, b"0x"),
        quick=not_in_word(rb"0x", 2) + rb"[0-9A-Fa-f]{6,}+\b",
    ),
    Mask(
        name="identity hash",
        pattern=rb"@[0-9a-f]{6,16}\b",
        put=b"@<x>",
        within=(Sketch.TEXT, b"@"),
    ),
    Mask(
        name="output kept elsewhere",
        pattern=rb"([Ff]ull output(?: [^\n/\\~]{0,32}(?:saved|written|stored|available)"
        rb"[^\n/\\~]{0,12}|: ?)|utput artifact: )(?:[~.]{0,2}/|[A-Z]:\\)[^\s\"'<>\])]+",
        put=rb"\1<f>",
        hints=(b"ull output", b"utput artifact: "),
    ),
    Mask(
        name="temp name",
        pattern=rb"(/tmp/|/T/)(?:pytest-of-[0-9A-Za-z_]+/pytest-[0-9]+|[0-9A-Za-z_.+-]+)",
        put=rb"\1<f>",
        within=(Sketch.TEXT, b"/"),
        quick=rb"(/(?:tmp|T)/)(?:pytest-of-[0-9A-Za-z_]+/pytest-[0-9]+|[0-9A-Za-z_.+-]+)",
    ),
    Mask(
        name="process id",
        pattern=rb"\b((?:pid|PIDs?|PGID)[ =:#]{1,3})[0-9]+\b",
        put=rb"\1<p>",
        hints=(b"pid", b"PID", b"PGID"),
    ),
    Mask(
        name="process of a log line",
        pattern=rb"\b([EFIW][0-9]{4} <t> +)[0-9]+\b",
        put=rb"\1<p>",
        within=(Sketch.TEXT, b" <t> "),
    ),
    Mask(
        name="named duration",
        pattern=rb"((?:\b|_)(?:duration|took|uptime|retry[-_ ]?after|retry_in|seed"
        rb'|ratelimit-remaining)[a-z_]{0,16}"?(?: ?[:=] ?| ))[0-9]+(?:\.[0-9]+)?\b',
        put=rb"\1<d>",
        within=(Sketch.DIGITS, b"0"),
        hints=(b"duration", b"took", b"uptime", b"retry", b"seed", b"ratelimit"),
    ),
    Mask(
        name="load",
        pattern=rb"(load averages?: ?)[0-9.]+,? [0-9.]+,? [0-9.]+",
        put=rb"\1<n>",
        hints=(b"load average",),
    ),
    Mask(
        name="budget that is left",
        pattern=rb"\b(?:Token usage: [0-9]+/[0-9]+; [0-9]+ remaining"
        rb"|[Yy]ou have [0-9]+ (?:turn|step|iteration)s? (?:left|remaining)"
        rb"|(?:[Ss]tep|[Tt]urn|[Ii]teration)s (?:left|remaining): [0-9]+)",
        put=b"<n> left",
        hints=(b"oken usage: ", b" left", b" remaining"),
    ),
    Mask(
        name="request id",
        pattern=rb'(\b[Rr]equest[-_ ]?[Ii][Dd]"?(?: ?[:=] ?| )"?)[A-Za-z_-]*[0-9][0-9A-Za-z_-]{5,}',
        put=rb"\1<x>",
        within=(Sketch.TEXT, b"q"),
        hints=(b"equest",),
    ),
    Mask(
        name="id of a call",
        pattern=rb"\b((?:toolu|call)_)[A-Za-z]{0,24}[0-9][0-9A-Za-z]{12,}",
        put=rb"\1<x>",
        hints=(b"toolu_", b"call_"),
    ),
    Mask(
        name="reference of a page",
        pattern=rb"\b(ref=)[a-z]{0,2}[0-9]+\b",
        put=rb"\1<n>",
        within=(Sketch.TEXT, b"="),
        hints=(b"ref=",),
    ),
    Mask(
        name="bracketed duration",
        pattern=rb"[ ]\(<d>\)",
        put=b"",
        within=(Sketch.TEXT, b"(<d>)"),
    ),
)
TIMES: Final = (b"<t>", b"<d>")
BARE_TIME_MAX: Final = 12
"""Bytes up to which a result that is a time and nothing else is what was asked for: a delay that
shrinks, what a call took. One with a date is the present time, which tells nothing."""


def result_digest(text: str) -> str:
    """16 hex digits over a tool's result as it is compared: bounded, masked, trimmed."""
    return hex16(masked_result(text))


def masked_result(text: str) -> bytes:
    """The result with RESULT_MASKS applied, without blanks at its ends."""
    plain = plain_lines(text)
    masked = _MASKING.masked(plain, []).strip(BLANKS)
    if masked in TIMES and len(plain := plain.strip(BLANKS)) <= BARE_TIME_MAX:
        return plain
    return masked


_MASKING = Masking(RESULT_MASKS)
