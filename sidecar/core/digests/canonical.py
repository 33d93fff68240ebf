"""Canonical arguments: one text for all ways of writing the same tool arguments.

Sorted keys, no blanks, Unicode NFC, numbers by their value (whole ones exactly), without what only
says why the call is made. What is not JSON is measured by its text. The specification, with test
vectors, is proto/digests.md.
"""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from itertools import accumulate
from json.encoder import encode_basestring
from typing import Any, Final, NoReturn, TypeAlias

from sidecar.core.digests.measured import TEXT_MAX, utf8

DEPTH_MAX: Final = 100
"""Levels of lists and objects: far above what tools take, far below any stack's end."""
PLAIN_DIGITS_MAX: Final = 20
"""Digits up to which a whole number is written out: enough for every 64-bit integer."""
EXPONENT_DIGITS_MAX: Final = 18
"""Digits of an exponent as written; a text with a longer one is measured as text."""
DOUBLE_DIGITS: Final = 15
"""Significant digits that every double keeps (DBL_DIG of IEEE 754 binary64). A fraction of more was
printed from a double: 0.1 and 0.10000000000000001 are one number, printed twice."""
MARKS_MAX: Final = 30
"""Combining marks in a row that are still normalized, as UAX #15 bounds its stream-safe text:
putting n of them in order takes n squared steps."""

_WHYS: Final = frozenset("explanation toolAction toolSummary security_risk".split())
"""Members in which a model says why it makes the call, in ever other words: of Cursor's and
Augment's tools, Antigravity's and OpenHands'. What Claude Code's `Bash` has as its `description` is
not among them: of one command under ever other descriptions an error is told by more calls than
one, and without them `spin` found 5 of 119 runs less that were stuck."""
_EXPLAINED: Final = frozenset(
    "command query search_term target_file relative_workspace_path plan".split()
)
"""Members beside one of which an `explanation` says why. Elsewhere it may be what a call is for: a
finding, a grade."""
_EMPTY: Final = "{}"
_QUICK_INT_LENGTH_MAX: Final = 18
"""Length up to which the literal of a whole number needs no second look."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
"""One that does not end reaches to the text's end, so that it is not tried again from each of the
quotes within: that took n squared steps, 7 s for 32 kB."""
_BRACKETS = bytes.maketrans(b"[{]}", b"(())")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))


class _Number(str):
    """A number as it is spelled."""

    __slots__ = ()


_Json: TypeAlias = "dict[str, _Json] | list[_Json] | str | bool | None"


class _NotQuickError(Exception):
    """A number that needs a spelling of its own."""


def canonical_arguments(arguments_json: str) -> str:
    """The canonical text of a tool's arguments.

    The arguments `null`, `{}`, `""` and an empty text are the same. A text that is not JSON (RFC
    8259), or is nested deeper than DEPTH_MAX, stands for itself, in NFC; one longer than TEXT_MAX
    as it is, since the normal form of 4 MiB can take 0.2 s. Never raises.
    """
    text = arguments_json.strip(" \t\n\r")
    if not text:
        return _EMPTY
    if len(text) > TEXT_MAX:
        return arguments_json
    try:
        canonical = _canonical(text)
    except (ValueError, RecursionError):
        return _nfc(arguments_json)
    return _EMPTY if canonical in {"null", '""'} else canonical


def _canonical(text: str) -> str:
    if text.count("[") + text.count("{") > DEPTH_MAX and _depth(text) > DEPTH_MAX:
        raise ValueError("nested too deeply")
    try:
        canonical: str = _WRITER.encode(_without_whys(_whole(_QUICK, text)))
    except _NotQuickError:
        return _spelled(_without_whys(_whole(_exact(), text)))
    if canonical.isascii() or unicodedata.is_normalized("NFC", canonical):
        return canonical
    return _spelled(_without_whys(_whole(_exact(), text)))


def _without_whys(value: _Json) -> _Json:
    """The arguments without the members that say why, unless there are no others."""
    if not isinstance(value, dict) or _WHYS.isdisjoint(value):
        return value
    whys = _WHYS - {"explanation"} if _EXPLAINED.isdisjoint(value) else _WHYS
    return {name: told for name, told in value.items() if name not in whys} or value


def _whole(decoder: json.JSONDecoder, text: str) -> _Json:
    """What the text says. Raises ValueError if it is not JSON."""
    value: _Json
    value, end = decoder.raw_decode(text)
    if end != len(text):
        raise ValueError("more than one value")
    return value


def _depth(text: str) -> int:
    brackets = utf8(_STRING.sub("", text)).translate(_BRACKETS, _NO_BRACKETS)
    return max(accumulate(map(_LEVELS.__getitem__, brackets)), default=0)


def _exact() -> json.JSONDecoder:
    """A decoder that keeps numbers as they are spelled, and spells no number twice."""
    spelled: dict[str, _Number] = {}

    def number(literal: str) -> _Number:
        if literal not in spelled:
            spelled[literal] = _number(literal)
        return spelled[literal]

    return json.JSONDecoder(
        parse_int=number, parse_float=number, parse_constant=_not_json, object_pairs_hook=_object
    )


def _spelled(value: _Json) -> str:
    return _SPELLINGS[type(value)](value)


def _spelled_text(value: str) -> str:
    return encode_basestring(_nfc(value))


def _spelled_object(value: dict[str, _Json]) -> str:
    members = [
        f"{encode_basestring(key)}:{_SPELLINGS[type(value[key])](value[key])}"
        for key in sorted(value)
    ]
    return f"{{{','.join(members)}}}"


def _spelled_list(value: list[_Json]) -> str:
    return f"[{','.join([_SPELLINGS[type(item)](item) for item in value])}]"


def _number(literal: str) -> _Number:
    """The value: a whole number of few digits written out, else digits `e` exponent."""
    sign, digits, exponent = _decimal(literal)
    if exponent < 0 and len(digits) > DOUBLE_DIGITS and 0 < abs(float(literal)) < math.inf:
        sign, digits, exponent = _decimal(repr(float(literal)))
    if exponent >= 0 and len(digits) + exponent <= PLAIN_DIGITS_MAX:
        return _Number(f"{sign}{digits}{'0' * exponent}")
    return _Number(f"{sign}{digits}e{exponent}")


def _decimal(literal: str) -> tuple[str, str, int]:
    """Sign, digits without zeros at their ends, and exponent; zero is the digit 0 alone."""
    sign, magnitude = ("-", literal[1:]) if literal[0] == "-" else ("", literal)
    mantissa, _, exponent = magnitude.replace("E", "e").partition("e")
    whole, _, fraction = mantissa.partition(".")
    if len(exponent) > EXPONENT_DIGITS_MAX:
        raise ValueError("exponent too long")
    digits = (whole + fraction).lstrip("0")
    significant = digits.rstrip("0")
    if not significant:
        return "", "0", 0
    shift = len(digits) - len(significant) - len(fraction)
    return sign, significant, int(exponent or "0") + shift


def _quick_int(literal: str) -> int:
    if len(literal) > _QUICK_INT_LENGTH_MAX:
        raise _NotQuickError
    return int(literal)


def _not_quick(_literal: str) -> NoReturn:
    raise _NotQuickError


def _not_json(constant: str) -> NoReturn:
    raise ValueError(constant)


def _object(pairs: list[tuple[str, _Json]]) -> dict[str, _Json]:
    return {_nfc(key): value for key, value in pairs}


def _nfc(text: str) -> str:
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text
    # A run of too many marks holds one of these characters.
    if any(map(unicodedata.combining, text[MARKS_MAX :: MARKS_MAX + 1])):
        marks = bytes(map(bool, map(unicodedata.combining, text)))
        if b"\x01" * (MARKS_MAX + 1) in marks:
            return text
    return unicodedata.normalize("NFC", text)


_LEVELS: Final = {ord("("): 1, ord(")"): -1}
_SPELLINGS: Final[Mapping[type, Callable[[Any], str]]] = {
    str: _spelled_text,
    _Number: str,
    dict: _spelled_object,
    list: _spelled_list,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): lambda _: "null",
}
_QUICK = json.JSONDecoder(parse_int=_quick_int, parse_float=_not_quick, parse_constant=_not_json)
_WRITER = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False
)
