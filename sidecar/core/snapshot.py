"""Frozen values to JSON and back, by their type hints.

What can be written: None, bool, int, float (NaN and the infinities as text), str, bytes (base64),
enums (by value), tuples, mappings with text keys, dataclasses, and unions of these with None or of
several dataclasses (told apart by `"is": class name`). Fields that stand at their default are left
out, so that snapshots stay small.

Nothing read back is trusted: whatever does not fit the type is SnapshotInvalid, with the path to
it, and never the value, which may be anybody's.
"""

import base64
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import (
    Any,
    Final,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from sidecar.core.value import value

T = TypeVar("T")
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

VERSION: Final = 3
"""Raised when a field is renamed, changes its meaning or gets another default."""

TAG: Final = "is"
"""Key that names the class where a union leaves it open."""


class SnapshotInvalid(ValueError):  # noqa: N818  # a word of this project: X is invalid
    """What was to be read back does not fit its type."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'snapshot'}: {problem}")
        self.path = path
        """Where, as `states.loop[3].name`; empty: the value itself."""
        self.problem = problem
        """What was wrong, without the value."""

    def within(self, part: str) -> "SnapshotInvalid":
        """The same fault, seen from one level up: `part` is a field, or an index in brackets."""
        joint = "" if not self.path or self.path.startswith("[") else "."
        return SnapshotInvalid(f"{part}{joint}{self.path}", self.problem)


@value
class _Codec:
    write: Callable[[Any], Any]
    """To what `json` can dump."""
    read: Callable[[object], Any]


def encode(value: Any, kind: Any = None) -> Json:
    """The value as JSON. `kind` is its type where its class does not say it: a union, a tuple.

    Raises TypeError when a type cannot be written, which is a fault of the code.
    """
    written_as: Any = type(value) if kind is None else kind
    written: Json = _codec(written_as).write(value)
    return written


@overload
def decode(kind: type[T], json: object) -> T: ...
@overload
def decode(kind: Any, json: object) -> Any: ...
def decode(kind: Any, json: object) -> Any:
    """The value that `encode` wrote, of this type.

    Raises SnapshotInvalid when the JSON does not fit the type, and TypeError as `encode` does.
    """
    return _codec(kind).read(json)


def seal(body: Json) -> dict[str, Json]:
    """An encoded value with the version that it was written in."""
    return {"version": VERSION, "body": body}


def unseal(json: object) -> Json:
    """The encoded value in a sealed one.

    Raises SnapshotInvalid when it is none, or of another version.
    """
    if type(json) is not dict or json.keys() != {"version", "body"}:
        raise SnapshotInvalid("", "no version and body")
    if json["version"] != VERSION or type(json["version"]) is not int:
        raise SnapshotInvalid("version", f"only version {VERSION} can be read")
    body: Json = json["body"]
    return body


@cache
def _codec(kind: Any) -> _Codec:
    """How to write and read one type; found once for each."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, Union):
        return _union(kind, parts)
    if origin is tuple and parts:
        return _series(parts[0]) if parts[-1] is ... else _row(parts)
    if origin in (dict, Mapping) and parts[0] is str:
        return _mapping(parts[1])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind)
    raise TypeError(f"a snapshot cannot hold {kind}")


def _same(value: Any) -> Any:
    return value


def _wrong(expected: str, json: object) -> SnapshotInvalid:
    return SnapshotInvalid("", f"expected {expected}, found {type(json).__name__}")


def _exactly(kind: type, name: str) -> _Codec:
    """A type that JSON has too; the exact type, since True is no integer here."""

    def read(json: object) -> Any:
        if type(json) is not kind:
            raise _wrong(name, json)
        return json

    return _Codec(write=_same, read=read)


def _write_float(value: float) -> Json:
    return value if math.isfinite(value) else repr(value)


def _read_float(json: object) -> float:
    if type(json) is float or (type(json) is str and json in ("nan", "inf", "-inf")):
        return float(json)
    if type(json) is not int:
        raise _wrong("a number", json)
    try:
        return float(json)
    except OverflowError:
        raise SnapshotInvalid("", "the number is too large") from None


def _write_bytes(value: bytes) -> Json:
    return base64.b64encode(value).decode("ascii")


def _read_bytes(json: object) -> bytes:
    if type(json) is not str:
        raise _wrong("base64 text", json)
    try:
        return base64.b64decode(json, validate=True)
    except ValueError:
        raise SnapshotInvalid("", "the text is not base64") from None


_PLAIN: Final[Mapping[Any, _Codec]] = MappingProxyType(
    {
        types.NoneType: _exactly(types.NoneType, "null"),
        bool: _exactly(bool, "true or false"),
        int: _exactly(int, "an integer"),
        str: _exactly(str, "a text"),
        float: _Codec(write=_write_float, read=_read_float),
        bytes: _Codec(write=_write_bytes, read=_read_bytes),
    }
)


def _enum(kind: type[Enum]) -> _Codec:
    members = {member.value: member for member in kind}

    def write(value: Enum) -> Json:
        plain: Json = value.value
        return plain

    def read(json: object) -> Enum:
        # Only these two: a list cannot be looked up, and True and 1.0 would be found as 1.
        member = members.get(json) if type(json) in (str, int) else None
        if member is None:
            raise SnapshotInvalid("", f"expected a value of {kind.__name__}")
        return member

    return _Codec(write=write, read=read)


def _items(json: object) -> list[object]:
    if type(json) is not list:
        raise _wrong("a list", json)
    return json


def _object(json: object) -> dict[str, object]:
    if type(json) is not dict:
        raise _wrong("an object", json)
    return json


def _read_at(codec: _Codec, json: object, part: str) -> Any:
    try:
        return codec.read(json)
    except SnapshotInvalid as fault:
        raise fault.within(part) from None


def _series(kind: Any) -> _Codec:
    """tuple[T, ...]"""
    item = _codec(kind)

    def write(value: tuple[Any, ...]) -> Json:
        return [item.write(part) for part in value]

    def read(json: object) -> tuple[Any, ...]:
        return tuple(_read_at(item, part, f"[{at}]") for at, part in enumerate(_items(json)))

    return _Codec(write=write, read=read)


def _row(kinds: tuple[Any, ...]) -> _Codec:
    """tuple[A, B]"""
    columns = tuple(_codec(kind) for kind in kinds)

    def write(value: tuple[Any, ...]) -> Json:
        return [column.write(part) for column, part in zip(columns, value, strict=True)]

    def read(json: object) -> tuple[Any, ...]:
        parts = _items(json)
        if len(parts) != len(columns):
            raise SnapshotInvalid("", f"expected {len(columns)} items, found {len(parts)}")
        pairs = enumerate(zip(columns, parts, strict=True))
        return tuple(_read_at(column, part, f"[{at}]") for at, (column, part) in pairs)

    return _Codec(write=write, read=read)


def _mapping(kind: Any) -> _Codec:
    item = _codec(kind)

    def write(value: Mapping[str, Any]) -> Json:
        return {key: item.write(part) for key, part in value.items()}

    def read(json: object) -> dict[str, Any]:
        # Keys are the run's own (actors, signals), so a path may name them by their place only.
        parts = _object(json)
        if not all(type(key) is str for key in parts):
            raise SnapshotInvalid("", "a key is not a text")
        return {
            key: _read_at(item, part, f"[{at}]") for at, (key, part) in enumerate(parts.items())
        }

    return _Codec(write=write, read=read)


def _union(kind: Any, parts: tuple[Any, ...]) -> _Codec:
    allows_none = types.NoneType in parts
    members = [part for part in parts if part is not types.NoneType]
    if len(members) == 1:
        one = _codec(members[0])
        write, read = one.write, one.read
    elif all(isinstance(member, type) and is_dataclass(member) for member in members):
        write, read = _tagged({member.__name__: member for member in members})
    else:
        raise TypeError(f"a snapshot cannot tell the members of {kind} apart")
    if not allows_none:
        return _Codec(write=write, read=read)
    return _Codec(
        write=lambda value: None if value is None else write(value),
        read=lambda json: None if json is None else read(json),
    )


def _tagged(
    members: Mapping[str, type],
) -> tuple[Callable[[Any], Json], Callable[[object], Any]]:
    """A union of dataclasses: each written as its fields and, under TAG, its name."""
    codecs = {name: _codec(member) for name, member in members.items()}

    def write(value: Any) -> Json:
        name = type(value).__name__
        return {TAG: name, **codecs[name].write(value)}

    def read(json: object) -> Any:
        body = dict(_object(json))
        name = body.pop(TAG, None)
        if type(name) is not str or name not in codecs:
            raise SnapshotInvalid(TAG, f"expected one of {', '.join(codecs)}")
        return codecs[name].read(body)

    return write, read


def _default(field: "Field[Any]") -> Any:
    """What a field is when nothing is said; MISSING: it must be said."""
    return field.default if field.default_factory is MISSING else field.default_factory()


def _is(part: Any, default: Any) -> bool:
    """Whether a field may be left out: equal, and not 0 for False or -0.0 for 0.0."""
    if type(part) is not type(default) or part != default:
        return False
    return type(part) is not float or math.copysign(1, part) == math.copysign(1, default)


def _record(kind: Any) -> _Codec:
    hints = get_type_hints(kind)
    columns = tuple(
        (field.name, _codec(hints[field.name]), _default(field)) for field in fields(kind)
    )
    known = {name: codec for name, codec, _ in columns}
    required = frozenset(name for name, _, default in columns if default is MISSING)
    if TAG in known:
        raise TypeError(f"{kind}: the field name {TAG!r} is taken")

    def write(value: Any) -> Json:
        body = {}
        for name, codec, default in columns:
            part = getattr(value, name)
            if part is not default and not _is(part, default):
                body[name] = codec.write(part)
        return body

    def read(json: object) -> Any:
        body = _object(json)
        if body.keys() - known.keys():
            raise SnapshotInvalid("", f"a field that {kind.__name__} does not have")
        if required - body.keys():
            raise SnapshotInvalid(min(required - body.keys()), "missing")
        parts = {name: _read_at(known[name], part, name) for name, part in body.items()}
        try:
            return kind(**parts)
        except ValueError:
            raise SnapshotInvalid("", f"{kind.__name__} refuses these values") from None

    return _Codec(write=write, read=read)
