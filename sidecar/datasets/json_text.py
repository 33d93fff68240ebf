"""JSON as other tools write it: with NaN, halves of surrogate pairs, and errors to be named."""

import json
from typing import Any

import msgspec

from sidecar.core.messages import sendable


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
        return sendable(json.loads(content))
    except RecursionError:
        raise ValueError("nested too deeply") from None
