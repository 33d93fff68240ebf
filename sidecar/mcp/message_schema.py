"""JSON Schemas of messages, from the description of the JSON over HTTP, whose form is the same."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from google.protobuf.message import Message

from sidecar.adapters.json_http import agent_document

Schema: TypeAlias = dict[str, Any]


def message_schema(message: type[Message]) -> Schema:
    """The schema of a message that agents are sent; it may have fields that are not known yet."""
    described = json.loads(agent_document())["components"]["schemas"]
    schema: Schema = _whole(described[message.DESCRIPTOR.name], described)
    return schema


def _whole(schema: Any, described: Mapping[str, Any]) -> Any:
    """The schema with what it refers to in place of the references."""
    match schema:
        case {"$ref": str(reference), **beside}:
            return {**_whole(described[reference.rpartition("/")[2]], described), **beside}
        case {"type": "string", "enum": [*names], **beside}:
            # What a newer sidecar knows beside them is printed as its number.
            return {**beside, "anyOf": [{"enum": names}, {"type": "integer"}]}
        case dict():
            return {key: _whole(value, described) for key, value in schema.items()}
        case list():
            return [_whole(value, described) for value in schema]
        case _:
            return schema
