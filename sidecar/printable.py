"""Texts of agents and files where they must do nothing but be read.

A session's id, a tool's name, an approach: whoever drives the agent chooses them, and the terminal
that shows them is the operator's. Characters that would steer it are shown as escapes.
"""

import json
from typing import Any, Final

SHOWN_LENGTH: Final = 80
"""Characters of a value that an error line shows."""


def printable(text: str) -> str:
    """The text in one line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """The text, its ends of lines left as they are."""
    return "\n".join(printable(line) for line in text.split("\n"))


def printable_json(text: str) -> str:
    """JSON that means the same: its characters that would steer a terminal, or end a line for some
    readers, as escapes. They stand in its strings only."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text)


def shown(value: Any) -> str:
    """The value as JSON, cut to a readable length."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_LENGTH else f"{text[: SHOWN_LENGTH - 3]}..."


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else json.dumps(character)[1:-1]
