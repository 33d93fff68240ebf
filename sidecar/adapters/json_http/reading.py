"""Messages from JSON, by the proto3 mapping, with the path of whatever is wrong.

Not by google.protobuf.json_format: its errors quote what was sent, most name no path, and it takes
five times as long. What it allows is allowed here: both names of a field, numbers as
strings, enums as their numbers, unknown fields and unknown names of enums, which are ignored, and
null, which is absent.
"""

import base64
import binascii
import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final, NoReturn

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from sidecar.refusal import Reason, Refusal

DEPTH_MAX: Final = 100
"""Of messages and values in one another, as protobuf's own parsers have it."""

ELEMENTS_MAX: Final = 65_536
"""Of a list. More than any history of messages has, and a tenth of a second's work for a list of
what is empty, of which a body within its bounds could hold a million and more."""

WHOLE_BODY: Final = "one JSON object (RFC 8259) in UTF-8"
NESTED: Final = f"nested at most {DEPTH_MAX} deep"

Read = Callable[[Any, str, int], Any]
"""A value of a field from its JSON value; the others are its path and its depth."""

WHOLE_CHARACTERS_MAX: Final = 20
"""As many as the longest of 64 bits has, with its sign."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_DECIMAL: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")

WORDS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class Misshapen(Refusal):
    """JSON that is not the message that was asked for."""

    def __init__(self, path: str, expected: str) -> None:
        """`expected` completes "it must be ..."."""
        where = path or "the body"
        super().__init__(Reason.REQUEST_INVALID, f"{where} must be {expected}", field=path)


def message_of(body: bytes, message: Message) -> None:
    """Read the JSON of a body into an empty message. Raises Misshapen."""
    try:
        value = json.loads(
            body.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_constant
        )
    except json.JSONDecodeError as fault:
        place = f"line {fault.lineno}, column {fault.colno}"
        raise Misshapen("", f"{WHOLE_BODY}, which it is not from {place} on") from None
    except UnicodeDecodeError:
        raise Misshapen("", WHOLE_BODY) from None
    except ValueError:  # what Python's own `int` says
        digits_max = sys.get_int_max_str_digits()
        raise Misshapen("", f"JSON whose numbers have at most {digits_max:,} digits") from None
    except RecursionError:
        raise Misshapen("", NESTED) from None
    read_into(message, value)


def read_into(message: Message, value: Any) -> None:
    """Read what JSON stands for into an empty message. Raises Misshapen."""
    _merge(message, value, "", 0)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Misshapen("", "JSON whose objects have each name once")
    return found


def _no_constant(_: str) -> NoReturn:
    raise Misshapen("", 'JSON, in which NaN and infinities are strings, as "NaN"')


def _merge(message: Message, value: Any, path: str, depth: int) -> None:
    if type(value) is not dict:
        raise Misshapen(path, "an object")
    if depth > DEPTH_MAX:
        raise Misshapen(path, NESTED)
    setters = _setters(message.DESCRIPTOR)
    met: set[str] = set()
    for name, part in value.items():
        setter = setters.get(name)
        if setter is None or part is None:
            continue
        place, own, set_field = setter
        where = f"{path}.{own}" if path else own
        if place in met:
            raise Misshapen(where, "given once, and none other of its oneof beside it")
        met.add(place)
        set_field(message, part, where, depth)


@cache
def fields_of(descriptor: Descriptor) -> Mapping[str, FieldDescriptor]:
    """A message's fields by both of their names."""
    return {name: each for each in descriptor.fields for name in (each.name, each.json_name)}


Setter = tuple[str, str, Callable[[Message, Any, str, int], None]]
"""The place that a field takes (its oneof, or itself), its name, and what sets it."""


@cache
def _setters(descriptor: Descriptor) -> dict[str, Setter]:
    setters: dict[str, Setter] = {}
    for name, field in fields_of(descriptor).items():
        oneof = field.containing_oneof
        place = f"{oneof.name}?" if oneof is not None else field.name
        setters[name] = (place, field.name, _setter(field))
    return setters


def _setter(field: FieldDescriptor) -> Callable[[Message, Any, str, int], None]:
    if _is_map(field):
        return _map_setter(field)
    if field.is_repeated:
        return _list_setter(field)
    name = field.name
    if field.message_type is not None:
        into = _message_reader(field.message_type)

        def set_message(message: Message, value: Any, path: str, depth: int) -> None:
            part = getattr(message, name)
            part.SetInParent()
            into(part, value, path, depth + 1)

        return set_message
    read = _scalar_reader(field)

    def set_scalar(message: Message, value: Any, path: str, depth: int) -> None:
        found = read(value, path, depth)
        if found is not None:
            _assign(lambda: setattr(message, name, found), path)

    return set_scalar


def _list_setter(field: FieldDescriptor) -> Callable[[Message, Any, str, int], None]:
    name = field.name
    into = None if field.message_type is None else _message_reader(field.message_type)
    read = None if into else _scalar_reader(field)

    def set_list(message: Message, value: Any, path: str, depth: int) -> None:
        parts = getattr(message, name)
        for index, each in enumerate(_elements(value, path)):
            where = f"{path}[{index}]"
            if into is not None:
                into(parts.add(), each, where, depth + 1)
            elif read is not None and (found := read(each, where, depth)) is not None:
                _assign(lambda found=found: parts.append(found), where)  # type: ignore[misc]

    return set_list


def _elements(value: Any, path: str) -> list[Any]:
    if type(value) is not list or len(value) > ELEMENTS_MAX:
        raise Misshapen(path, f"a list of at most {ELEMENTS_MAX:,} elements")
    return value


def _map_setter(field: FieldDescriptor) -> Callable[[Message, Any, str, int], None]:
    # The maps of sidecar.v1 are from string to string; a test holds them to it.
    name = field.name

    def set_map(message: Message, value: Any, path: str, depth: int) -> None:
        if type(value) is not dict:
            raise Misshapen(path, "an object")
        entries = getattr(message, name)
        for key, each in value.items():
            if type(each) is not str:
                # The key is not shown: it is content where names are meant.
                raise Misshapen(path, "an object whose values are strings")
            _assign(lambda key=key, each=each: entries.update({key: each}), path)  # type: ignore[misc]

    return set_map


def _assign(assign: Callable[[], None], path: str) -> None:
    try:
        assign()
    except UnicodeEncodeError:
        raise Misshapen(path, "a string without half of a surrogate pair") from None
    except ValueError:
        raise Misshapen(path, "a number within the range of its type") from None


def _is_map(field: FieldDescriptor) -> bool:
    kind = field.message_type
    return kind is not None and bool(kind.GetOptions().map_entry)


def _message_reader(kind: Descriptor) -> Callable[[Message, Any, str, int], None]:
    return WELL_KNOWN.get(kind.full_name, _merge)


def _scalar_reader(field: FieldDescriptor) -> Read:
    if field.enum_type is not None:
        return _enum_reader(field.enum_type)
    return SCALARS[field.cpp_type] if field.type != FieldDescriptor.TYPE_BYTES else _bytes


def _text(value: Any, path: str, _: int) -> str:
    if type(value) is not str:
        raise Misshapen(path, "a string")
    return value


def _bytes(value: Any, path: str, _: int) -> bytes:
    try:
        return base64.b64decode(_text(value, path, 0), validate=True)
    except (binascii.Error, ValueError):
        raise Misshapen(path, "a string of base64") from None


def _truth(value: Any, path: str, _: int) -> bool:
    if type(value) is not bool:
        raise Misshapen(path, "true or false")
    return value


def _whole(value: Any, path: str, _: int) -> int:
    if type(value) is str and len(value) <= WHOLE_CHARACTERS_MAX:
        if _INTEGER.fullmatch(value):
            return int(value)
        if _DECIMAL.fullmatch(value):
            value = float(value)
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    raise Misshapen(path, "a whole number, or a string of one")


def _number(value: Any, path: str, _: int) -> float:
    if type(value) is float or type(value) is int:
        try:
            return float(value)
        except OverflowError:
            # As JSON's own numbers beyond a double: an infinity, which a turn never said.
            return math.inf if value > 0 else -math.inf
    if type(value) is str:
        if value in WORDS:
            return WORDS[value]
        if value and value[-1].isdigit() and "_" not in value:
            with suppress(ValueError):
                return float(value)
    raise Misshapen(path, 'a number, or one of "NaN", "Infinity" and "-Infinity"')


def _enum_reader(kind: EnumDescriptor) -> Read:
    numbers = {each.name: each.number for each in kind.values}

    def read(value: Any, path: str, depth: int) -> int | None:
        if type(value) is str and not _INTEGER.fullmatch(value):
            # A name of a later version is as an unknown field is.
            return numbers.get(value)
        with suppress(Misshapen):
            number = _whole(value, path, depth)
            if -(2**31) <= number < 2**31:
                return number
        raise Misshapen(path, "the name of a value, or its number")

    return read


def _well_known(expected: str) -> Callable[[Message, Any, str, int], None]:
    def read(message: Any, value: Any, path: str, _: int) -> None:
        try:
            message.FromJsonString(_text(value, path, 0))
        except (ValueError, OverflowError):  # the latter of a fraction with an exponent
            raise Misshapen(path, expected) from None

    return read


def _values(message: Any, value: Any, path: str, depth: int) -> None:
    for index, each in enumerate(_elements(value, path)):
        _any_value(message.values.add(), each, f"{path}[{index}]", depth + 1)


def _any_value(message: Any, value: Any, path: str, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise Misshapen(path, NESTED)
    match value:
        case None:
            message.null_value = 0
        case bool():
            message.bool_value = value
        case int() | float():
            message.number_value = _number(value, path, depth)
        case str():
            _assign(lambda: setattr(message, "string_value", value), path)
        case list():
            message.list_value.SetInParent()
            _values(message.list_value, value, path, depth)
        case _:
            message.struct_value.SetInParent()
            for key, each in value.items():
                # As for maps, the path stops where names are content.
                _assign(lambda key=key: message.struct_value.fields[key], path)  # type: ignore[misc]
                _any_value(message.struct_value.fields[key], each, path, depth + 1)


def _said(message: Message, value: Any, path: str, depth: int) -> None:
    """A message, also as the APIs of models write it: with `content`, a text or blocks."""
    if type(value) is dict and value.get("content") is not None:
        content = value["content"]
        if type(content) not in (str, list):
            raise Misshapen(f"{path}.content", "a string or a list of blocks")
        field = "text" if type(content) is str else "blocks"
        if value.get(field) is not None:
            raise Misshapen(f"{path}.content", f"given once, as `content` or as `{field}`")
        value = {**value, field: content}
    _merge(message, value, path, depth)


SCALARS: Final[dict[int, Read]] = {
    FieldDescriptor.CPPTYPE_STRING: _text,
    FieldDescriptor.CPPTYPE_BOOL: _truth,
    FieldDescriptor.CPPTYPE_INT32: _whole,
    FieldDescriptor.CPPTYPE_INT64: _whole,
    FieldDescriptor.CPPTYPE_UINT32: _whole,
    FieldDescriptor.CPPTYPE_UINT64: _whole,
    FieldDescriptor.CPPTYPE_DOUBLE: _number,
    FieldDescriptor.CPPTYPE_FLOAT: _number,
}

WELL_KNOWN: Final = {
    "google.protobuf.Duration": _well_known('a string of seconds, as "1.5s"'),
    "google.protobuf.Timestamp": _well_known('a time of RFC 3339, as "2026-01-31T12:00:00Z"'),
    "google.protobuf.ListValue": _values,
    "sidecar.v1.Message": _said,
}
"""Those with a form of their own."""
