"""Files in which an answer is looked for: a text, or messages.

Messages stand in a JSON array, or one after another (JSON Lines; one alone), or in what goes to an
API of models and comes back. A file that begins like messages and is not wholly such is refused,
since reading it as a text would find what others than the assistant said; any other text is a text,
also one that begins with a bracket or a brace.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

STANDARD_INPUT: Final = "-"

FILE_BYTES_MAX: Final = 64 * 1024 * 1024
"""A hundred times the longest recorded run; more is no conversation."""

EXPECTED: Final = (
    'expected a text, or messages such as {"role": "assistant", "content": "..."}, one or a line '
    "each, or in a JSON array"
)

_BEGINS_LIKE_MESSAGES: Final = re.compile(r'\s*\[\s*\{\s*"')
_BEGINS_LIKE_A_MESSAGE: Final = re.compile(r'\s*\{\s*"')
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()

Content: TypeAlias = str | list[dict[str, Any]]


class FileUnfitError(Exception):
    """A file that is neither a text nor a history; says what is wrong and what would be right."""


def read_answer_file(source: str, answer_form: str) -> Content:
    """The text or the messages in a file, or in standard input for `-`. Where the form of answers
    is an object itself, one that is no message is a text.

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
            return _said(text, may_be_answer=answer_form.lstrip().startswith("{"))
        case _:
            return text


def _said(text: str, *, may_be_answer: bool) -> Content:
    """The messages that stand one after another in a text, or the text that begins with a brace."""
    messages: list[dict[str, Any]] = []
    try:
        for number, found in enumerate(_values(text), 1):
            said = _in_object(found)
            if said is None:
                raise FileUnfitError(f"object {number} of its JSON is no message; {EXPECTED}")
            messages += said
    except FileUnfitError:
        if messages or (not may_be_answer and _BEGINS_LIKE_A_MESSAGE.match(text)):
            raise
        return text
    return messages


def _values(text: str) -> Iterator[Any]:
    """What stands in the text, one after another. Raises FileUnfitError."""
    at = _after_space(text, 0)
    while at < len(text):
        try:
            found, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise _unreadable("JSON", error) from error
        yield found
        at = _after_space(text, end)


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _in_object(found: Any) -> list[dict[str, Any]] | None:
    """The messages of one object; None: it has none."""
    match found:
        case {"messages": [*messages]} if all(map(_is_message, messages)):
            return messages  # a request
        case {"choices": [{"message": {"role": str()} as message}]}:
            return [message]  # Chat Completions
        case {"object": "response", "output": [*items]}:
            return [each for each in items if isinstance(each, dict)]  # Responses
        case {"message": {"role": str()} as message}:
            return [message]  # Ollama's response, and a line of Claude Code's transcripts
        case _ if _is_message(found):
            return [found]  # a response of Anthropic's Messages is one, too
        case _:
            return None


def _unreadable(what: str, error: Exception) -> FileUnfitError:
    why = "nested too deep" if isinstance(error, RecursionError) else str(error)
    return FileUnfitError(f"{what} that cannot be read ({why}); {EXPECTED}")


def _messages(text: str) -> Content:
    """The array that a text is, or the text that begins with a bracket."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        if not _BEGINS_LIKE_MESSAGES.match(text):
            return text
        raise _unreadable("a JSON array", error) from error
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
