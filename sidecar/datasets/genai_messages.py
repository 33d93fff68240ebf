"""`gen_ai.input.messages` and `gen_ai.output.messages`, as spans and events have them."""

from typing import Any, TypeAlias

import msgspec

from sidecar.datasets.json_text import decode


class Part(msgspec.Struct, frozen=True):
    """One part of a message."""

    type: str = ""
    content: Any = None
    """Of a text."""
    id: str | None = None
    """Of a tool call, and of the answer to it."""
    name: str | None = None
    arguments: Any = None
    response: Any = None
    result: Any = None
    """An earlier name of the response."""

    @property
    def words(self) -> str:
        """The text, or the answer of a tool as text."""
        for value in (self.content, self.response, self.result):
            if value is not None:
                return value if isinstance(value, str) else msgspec.json.encode(value).decode()
        return ""


class Message(msgspec.Struct, frozen=True):
    """One message."""

    role: str = ""
    parts: list[Part] = []


Messages: TypeAlias = list[Message]


def messages_in(value: Any) -> Messages:
    """The messages in an attribute, JSON text or structured; none where it is of another form."""
    try:
        parsed = decode(value) if isinstance(value, str) else value
        return msgspec.convert(parsed, Messages) if parsed is not None else []
    except (ValueError, msgspec.ValidationError):
        return []


def answers_in(messages: Messages) -> dict[str, str]:
    """What tools answered, by the id of the call."""
    return {
        part.id: part.words
        for message in messages
        for part in message.parts
        if part.type == "tool_call_response" and part.id
    }
