"""Finding a final answer in text, without any model.

An agent is asked to write its answer behind a marker, `FINAL_ANSWER: <your answer>` unless its
policy says otherwise. In a text the last marker with a real answer behind it wins; in a history the
last message of the assistant that has one. Every input has a defined result and none raises.
docs/answers.md has the rules for people.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, TypeAlias

from sidecar.core.answers.form import ANSWER_FORM, form_of, pattern_of
from sidecar.core.answers.marks import marked_lines, marks
from sidecar.core.answers.messages import plain
from sidecar.core.answers.text import answer_of
from sidecar.core.value import value

BUDGET: Final = 120_000
"""Characters around markers that are read, the last ones, over all messages: the lines they stand
on, and MARK_COST for each, so 300 markers at most. An agent that wrote no answer behind any of so
many has none."""

Texts: TypeAlias = Iterable[tuple[int | None, str]]
"""Texts with the index of their message, in the order in which they are looked through."""


class Source(StrEnum):
    """Where an answer was found."""

    NONE = "NONE"
    TEXT = "TEXT"
    HISTORY = "HISTORY"
    MODEL = "MODEL"
    """In the reply to a forced commit."""


class Rule(StrEnum):
    """What found an answer."""

    SAME_LINE = "same_line"
    """It stands behind the marker."""
    NEXT_LINE = "next_line"
    """The marker's line is empty behind it, and the answer stands on the next."""


@value
class Extraction:
    """An answer and where it stood."""

    answer: str | None = None
    """One line, never empty; None: none was found, and so are the rule and the positions."""
    source: Source = Source.NONE
    rule: Rule | None = None
    message_index: int | None = None
    """Index of the message it stood in; None outside a history."""
    offset: int | None = None
    """Where it begins in the text, or in the message's text blocks joined by newlines, in code
    points."""


NOTHING: Final = Extraction()


def extract(
    text_or_messages: str | Sequence[object], markers: Sequence[str] = (ANSWER_FORM,)
) -> Extraction:
    """The final answer in a text, or in a history of messages, oldest first.

    `markers` are the forms in which it was asked for (`Policy.answer_form`), or bare markers; where
    they are several, whichever stands last counts. A message is a mapping with `role` and
    `content`, or such an object of an SDK; what is no message, no assistant's, or no text in it is
    passed over.
    """
    if isinstance(text_or_messages, str):
        return _find([(None, text_or_messages)], markers, Source.TEXT)
    return _find(_said(text_or_messages), markers, Source.HISTORY)


def settle(
    reply: object, messages: Sequence[object], markers: Sequence[str] = (ANSWER_FORM,)
) -> Extraction:
    """The answer of a forced commit: the reply's, else the history's, else none.

    `reply` is the content of the model's message, a text or blocks; None: the model gave none.
    """
    found = _find([(None, content_text(reply))], markers, Source.MODEL)
    return found if found.answer is not None else extract(messages, markers)


def content_text(content: object) -> str:
    """What a message says in words: its content, or its text blocks joined by newlines."""
    match content:
        case str():
            return content
        case [*blocks]:
            return "\n".join([text for block in blocks for text in _block_text(block)])
        case _:
            return ""


def _block_text(block: object) -> tuple[str, ...]:
    """The text of a block in which an assistant speaks: of Anthropic's and OpenAI's messages, and
    of OpenAI's Responses."""
    match plain(block):
        case {"type": "text" | "output_text", "text": str(text)}:
            return (text,)
        case _:
            return ()


def _said(messages: object) -> Texts:
    """What the assistant said, the latest first."""
    match messages:
        case [*_]:
            for index in range(len(messages) - 1, -1, -1):
                match plain(messages[index]):
                    case {"role": "assistant", "content": content}:
                        yield index, content_text(content)


def _find(texts: Texts, markers: Sequence[str], source: Source) -> Extraction:
    # Of two markers of which one begins like the other, the longer one is meant.
    forms = sorted(map(form_of, markers), key=lambda form: -len(form.marker))
    pattern, budget = pattern_of(forms), BUDGET
    for index, text in texts:
        lines, budget = marked_lines(text, pattern, budget)
        for mark in marks(text, lines, forms):
            if found := answer_of(text, mark):
                return Extraction(
                    answer=text[found.start : found.end],
                    source=source,
                    rule=Rule.NEXT_LINE if found.below else Rule.SAME_LINE,
                    message_index=index,
                    offset=found.start,
                )
        if budget <= 0:
            break
    return NOTHING
