"""From what was written to typed values, and from types to words a person understands.

A key's type is an annotation that msgspec understands: `Annotated[int, Meta(ge=1, le=9)] | None`.
It says what is accepted, and both the error line and docs/configuration.md are worded from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import msgspec
from msgspec import inspect

from sidecar.config.file import list_value, plain_value
from sidecar.config.given import Given, Path, wrong_value

OFF: Final = "off"
"""What is written for "never" or "no limit", besides null, which TOML and the environment lack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One thing that can be configured."""

    type: Any
    meaning: str
    default: Any = None


def typed(path: Path, given: Given, type_: Any) -> Any:
    """The value as the type has it. Raises ConfigError."""
    kind = inspect.type_info(type_)
    value = _read_text(given.value, kind) if given.is_text else given.value
    if value == OFF and _allows_none(kind):
        return None
    try:
        converted = msgspec.convert(value, type_)
    except (msgspec.ValidationError, UnicodeEncodeError):
        # The latter is of half of a surrogate pair, which no number or word has in it.
        raise wrong_value(path, given, described(type_)) from None
    if isinstance(converted, str) and "\0" in converted:
        # No path, name or address that the system takes has one.
        raise wrong_value(path, given, "a text without NUL")
    return converted


def _read_text(text: str, kind: inspect.Type) -> Any:
    """What a text from an environment variable or flag stands for where this kind is wanted."""
    match _bare(kind):
        case inspect.StrType() | inspect.LiteralType() | inspect.EnumType():
            return text
        case inspect.VarTupleType() | inspect.FrozenSetType():
            return list_value(text)
    return plain_value(text)


def described(type_: Any) -> str:
    """What the type accepts, to follow "it must be"."""
    return _described(inspect.type_info(type_))


def _described(kind: inspect.Type) -> str:
    match kind:
        case inspect.Metadata(type=inner, extra=extra):
            return str((extra or {}).get("expected") or _described(inner))
        case inspect.UnionType(types=kinds):
            return " or ".join([*map(_described, filter(_has_value, kinds)), OFF])
        case inspect.IntType(ge=low, le=high):
            return f"a whole number{_range(low, high)}"
        case inspect.FloatType(gt=above, ge=low, le=high):
            return f"a number{_range(low, high) if above is None else _range_above(above, high)}"
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(map(str, values))}"
        case inspect.EnumType(cls=cls):
            return f"one of {', '.join(str(part.value) for part in cls)}"
        case inspect.VarTupleType() | inspect.FrozenSetType():
            return "a list of words"
        case inspect.StrType(min_length=shortest):
            return "a text that is not empty" if shortest else "a text"
    raise TypeError(f"a key of this type has no words: {kind}")


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f" from {_number(low)} to {_number(high)}"
    return "" if low is None else f", {_number(low)} or more"


def _range_above(above: float, high: float | None) -> str:
    return f" above {_number(above)}" + ("" if high is None else f", at most {_number(high)}")


def _number(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def _has_value(kind: inspect.Type) -> bool:
    return not isinstance(kind, inspect.NoneType)


def _allows_none(kind: inspect.Type) -> bool:
    match kind:
        case inspect.Metadata(type=inner):
            return _allows_none(inner)
        case inspect.UnionType(includes_none=includes_none):
            return includes_none
    return False


def _bare(kind: inspect.Type) -> inspect.Type:
    match kind:
        case inspect.Metadata(type=inner):
            return _bare(inner)
        case inspect.UnionType(types=kinds):
            return _bare(next(filter(_has_value, kinds)))
    return kind


def written(value: Any) -> Any:
    """The value as it would be written in a file: plain numbers, texts, lists."""
    match value:
        case Enum():
            return value.value
        case frozenset():
            return sorted(value)
        case tuple():
            return list(value)
        case Mapping():
            return {str(key): written(part) for key, part in value.items()}
    return value
