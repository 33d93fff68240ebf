"""JSON as other tools write it: with NaN, halves of surrogate pairs, and errors to be named."""

import json
from typing import Any

import msgspec


def decode(content: bytes | str) -> Any:
    """The value of a JSON text; half a surrogate pair in it becomes a question mark.

    Raises ValueError: JSONDecodeError and UnicodeDecodeError say where the error is.
    """
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        # Python's own is several times slower, takes more and says in which line an error is.
        pass
    try:
        return _encodable(json.loads(content))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def clean(text: str) -> str:
    """The text as UTF-8 can hold it."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _encodable(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case list():
            return [_encodable(part) for part in value]
        case dict():
            return {clean(key): _encodable(part) for key, part in value.items()}
    return value
