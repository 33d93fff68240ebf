"""Masks: what is put in place of the parts of a text that change without being news.

A list of masks is a specification, in RE2 syntax (docs/digests.md prints both lists): each mask
replaces all its matches in what the masks before it left. To run a list over 2 kB costs 200 us, so
a slow mask names hints, one of which stands wherever the mask matches, in a sketch of the text:
the text with each byte replaced by its class. Without a hint the mask is not run.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Final, TypeAlias

SIGNS: Final = b" :=#([-"
"""What may stand between a word and the number that it is about."""
CONTEXT_MAX: Final = 32
"""Bytes before a match that `not_after` is given: more than its words and signs are long."""


class Sketch(Enum):
    """A view of the text in which hints are looked for."""

    TEXT = "text"
    DIGITS = "digits"
    """Digits are `0`; `i s :` stand; other bytes are `.`. Spaces are left out, and the letters
    between a number and its second (`m u n`, both micro signs), so that `5 ms` is `0s`."""
    NUMBERS = "numbers"
    """Digits are `0`; `:` and `.` stand; letters are left out; other bytes are `,`. Shorter than
    DIGITS, so quicker to look into."""
    HEX = "hex"
    """Hexadecimal digits are `h`; `-` stands; other bytes are `.`."""


Hint: TypeAlias = tuple[Sketch, bytes]
ANYWHERE: Final[Hint] = (Sketch.TEXT, b"")
SOME_DIGIT: Final[Hint] = (Sketch.NUMBERS, b"0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """One pattern and what is put in place of its matches."""

    name: str
    pattern: bytes
    """In RE2 syntax that is Python's too. Never matches a newline."""
    put: bytes
    """`\\1` is the pattern's first group."""
    spared: bytes = b""
    """A match stands that this matches whole; empty: none does."""
    not_after: bytes = b""
    """A match stands if the text before it ends in this; empty: nothing spares it."""
    not_after_last: tuple[bytes, ...] = ()
    not_after_ends: tuple[bytes, ...] = ()
    """Where `not_after` matches, the text before ends in one of the first, or, without SIGNS at
    its end and in lower case, in one of the second."""
    place: int | None = None
    """Group that names a place (line and column numbers); None: the match names none."""
    within: Hint = ANYWHERE
    """Stands wherever the mask matches; masks in a row with the same one are skipped together."""
    sketch: Sketch = Sketch.TEXT
    hints: tuple[bytes, ...] = (b"",)
    """One of these stands in the sketch wherever the mask matches."""
    quick: bytes = b""
    """The same pattern in Python's own syntax, where that is faster; empty: `pattern` is used."""


Substitution: TypeAlias = Callable[[bytes, list[bytes]], bytes]
"""Replaces the matches of a mask, and adds the numbers of the places they name to the list."""


class Masking:
    """A list of masks, ready to run."""

    __slots__ = ("_groups", "_sketches")

    def __init__(self, masks: Sequence[Mask]) -> None:
        used = {mask.sketch for mask in masks} | {mask.within[0] for mask in masks}
        sketches = [sketch for sketch in Sketch if sketch in used or sketch is Sketch.TEXT]
        self._sketches = tuple(map(_TABLES.__getitem__, sketches[1:]))
        self._groups = tuple(
            (
                sketches.index(within[0]),
                within[1],
                [(sketches.index(mask.sketch), mask.hints, substitution(mask)) for mask in group],
            )
            for within, group in groupby(masks, lambda mask: mask.within)
        )

    def __call__(self, text: bytes, places: list[bytes]) -> bytes:
        """The masked text. The numbers of the places that it names are added to `places`."""
        views = [text, *(text.translate(table, left_out) for table, left_out in self._sketches)]
        for within, needed, masks in self._groups:
            if needed in views[within]:
                for sketch, hints, substitute in masks:
                    for hint in hints:
                        if hint in views[sketch]:
                            views[0] = substitute(views[0], places)
                            break
        return views[0]


def substitution(mask: Mask) -> Substitution:
    """The mask as a function of the text."""
    pattern = re.compile(mask.quick or mask.pattern)
    put, place = mask.put, mask.place
    stands = _standing(mask)
    if stands is None and place is None:
        return lambda text, _places: pattern.sub(put, text)
    around = put.split(rb"\1")

    def substitute(text: bytes, places: list[bytes]) -> bytes:
        def replaced(match: re.Match[bytes]) -> bytes:
            if stands is not None and stands(match):
                return match[0]
            if place is not None:
                places.extend(_NUMBER.findall(match[place] or b""))
            return put if len(around) == 1 else match[1].join(around)

        return pattern.sub(replaced, text)

    return substitute


def _standing(mask: Mask) -> Callable[[re.Match[bytes]], bool] | None:
    """Whether a match of the mask is left as it is; None: no match is."""
    if not (mask.spared or mask.not_after):
        return None
    spared = re.compile(mask.spared or _NEVER).fullmatch
    not_after = re.compile(rb"(?:" + (mask.not_after or _NEVER) + rb")\Z").search
    last, ends = mask.not_after_last, mask.not_after_ends

    def stands(match: re.Match[bytes]) -> bool:
        if spared(match[0]):
            return True
        start = match.start()
        context = max(0, start - CONTEXT_MAX)
        before = match.string[context:start]
        if not before.endswith(last) and not before.rstrip(SIGNS).lower().endswith(ends):
            return False
        return not_after(match.string, context, start) is not None

    return stands


def words(*choices: bytes) -> bytes:
    """A word that is one of the choices, as a pattern that Python searches by its first letter."""
    by_letter = groupby(sorted(choices), lambda choice: choice[:1])
    alternatives = [
        not_in_word(letter, 1) + b"(?:" + b"|".join(choice[1:] for choice in group) + b")"
        for letter, group in by_letter
    ]
    return b"(?:" + b"|".join(alternatives) + b")"


def not_in_word(begin: bytes, length: int) -> bytes:
    """The pattern `begin`, of a fixed length, where no word character stands before it: the same
    as `\\b` before it, in an order that Python searches several times faster."""
    return begin + rb"(?<![0-9A-Za-z_]" + b"." * length + b")"


def _table(classes: Mapping[bytes, bytes], *, other: bytes = b".") -> bytes:
    table = bytearray(other * 256)
    for name, members in classes.items():
        for member in members:
            table[member] = name[0]
    return bytes(table)


_NEVER = rb"[^\x00-\xff]"
_NUMBER = re.compile(rb"[0-9]+")
_DIGITS: Final = b"0123456789"
_LETTERS: Final = bytes(range(ord("A"), ord("Z") + 1)) + bytes(range(ord("a"), ord("z") + 1))
_TABLES: Final[Mapping[Sketch, tuple[bytes, bytes]]] = {
    Sketch.DIGITS: (
        _table({b"0": _DIGITS, b":": b":", b"i": b"i", b"s": b"s"}),
        b" mun\xc2\xb5\xce\xbc",
    ),
    Sketch.NUMBERS: (_table({b"0": _DIGITS, b":": b":", b".": b"."}, other=b","), _LETTERS),
    Sketch.HEX: (_table({b"h": b"0123456789abcdefABCDEF", b"-": b"-"}), b""),
}
"""Of each sketch the classes, and the bytes that are left out."""
