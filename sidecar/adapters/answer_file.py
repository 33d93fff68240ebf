"""Files in which an answer is looked for: a text, or a JSON array of messages.

A file is a history when it holds a JSON array and nothing else, or a request to an API of models,
which has its history under `messages`. One that begins like an array of
objects and is not JSON is refused, since reading it as a text would find what others than the
assistant said; any other text is a text, also one that begins with a bracket.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any, Final, TypeAlias

STANDARD_INPUT: Final = "-"

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
"""A hundred times the longest recorded run; more is no conversation."""

EXPECTED: Final = (
    'expected a text, or a JSON array of messages such as {"role": "assistant", "content": "..."}'
)

_BEGINS_LIKE_MESSAGES = re.compile(r'\s*\[\s*\{\s*"')

Content: TypeAlias = str | list[dict[str, Any]]


class FileUnfitError(Exception):
    """A file that is neither a text nor a history; says what is wrong and what would be right."""


def read_answer_file(source: str) -> Content:
    """The text or the messages in a file, or in standard input for `-`.

    Raises OSError when it cannot be read and FileUnfitError when it is not what it should be.
    """
    if source == STANDARD_INPUT:
        raw = sys.stdin.buffer.read(FILE_BYTES_MAX + 1)
    else:
        with Path(source).open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    if len(raw) > FILE_BYTES_MAX:
        raise FileUnfitError(f"longer than {FILE_BYTES_MAX} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileUnfitError(f"not UTF-8 at byte {error.start}; {EXPECTED}") from error
    match text.lstrip()[:1]:
        case "[":
            return _messages(text)
        case "{":
            return _asked(text)
        case _:
            return text


def _asked(text: str) -> Content:
    """The history of a request, or the text that begins with a brace."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    match found:
        case {"messages": [*messages]} if all(map(_is_message, messages)):
            return messages
        case _:
            return text


def _messages(text: str) -> Content:
    """The array that a text is, or the text that begins with a bracket."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        if not _BEGINS_LIKE_MESSAGES.match(text):
            return text
        why = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise FileUnfitError(f"a JSON array that cannot be read ({why}); {EXPECTED}") from error
    for number, item in enumerate(found, 1):
        if not _is_message(item):
            raise FileUnfitError(f"item {number} of its JSON array is no message; {EXPECTED}")
    messages: list[dict[str, Any]] = found
    return messages


def _is_message(item: object) -> bool:
    """Whether it has a role, or a type as some items of OpenAI's Responses have instead."""
    match item:
        case {"role": str()} | {"type": str()}:
            return True
        case _:
            return False
