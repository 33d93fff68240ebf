"""Question files in the form of the GAIA benchmark, and its way to compare answers.

The comparison is that of the benchmark's own scorer (gaia-benchmark/leaderboard, scorer.py): a
number by its value without $, % and commas; a list element by element; words without blanks, case
and punctuation.
"""

import json
import string
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sidecar.core.value import value

SEPARATORS: Final = (",", ";")
UNKNOWN: Final = "?"
"""What the benchmark's test set has in place of its answers."""


class QuestionsInvalidError(Exception):
    """A file is not one of questions; the text says where and why."""


@value
class Question:
    """One line of a file."""

    id: str
    text: str
    level: str
    answer: str | None
    """The true one; None: the file does not tell."""
    file: Path | None


def read_questions(path: Path) -> list[Question]:
    """The questions of a JSON Lines file; their files are beside it. Raises QuestionsInvalidError,
    or OSError."""
    questions: list[Question] = []
    # Not splitlines(): what else it takes for the end of a line may stand in a string of JSON.
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if line.strip():
            try:
                questions.append(_question(json.loads(line), path.parent))
            except (ValueError, TypeError, AttributeError, KeyError) as error:
                why = f"no {error}" if isinstance(error, KeyError) else str(error)
                raise QuestionsInvalidError(f"{path}:{number}: {why}") from error
    if not questions:
        raise QuestionsInvalidError(f"{path}: no questions in it, expected one a line")
    numbers = Counter(question.id for question in questions)
    if twice := [repr(task_id) for task_id, number in numbers.items() if number > 1]:
        raise QuestionsInvalidError(f"{path}: each task_id may be there once, not {twice[0]}")
    return questions


def _question(row: dict[str, Any], folder: Path) -> Question:
    answer = row.get("Final answer")
    name = Path(str(row.get("file_name") or "")).name
    return Question(
        id=str(row["task_id"]),
        text=str(row["Question"]),
        level=str(row.get("Level") or ""),
        answer=None if answer in (None, "", UNKNOWN) else str(answer),
        file=folder / name if name else None,
    )


def is_correct(answer: str | None, truth: str) -> bool:
    """Whether an answer is the true one, as the benchmark has it."""
    if answer is None:
        return False
    if (number := _number(truth)) is not None:
        return _number(_plain(answer)) == number
    if any(separator in truth for separator in SEPARATORS):
        given, wanted = _elements(answer), _elements(truth)
        return len(given) == len(wanted) and all(map(_is_same_element, given, wanted))
    return _words(answer) == _words(truth)


def _is_same_element(given: str, wanted: str) -> bool:
    if (number := _number(wanted)) is not None:
        return _number(_plain(given)) == number
    return "".join(given.split()).lower() == "".join(wanted.split()).lower()


def _elements(text: str) -> Sequence[str]:
    for separator in SEPARATORS[1:]:
        text = text.replace(separator, SEPARATORS[0])
    return text.split(SEPARATORS[0])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _plain(text: str) -> str:
    return "".join(sign for sign in text if sign not in "$%,")


def _words(text: str) -> str:
    kept = "".join(text.split()).lower()
    return kept.translate(str.maketrans("", "", string.punctuation))
