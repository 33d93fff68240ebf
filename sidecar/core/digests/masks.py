"""Masks: what is put in place of the parts of a text that change without being news.

A list of masks is a specification, in RE2 syntax (proto/digests.md prints both lists): each mask
replaces all its matches in what the masks before it left. To run a list over 2 kB costs 200 us, so
a slow mask names hints, one of which stands wherever the mask matches, in a sketch of the text:
the text with each byte replaced by its class. Without a hint the mask is not run.

What a look at 1 kB costs decides how hints and quick patterns are written: one byte 0.1 us, a
longer hint or a pattern that begins with one letter 0.8 us, a pattern that begins with a class of
letters 4 us, any other 20 us.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Final, TypeAlias

CONTEXT_MAX: Final = 32
"""Bytes before a match that are looked at: more than any `not_after` matches."""

MATCHES_MAX: Final = 4_096
"""Matches of a mask in a text, of one that leaves no match as it is: more than a log of 64 KiB has,
and a fifth of what a text made to be slow can have, with which a mask would take 3 ms."""


class Sketch(Enum):
    """A view of the text in which hints are looked for."""

    TEXT = "text"
    DIGITS = "digits"
    """Digits are `0`; `i` and `s` are `s`; `:` stands; other bytes are `.`. Spaces are left out,
    and the letters between a number and its second or minute (`m u n`, both micro signs), so that
    `5 ms` and `5 min` are `0s`."""
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
    """`\\1` is the pattern's first group. No groups where each match is looked at: where there is
    `not_after`, or `spared` and no `quick`."""
    spared: bytes = b""
    """A match stands that this matches whole; empty: none does."""
    not_after: bytes = b""
    """A match stands if the text before it ends in this; empty: nothing spares it."""
    not_after_backwards: bytes = b""
    """`not_after`, read from its end to its beginning: so that it is tried at one place only."""
    place: int | None = None
    """Group that names a place (line and column numbers); None: the match names none."""
    within: Hint = ANYWHERE
    """Stands wherever the mask matches; masks in a row with the same one are skipped together."""
    sketch: Sketch = Sketch.TEXT
    hints: tuple[bytes, ...] = (b"",)
    """One of these stands in the sketch wherever the mask matches."""
    quick: bytes = b""
    """What matches where `pattern` does and `spared` does not, in Python's own syntax, where that
    is faster; empty: these two are used."""


Put: TypeAlias = Callable[[re.Match[bytes]], bytes]
"""What is put in place of a match."""


class Substitution:
    """Replaces the matches of a mask, and adds the numbers of the places they name to a list."""

    __slots__ = ("_most", "_pattern", "_place", "_put")

    def __init__(
        self, pattern: re.Pattern[bytes], put: bytes | Put, place: int | None, most: int
    ) -> None:
        self._pattern = pattern
        self._put = put
        self._place = place
        self._most = most

    def masked(self, text: bytes, places: list[bytes]) -> bytes:
        """The text with what is put in their place."""
        if self._place is None:
            return self._pattern.sub(self._put, text, self._most)
        named: list[bytes] = []
        masked = self._pattern.sub(self._naming(self._place, named), text, self._most)
        places += _NUMBER.findall(b" ".join(named))
        return masked

    def _naming(self, place: int, named: list[bytes]) -> Put:
        put = self._put

        def replaced(match: re.Match[bytes]) -> bytes:
            named.append(match[place] or b"")
            return put if isinstance(put, bytes) else put(match)

        return replaced


Finder: TypeAlias = Callable[[bytes], object]
"""Whether a hint stands in a view."""


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
                _finder(within[1]),
                [
                    (sketches.index(mask.sketch), [*map(_finder, mask.hints)], substitution(mask))
                    for mask in group
                ],
            )
            for within, group in groupby(masks, lambda mask: mask.within)
        )

    def masked(self, text: bytes, places: list[bytes]) -> bytes:
        """The masked text. The numbers of the places that it names are added to `places`."""
        views = [text, *[text.translate(table, left_out) for table, left_out in self._sketches]]
        for within, stands_within, masks in self._groups:
            if stands_within is None or stands_within(views[within]):
                for sketch, hints, substitute in masks:
                    for stands in hints:
                        if stands is None or stands(views[sketch]):
                            views[0] = substitute.masked(views[0], places)
                            break
        return views[0]


def _finder(hint: bytes) -> Finder | None:
    """The quicker of the two ways that Python has to look for the hint; None: it is everywhere."""
    if not hint:
        return None
    if 1 < len(hint) < _LONG_HINT:
        return re.compile(re.escape(hint)).search
    return lambda view: hint in view


def substitution(mask: Mask) -> Substitution:
    """The mask as a function of the text."""
    pattern = re.compile(mask.quick or mask.pattern)
    put: bytes | Put = mask.put
    most = 0 if mask.not_after or mask.spared else MATCHES_MAX
    if mask.not_after or (mask.spared and not mask.quick):
        put = _sparing(mask)
    elif b"\\" in mask.put:
        put = _put(mask.put)
    return Substitution(pattern, put, mask.place, most)


def _put(put: bytes) -> Put:
    """What is put in place of a match; three times as fast as Python's own templates."""
    begin, *rest = put.split(rb"\1")
    if not rest:
        return lambda _match: put
    between, *ends = rest[0].split(rb"\2")
    if not ends:
        return lambda match: begin + match[1] + between
    return lambda match: begin + match[1] + between + match[2] + ends[0]


def _sparing(mask: Mask) -> Put:
    """What is put in place of a match, or the match where it stands."""
    put = mask.put
    spared = re.compile(_NEVER if mask.quick else mask.spared or _NEVER).fullmatch
    after = re.compile(mask.not_after_backwards or _NEVER).match

    def replaced(match: re.Match[bytes]) -> bytes:
        start, text = match.start(), match.string
        far = start > CONTEXT_MAX
        before = text[start - 1 : start - CONTEXT_MAX - 1 : -1] if far else text[:start][::-1]
        return match[0] if after(before) or spared(match[0]) else put

    return replaced


def words(*choices: bytes, also: tuple[bytes, ...] = ()) -> bytes:
    """A word that is one of the choices, or what `also` has, which may stand within a word: as a
    pattern that Python searches by its first letters."""
    by_letter = groupby(sorted(choices), lambda choice: choice[:1])
    alternatives = [
        not_in_word(letter, 1) + b"(?:" + b"|".join(choice[1:] for choice in group) + b")"
        for letter, group in by_letter
    ]
    return b"(?:" + b"|".join((*alternatives, *also)) + b")"


def in_either_case(pattern: bytes) -> bytes:
    """The pattern, which has no classes, for small letters and capitals: `(?i:...)` is slower."""
    return re.sub(rb"[a-z]", lambda letter: b"[%b%b]" % (letter[0], letter[0].upper()), pattern)


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
_LONG_HINT: Final = 5
"""Bytes from which on `in` finds a hint more quickly than a pattern does."""
_NUMBER = re.compile(rb"[0-9]+")
_DIGITS: Final = b"0123456789"
_LETTERS: Final = bytes(range(ord("A"), ord("Z") + 1)) + bytes(range(ord("a"), ord("z") + 1))
_TABLES: Final[Mapping[Sketch, tuple[bytes, bytes]]] = {
    Sketch.DIGITS: (
        _table({b"0": _DIGITS, b":": b":", b"s": b"is"}),
        b" mun\xc2\xb5\xce\xbc",
    ),
    Sketch.NUMBERS: (_table({b"0": _DIGITS, b":": b":", b".": b"."}, other=b","), _LETTERS),
    Sketch.HEX: (_table({b"h": b"0123456789abcdefABCDEF", b"-": b"-"}), b""),
}
"""Of each sketch the classes, and the bytes that are left out."""
