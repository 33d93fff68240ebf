"""What is wrong with a line of a run file: the field at fault, what would be right there, and what
is there instead.

The library that reads the JSON mapping says neither of the first two of a value of the wrong type,
and quotes all of it, which may be an agent's whole answer.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor

from sidecar.printable import shown

Kind: TypeAlias = Any
"""A message's descriptor, of which the library has two classes with nothing in common."""

WELL_KNOWN: Final = MappingProxyType(
    {
        "google.protobuf.Timestamp": 'a time like "2026-03-01T10:00:00Z"',
        "google.protobuf.Duration": 'a duration like "1.5s"',
    }
)

WHOLE: Final = "a whole number of 64 bits"

SCALARS: Final = MappingProxyType(
    {
        FieldDescriptor.TYPE_STRING: "a text in Unicode",
        FieldDescriptor.TYPE_BOOL: "true or false",
        FieldDescriptor.TYPE_DOUBLE: "a number",
        FieldDescriptor.TYPE_FLOAT: "a number",
        FieldDescriptor.TYPE_INT64: WHOLE,
        FieldDescriptor.TYPE_INT32: "a whole number of 32 bits",
        FieldDescriptor.TYPE_UINT64: WHOLE,
        FieldDescriptor.TYPE_UINT32: "a whole number from 0 to 4294967295",
        FieldDescriptor.TYPE_ENUM: "a name of the enum",
    }
)


def faults_in(line: Mapping[str, Any], kind: Kind, path: str = "") -> Iterator[str]:
    """Where this is no message of the kind: the path of a field, and what is expected there."""
    for oneof in kind.oneofs:
        given = [field.name for field in oneof.fields if _given(line, field) is not None]
        if len(given) > 1:
            yield f"{path or 'the line'}: expected only one of {', '.join(given)}"
    for field in kind.fields:
        value = _given(line, field)
        if value is None or _is_read(kind, field, value):
            continue
        yield from _fault(field, value, f"{path}.{field.name}" if path else field.name)


def no_objects_in(line: Mapping[str, Any], kind: Kind, path: str = "") -> Iterator[str]:
    """Where an empty array or text stands for an object: the library takes it for an empty one."""
    for field in kind.fields:
        value = _given(line, field)
        if field.message_type is None or field.message_type.full_name in WELL_KNOWN:
            continue
        is_list = field.is_repeated and not _is_map(field)
        for at, one in enumerate(value or () if is_list else (value,)):
            place = f"{path}{field.name}[{at}]" if is_list else f"{path}{field.name}"
            if one is not None and not isinstance(one, dict):
                yield f"{place}: expected an object, found {_found(one)}"
            elif one and not _is_map(field):
                yield from no_objects_in(one, field.message_type, f"{place}.")


def _fault(field: FieldDescriptor, value: Any, path: str) -> Iterator[str]:
    if field.is_repeated and not _is_map(field):
        if not isinstance(value, list):
            yield f"{path}: expected an array, found {_found(value)}"
            return
        for at, one in enumerate(value):
            if not _is_read(field.containing_type, field, [one]):
                yield from _fault_of_one(field, one, f"{path}[{at}]")
    else:
        yield from _fault_of_one(field, value, path)


def _fault_of_one(field: FieldDescriptor, value: Any, path: str) -> Iterator[str]:
    kind = field.message_type
    if kind is None:
        expected = SCALARS.get(field.type, "another type")
    elif kind.full_name in WELL_KNOWN:
        expected = WELL_KNOWN[kind.full_name]
    elif not isinstance(value, dict):
        expected = "an object"
    elif _is_map(field):
        expected = "an object of texts"
    else:
        yield from faults_in(value, kind, path)
        return
    yield f"{path}: expected {expected}, found {_found(value)}"


def _found(value: Any) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "an array"
    return shown(value)


def _given(line: Mapping[str, Any], field: FieldDescriptor) -> Any:
    """The value, under either name that the JSON mapping reads; None, as null: it is not given."""
    return line.get(field.name, line.get(field.json_name))


def _is_map(field: FieldDescriptor) -> bool:
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def _is_read(kind: Kind, field: FieldDescriptor, value: Any) -> bool:
    message = message_factory.GetMessageClass(kind)()
    try:
        json_format.ParseDict({field.name: value}, message, ignore_unknown_fields=True)
    except (json_format.ParseError, RecursionError):
        return False
    return True
