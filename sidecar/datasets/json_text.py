"""JSON as other tools write it: with NaN, halves of surrogate pairs, and errors to be named."""

import json
from typing import Any, Final

import msgspec

from sidecar.core.answers.messages import sendable

NESTED_MAX: Final = 500
"""Lists and objects within one another, in a value that a converter is given.

Python takes 1,000 frames by default, and some 100 are below a converter: what walks a value has
one frame for each level of it, and never more.
"""


def decode(content: bytes | str) -> Any:
    """The value of a JSON text; half a surrogate pair in it becomes a question mark.

    Raises ValueError: JSONDecodeError and UnicodeDecodeError say where the error is, and any other
    is of a value that is nested deeper than NESTED_MAX.
    """
    value = parse(content)
    check_nesting(value)
    return value


def parse(content: bytes | str) -> Any:
    """The same, nested as deeply as it can be read at all: for a whole whose parts are checked one
    by one. Raises ValueError."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        # Python's own is several times slower, takes more and says in which line an error is.
        pass
    try:
        return sendable(json.loads(content))
    except RecursionError:
        raise _too_deep() from None


def check_nesting(value: Any) -> None:
    """Raises ValueError where a parsed value is nested deeper than NESTED_MAX."""
    # Level by level, since a recursion would be what is guarded against.
    level: list[Any] = [[value]]
    for _ in range(NESTED_MAX + 1):
        level = [
            part
            for whole in level
            for part in (whole.values() if isinstance(whole, dict) else whole)
            if isinstance(part, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"nested too deeply; expected at most {NESTED_MAX} levels")
