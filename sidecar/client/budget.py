"""How much is read of what a caller gives: the values of one report have a bound together."""

from collections import UserDict, UserList, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import fields, is_dataclass
from itertools import chain
from operator import attrgetter
from typing import Any, Final, TypeAlias

PARTS_MAX: Final = 200_000
"""A shared part as often as it is written: 40 lists, each with the one before it twice, would be a
terabyte, and the encoder lets no other thread run. So many take some 20 ms."""
CHARACTERS_MAX: Final = 8 * 1024 * 1024
"""Twice what one message may hold; the encoder takes some 10 ms for so many."""
USUAL_PARTS: Final = 100
USUAL_CHARACTERS: Final = 16 * 1024
_LEVELS_MAX: Final = 1000
"""As many as Python writes out, by its default bound on recursion."""
_TEXTUAL: Final = (str, bytes, bytearray)
_LEAVES: Final = frozenset({str, int, float, bool, type(None)})

Reader: TypeAlias = Callable[[list[Any]], Iterable[Collection[object]]]


class Budget:
    """What is left for the values of one report."""

    def __init__(self) -> None:
        self._parts = PARTS_MAX
        self._characters = CHARACTERS_MAX

    def renew(self) -> None:
        """Another value is read. What a usual one needs is there, whatever came before it: calls
        whose arguments go by their type look like one another."""
        self._parts = max(self._parts, USUAL_PARTS)
        self._characters = max(self._characters, USUAL_CHARACTERS)

    def weigh(self, value: object) -> tuple[int, int]:
        """How many parts and characters are written out for the value.

        Raises ValueError where that is more than is left, or where it has more than _LEVELS_MAX
        levels, as one that holds itself; and whatever the value raises.
        """
        level: list[Any] = [value]
        parts = characters = 0
        for _ in range(_LEVELS_MAX):
            groups, weight = _inside(level)
            characters += weight
            parts += sum(map(len, groups))
            if parts > self._parts or characters > self._characters:
                raise ValueError("too large")
            level = list(chain.from_iterable(groups))
            if not level:
                return parts, characters
        raise ValueError("nested too deeply")

    def spend(self, weight: tuple[int, int]) -> None:
        """What weighs so much is written out."""
        self._parts -= weight[0]
        self._characters -= weight[1]

    def take_part(self) -> bool:
        """Whether one more part may be written."""
        if self._parts <= 0:
            return False
        self._parts -= 1
        return True

    def take_text(self, text: str) -> str:
        """As much of the beginning of the text as may be written."""
        taken = text[: self._characters]
        self._characters -= len(taken)
        return taken

    def take_bytes(self, octets: bytes | bytearray) -> bytes:
        """The same of bytes, each of which may be a character."""
        taken = bytes(memoryview(octets)[: self._characters])
        self._characters -= len(taken)
        return taken


def _inside(level: list[Any]) -> tuple[list[Collection[object]], int]:
    """The groups of parts that the values hold, and how many characters those have that are text.

    By type, of which there are few where there are many values.
    """
    kinds = set(map(type, level))
    textual = {kind for kind in kinds if issubclass(kind, _TEXTUAL)}
    characters = sum(len(each) for each in level if type(each) in textual) if textual else 0
    others = kinds - _LEAVES
    readers = {kind: reader for kind in others if (reader := _reader_of(kind)) is not None}
    if not readers:
        return [], characters
    holders: dict[type, list[Any]] = {kind: [] for kind in readers}
    for each in level:
        if type(each) in readers:
            holders[type(each)].append(each)
    groups = (reader(holders[kind]) for kind, reader in readers.items())
    return list(chain.from_iterable(groups)), characters


def _reader_of(kind: type) -> Reader | None:
    """What gives the groups of parts that `str` and JSON write out for values of that type; None:
    they have none, or write themselves in a way of their own."""
    for kinds, reader in _READERS:
        if issubclass(kind, kinds):
            return reader
    if is_dataclass(kind) and _is_generated(kind.__repr__):
        names = [field.name for field in fields(kind) if field.repr]
        return lambda values: [list(map(attrgetter(name), values)) for name in names]
    return None


def _is_generated(representation: object) -> bool:
    """Whether `dataclass` has written it, which says so nowhere: code that is in no file."""
    code = getattr(getattr(representation, "__wrapped__", None), "__code__", None)
    return getattr(code, "co_filename", "") == "<string>"


_READERS: Final[Sequence[tuple[type | tuple[type, ...], Reader]]] = (
    (dict, lambda values: chain(map(dict.keys, values), map(dict.values, values))),
    ((list, tuple, set, frozenset, deque), lambda values: values),
    ((UserDict, UserList), lambda values: [[value.data for value in values]]),
    (BaseException, lambda values: [value.args for value in values]),
)
