"""What a caller's value is, without asking it."""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final


class Shape(Enum):
    """How a value is read."""

    TEXT = auto()
    BYTES = auto()
    TRUTH = auto()
    WHOLE = auto()
    REAL = auto()
    MAPPING = auto()
    ITEMS = auto()
    ERROR = auto()
    OTHER = auto()


_SHAPES: Final = (
    (str, Shape.TEXT),
    ((bytes, bytearray), Shape.BYTES),
    (bool, Shape.TRUTH),
    (int, Shape.WHOLE),
    (float, Shape.REAL),
    (Mapping, Shape.MAPPING),
    ((list, tuple, set, frozenset), Shape.ITEMS),
    (BaseException, Shape.ERROR),
)


def shape_of(value: object) -> Shape:
    """By its type alone: `isinstance` and `match` ask the value for its `__class__` too, and that
    of a proxy may raise."""
    return shape_of_type(type(value))


def shape_of_type(kind: type) -> Shape:
    """The shape of all values of that type."""
    if kind is str:
        return Shape.TEXT  # as nearly all are
    for kinds, shape in _SHAPES:
        if issubclass(kind, kinds):
            return shape
    return Shape.OTHER
