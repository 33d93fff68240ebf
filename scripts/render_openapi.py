#!/usr/bin/env python3
"""Writes the OpenAPI 3.1 descriptions of the JSON over HTTP: run it after changing proto/ or a route.

Words come from the comments in proto/, shapes from its messages, paths from the table of routes.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

from sidecar.adapters.calls import AnswerCalls, ControlCalls, TurnCalls
from sidecar.adapters.json_http import Route, Routes, agent_routes, control_routes
from sidecar.adapters.json_http.documents import AGENT, CONTROL
from sidecar.refusal import Reason
from sidecar.v1 import answer_service_pb2, convergence_service_pb2, session_service_pb2

ROOT: Final = Path(__file__).parent.parent
TARGET: Final = ROOT / "sidecar" / "adapters" / "json_http"

TITLES: Final = {AGENT: "sidecar, for agents", CONTROL: "sidecar, for operators"}
DESCRIPTION: Final = (
    "The proto3 JSON mapping of sidecar.v1: names as in the proto, or in camelCase when they are sent; "
    "unknown fields are ignored. A number may also be sent as a string of it, and a value of an enum as "
    "its number. Whatever is refused is answered with problem details."
)

WELL_KNOWN: Final[dict[str, dict[str, Any]]] = {
    "google.protobuf.Duration": {
        "type": "string",
        "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$",
        "examples": ["1.5s"],
    },
    "google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
    "google.protobuf.ListValue": {"type": "array", "items": {}},
}

SCALARS: Final[dict[int, dict[str, Any]]] = {
    FieldDescriptor.CPPTYPE_STRING: {"type": "string"},
    FieldDescriptor.CPPTYPE_BOOL: {"type": "boolean"},
    FieldDescriptor.CPPTYPE_INT32: {"type": "integer", "format": "int32"},
    FieldDescriptor.CPPTYPE_UINT32: {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    # Written as strings, since a JSON number may be read as a double.
    FieldDescriptor.CPPTYPE_INT64: {"type": ["string", "integer"], "format": "int64"},
    FieldDescriptor.CPPTYPE_UINT64: {"type": ["string", "integer"], "format": "uint64"},
    FieldDescriptor.CPPTYPE_DOUBLE: {
        "anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]
    },
}

PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "description": "Why a request was refused (RFC 9457).",
    "required": ["title", "status", "detail", "reason", "domain", "metadata"],
    "properties": {
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer", "description": "The status of the answer."},
        "detail": {"type": "string", "description": "What was wrong and what would be right."},
        "reason": {
            "enum": [reason.value for reason in Reason],
            "description": "What a client acts on; docs/protocol.md says how.",
        },
        "domain": {"const": "sidecar"},
        "metadata": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "What belongs to the reason, as `expected` to SEQUENCE_GAP.",
        },
        "code": {"type": "string", "description": "The gRPC status that is the same."},
        "field": {"type": "string", "description": "Path of the field at fault."},
        "retry_delay": {"type": "string", "description": "After which trying again makes sense."},
    },
}

CONTENT: Final[dict[str, Any]] = {
    "description": "What was said, as the APIs of models write it: a text, or blocks. Neither `text` "
    "nor `blocks` beside it.",
    "anyOf": [{"type": "string"}, {"type": "array", "items": {}}],
}
"""Of a Message, in JSON only: reading.py takes it."""

STATUS: Final[dict[str, Any]] = {
    "type": "object",
    "description": "What is known of the sidecar itself; times are seconds since the epoch.",
    "properties": {
        "version": {"type": "string", "description": "Its version."},
        "phase": {"type": "string", "description": "Whether it starts, serves or stops."},
        "live": {"type": "boolean", "description": "Whether its event loop turns."},
        "uptime_s": {"type": "number", "description": "Seconds since it began."},
        "components": {
            "type": "object",
            "description": "Condition of each of its parts, by name.",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "status": {"type": "string"},
                    "since_s": {"type": "number"},
                    "last_error": {"type": ["string", "null"]},
                    "last_error_s": {"type": ["number", "null"]},
                },
            },
        },
        "policies": {"type": "object", "description": "Policies in force, by name."},
        "bounds": {"type": "object", "description": "Bounds in force, by key."},
    },
}
"""As Health.statusz has it."""


def documents() -> dict[str, str]:
    """The documents by their names."""
    words = _words()
    agents = agent_routes(TurnCalls, AnswerCalls)  # type: ignore[arg-type]  # nothing is called
    operators = control_routes(ControlCalls)  # type: ignore[arg-type]
    return {
        name: json.dumps(_document(name, routes, words), indent=1) + "\n"
        for name, routes in ((AGENT, agents), (CONTROL, operators))
    }


def _document(name: str, routes: Routes, words: dict[str, str]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    kinds: dict[str, Any] = {}
    for route in routes.all:
        path = route.path.replace("{open.", "{")
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, words)
        for message in (route.request, route.response):
            _collect(message.DESCRIPTOR, kinds)
    beside: dict[str, Any] = {"Problem": PROBLEM}
    if name == CONTROL:
        paths["/statusz"] = {"get": _status_operation()}
        beside["Status"] = STATUS
    return {
        "openapi": "3.1.0",
        "info": {
            "title": TITLES[name],
            "version": "v1",
            "description": DESCRIPTION,
            "license": {"name": "Apache 2.0", "identifier": "Apache-2.0"},
        },
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": {
                **{kind: _schema(kinds[kind], words) for kind in sorted(kinds)},
                **beside,
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, words: dict[str, str]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.rpc.partition(".")[2],
        "description": words[f"sidecar.v1.{route.rpc}"],
    }
    parameters = list(_parameters(route, words))
    if parameters:
        operation["parameters"] = parameters
    if route.method == "POST":
        schema = _ref(route.request.DESCRIPTOR)
        if route.needs_one_of:
            schema = {**schema, "anyOf": [{"required": [name]} for name in route.needs_one_of]}
        operation["requestBody"] = {"required": True, "content": _content(schema)}
    kind = route.response.DESCRIPTOR
    operation["responses"] = _responses(words[kind.full_name], _ref(kind))
    return operation


def _status_operation() -> dict[str, Any]:
    return {
        "operationId": "GetStatus",
        "description": "Shows how the sidecar itself is. Asks for no token.",
        "security": [{}],
        "responses": _responses(STATUS["description"], {"$ref": "#/components/schemas/Status"}),
    }


def _responses(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {
        "200": {"description": description, "content": _content(schema)},
        "default": {
            "description": "Refused.",
            "content": {"application/problem+json": problem},
        },
    }


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _parameters(route: Route, words: dict[str, str]) -> Iterator[dict[str, Any]]:
    named = set()
    for part in route.path.split("{")[1:]:
        name = part.partition("}")[0].rpartition(".")[2]
        named.add(name)
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": "The session's id.",
            "schema": {"type": "string", "minLength": 1},
        }
    if route.method == "GET":
        for field in route.request.DESCRIPTOR.fields:
            if field.name not in named:
                yield {
                    "name": field.name,
                    "in": "query",
                    "description": words[field.full_name],
                    "schema": _value(field),
                }


def _collect(kind: Descriptor | EnumDescriptor, into: dict[str, Any]) -> None:
    if kind.name in into or kind.full_name in WELL_KNOWN:
        return
    into[kind.name] = kind
    for field in getattr(kind, "fields", ()):
        part = field.enum_type or field.message_type
        if part is not None and not (field.message_type and part.GetOptions().map_entry):
            _collect(part, into)


def _schema(kind: Any, words: dict[str, str]) -> dict[str, Any]:
    described = {"description": words[kind.full_name]}
    if isinstance(kind, EnumDescriptor):
        values = "\n".join(
            f"- {each.name}: {words[f'{kind.full_name}.{each.name}']}" for each in kind.values
        )
        return {
            "type": "string",
            "description": f"{described['description']}\n\n{values}",
            "enum": [each.name for each in kind.values],
        }
    properties = {field.name: _property(field, words) for field in kind.fields}
    if kind.full_name == "sidecar.v1.Message":
        properties["content"] = CONTENT
    return {"type": "object", **described, "properties": properties}


def _property(field: FieldDescriptor, words: dict[str, str]) -> dict[str, Any]:
    text = words[field.full_name]
    oneof = field.containing_oneof
    if oneof is not None and len(oneof.fields) > 1:
        others = ", ".join(f"`{each.name}`" for each in oneof.fields if each is not field)
        text = f"{text} None of {others} beside it."
    return {"description": text, **_value(field)}


def _value(field: FieldDescriptor) -> dict[str, Any]:
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        return {"type": "object", "additionalProperties": _one(kind.fields_by_name["value"])}
    return {"type": "array", "items": _one(field)} if field.is_repeated else _one(field)


def _one(field: FieldDescriptor) -> dict[str, Any]:
    part = field.enum_type or field.message_type
    return SCALARS[field.cpp_type] if part is None else _ref(part)


def _ref(kind: Descriptor | EnumDescriptor) -> dict[str, Any]:
    return WELL_KNOWN.get(kind.full_name) or {"$ref": f"#/components/schemas/{kind.name}"}


def _words() -> dict[str, str]:
    """The comment before each name of the proto files."""
    names = [
        module.DESCRIPTOR.name
        for module in (answer_service_pb2, convergence_service_pb2, session_service_pb2)
    ]
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / "all"
        known = files("grpc_tools") / "_proto"
        arguments = [
            f"-I{ROOT / 'proto'}",
            f"-I{known}",
            "--include_imports",
            "--include_source_info",
        ]
        if protoc.main(["", *arguments, f"--descriptor_set_out={target}", *names]):
            raise SystemExit("proto/ cannot be read")
        parsed = FileDescriptorSet.FromString(target.read_bytes()).file
    words: dict[str, str] = {}
    for file in parsed:
        if file.package != "sidecar.v1":
            continue
        for location in file.source_code_info.location:
            name = _name(file, location.path)
            if name:
                lines = (line.strip() for line in location.leading_comments.splitlines())
                words[f"{file.package}.{name}"] = " ".join(line for line in lines if line)
    return words


def _name(file: Any, path: Iterable[int]) -> str:
    """The name of what a path through a file's descriptor leads to; empty: it has none."""
    node, names = file, []
    steps = list(path)
    for number, index in zip(steps[::2], steps[1::2], strict=False):
        field = node.DESCRIPTOR.fields_by_number[number]
        if not field.is_repeated or field.message_type is None:
            return ""
        node = getattr(node, field.name)[index]
        names.append(getattr(node, "name", ""))
    return ".".join(names) if len(steps) % 2 == 0 else ""


if __name__ == "__main__":
    for name, text in documents().items():
        (TARGET / name).write_text(text, "utf-8")
