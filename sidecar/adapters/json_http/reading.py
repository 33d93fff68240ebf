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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final, NoReturn

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from sidecar.adapters.json_http.misshapen import Misshapen
from sidecar.adapters.json_http.times import Span, duration_of, time_of

DEPTH_MAX: Final = 100
"""Of messages and values in one another, as protobuf's own parsers have it."""

ELEMENTS_MAX: Final = 65_536
"""Of a list. More than any history of messages has, and a tenth of a second's work for a list of
what is empty, of which a body within its bounds could hold a million and more."""

WHOLE_BODY: Final = "one JSON object (RFC 8259) in UTF-8"
NESTED: Final = f"nested at most {DEPTH_MAX} deep"

Read = Callable[[Any], Any]
"""A value of a field from its JSON value. Raises Misshapen, as all that follow."""

Into = Callable[[Any, Any, int], None]
"""Reads into a message, from a JSON value at a depth."""

WHOLE_CHARACTERS_MAX: Final = 20
"""As many as the longest of 64 bits has, with its sign."""

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]+)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DECIMAL: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")

WORDS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


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
    _merge(message, value, 0)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Misshapen("", "JSON whose objects have each name once")
    return found


def _no_constant(_: str) -> NoReturn:
    raise Misshapen("", 'JSON, in which NaN and infinities are strings, as "NaN"')


def _merge(message: Message, value: Any, depth: int) -> None:
    if type(value) is not dict:
        raise Misshapen("", "an object")
    if depth > DEPTH_MAX:
        raise Misshapen("", NESTED)
    setters = _setters(message.DESCRIPTOR)
    met: set[str] = set()
    for name, part in value.items():
        setter = setters.get(name)
        if setter is None or part is None:
            continue
        place, own, set_field = setter
        if place in met:
            raise Misshapen(own, "given once, and none other of its oneof beside it")
        met.add(place)
        try:
            set_field(message, part, depth)
        except Misshapen as fault:
            raise fault.within(own) from None


@cache
def fields_of(descriptor: Descriptor) -> Mapping[str, FieldDescriptor]:
    """A message's fields by both of their names."""
    return {name: each for each in descriptor.fields for name in (each.name, each.json_name)}


Setter = tuple[str, str, Into]
"""The place that a field takes (its oneof, or itself), its name, and what sets it."""


@cache
def _setters(descriptor: Descriptor) -> dict[str, Setter]:
    setters: dict[str, Setter] = {}
    for name, field in fields_of(descriptor).items():
        oneof = field.containing_oneof
        place = f"{oneof.name}?" if oneof is not None else field.name
        setters[name] = (place, field.name, _setter(field))
    return setters


def _setter(field: FieldDescriptor) -> Into:
    if _is_map(field):
        return _map_setter(field)
    if field.is_repeated:
        return _list_setter(field)
    name = field.name
    if field.message_type is not None:
        into = _message_reader(field.message_type)

        def set_message(message: Message, value: Any, depth: int) -> None:
            part = getattr(message, name)
            part.SetInParent()
            into(part, value, depth + 1)

        return set_message
    read = _scalar_reader(field)

    def set_scalar(message: Message, value: Any, _: int) -> None:
        found = read(value)
        if found is not None:
            try:  # not by _fitting, which takes as long as the rest
                setattr(message, name, found)
            except ValueError as fault:
                raise _unfit(fault) from None

    return set_scalar


def _list_setter(field: FieldDescriptor) -> Into:
    name = field.name
    add = _messages_added(field.message_type) if field.message_type else _scalars_added(field)

    def set_list(message: Message, value: Any, depth: int) -> None:
        parts = getattr(message, name)
        for index, each in enumerate(_elements(value)):
            try:
                add(parts, each, depth)
            except Misshapen as fault:
                raise fault.within(f"[{index}]") from None

    return set_list


def _messages_added(kind: Descriptor) -> Into:
    into = _message_reader(kind)
    return lambda parts, value, depth: into(parts.add(), value, depth + 1)


def _scalars_added(field: FieldDescriptor) -> Into:
    read = _scalar_reader(field)

    def add(parts: Any, value: Any, _: int) -> None:
        found = read(value)
        if found is not None:
            with _fitting():
                parts.append(found)

    return add


def _elements(value: Any) -> list[Any]:
    if type(value) is not list or len(value) > ELEMENTS_MAX:
        raise Misshapen("", f"a list of at most {ELEMENTS_MAX:,} elements")
    return value


def _map_setter(field: FieldDescriptor) -> Into:
    # The maps of sidecar.v1 are from string to string; a test holds them to it.
    name = field.name

    def set_map(message: Message, value: Any, _: int) -> None:
        if type(value) is not dict:
            raise Misshapen("", "an object")
        if any(type(each) is not str for each in value.values()):
            # The key is not shown: it is content where names are meant.
            raise Misshapen("", "an object whose values are strings")
        with _fitting():
            getattr(message, name).update(value)

    return set_map


@contextmanager
def _fitting() -> Iterator[None]:
    try:
        yield
    except ValueError as fault:
        raise _unfit(fault) from None


def _unfit(fault: ValueError) -> Misshapen:
    """What a message says to a value that its field cannot hold."""
    if isinstance(fault, UnicodeEncodeError):
        return Misshapen("", "a string without half of a surrogate pair")
    return Misshapen("", "a number within the range of its type")


def _is_map(field: FieldDescriptor) -> bool:
    kind = field.message_type
    return kind is not None and bool(kind.GetOptions().map_entry)


def _message_reader(kind: Descriptor) -> Into:
    return WELL_KNOWN.get(kind.full_name, _merge)


def _scalar_reader(field: FieldDescriptor) -> Read:
    if field.enum_type is not None:
        return _enum_reader(field.enum_type)
    return SCALARS[field.cpp_type] if field.type != FieldDescriptor.TYPE_BYTES else _bytes


def _text(value: Any) -> str:
    if type(value) is not str:
        raise Misshapen("", "a string")
    return value


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(_text(value), validate=True)
    except (binascii.Error, ValueError):
        raise Misshapen("", "a string of base64") from None


def _truth(value: Any) -> bool:
    if type(value) is not bool:
        raise Misshapen("", "true or false")
    return value


def _whole(value: Any) -> int:
    if type(value) is int:
        return value
    if type(value) is str and len(value) <= WHOLE_CHARACTERS_MAX:
        if _INTEGER.fullmatch(value):
            return int(value)
        if _DECIMAL.fullmatch(value):
            value = float(value)
    if type(value) is float and value.is_integer():
        return int(value)
    raise Misshapen("", "a whole number, or a string of one")


def _number(value: Any) -> float:
    if type(value) is float or type(value) is int:
        try:
            return float(value)
        except OverflowError:
            # As JSON's own numbers beyond a double: an infinity, which a turn never said.
            return math.inf if value > 0 else -math.inf
    if type(value) is str:
        if value in WORDS:
            return WORDS[value]
        if _NUMBER.fullmatch(value):
            return float(value)
    raise Misshapen("", 'a number, or one of "NaN", "Infinity" and "-Infinity"')


def _enum_reader(kind: EnumDescriptor) -> Read:
    numbers = {each.name: each.number for each in kind.values}

    def read(value: Any) -> int | None:
        if type(value) is str and not _INTEGER.fullmatch(value):
            # A name of a later version is as an unknown field is.
            return numbers.get(value)
        with suppress(Misshapen):
            number = _whole(value)
            if -(2**31) <= number < 2**31:
                return number
        raise Misshapen("", "the name of a value, or its number")

    return read


def _span(parsed: Callable[[str], Span | None], expected: str) -> Into:
    def read(message: Any, value: Any, _: int) -> None:
        found = parsed(value) if type(value) is str else None
        if found is None:
            raise Misshapen("", expected)
        message.seconds, message.nanos = found

    return read


def _values(message: Any, value: Any, depth: int) -> None:
    for index, each in enumerate(_elements(value)):
        try:
            _any_value(message.values.add(), each, depth + 1)
        except Misshapen as fault:
            raise fault.within(f"[{index}]") from None


def _any_value(message: Any, value: Any, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise Misshapen("", NESTED)
    match value:
        case None:
            message.null_value = 0
        case bool():
            message.bool_value = value
        case int() | float():
            message.number_value = _number(value)
        case str():
            with _fitting():
                message.string_value = value
        case list():
            message.list_value.SetInParent()
            _values(message.list_value, value, depth)
        case _:
            message.struct_value.SetInParent()
            for key, each in value.items():
                # As for maps, the path stops where names are content.
                with _fitting():
                    field = message.struct_value.fields[key]
                _any_value(field, each, depth + 1)


def _said(message: Message, value: Any, depth: int) -> None:
    """A message, also as the APIs of models write it: with `content`, a text or blocks."""
    if type(value) is dict and value.get("content") is not None:
        content = value["content"]
        if type(content) not in (str, list):
            raise Misshapen("content", "a string or a list of blocks")
        field = "text" if type(content) is str else "blocks"
        if value.get(field) is not None:
            raise Misshapen("content", f"given once, as `content` or as `{field}`")
        value = {**value, field: content}
        try:
            _merge(message, value, depth)
        except Misshapen as fault:
            raise fault.renamed(field, "content") from None
        return
    _merge(message, value, depth)


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
    "google.protobuf.Duration": _span(duration_of, 'a string of seconds, as "1.5s"'),
    "google.protobuf.Timestamp": _span(time_of, 'a time of RFC 3339, as "2026-01-31T12:00:00Z"'),
    "google.protobuf.ListValue": _values,
    "sidecar.v1.Message": _said,
}
"""Those with a form of their own."""
