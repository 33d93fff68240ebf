"""Question files in the form of the GAIA benchmark, and its way to compare answers.

The comparison is that of the benchmark's own scorer (gaia-benchmark/leaderboard, scorer.py): a
number by its value without $, % and commas; a list element by element; words without blanks, case
and punctuation.
"""

import contextlib
import hashlib
import json
import string
from collections import Counter
from collections.abc import Mapping, Sequence
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

    def digest(self) -> str:
        """SHA-256 of what makes it this question: id, text, and the file's name and content."""
        name = content = None
        if self.file is not None:
            name = self.file.name
            with contextlib.suppress(OSError), self.file.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        return hashlib.sha256(json.dumps([self.id, self.text, name, content]).encode()).hexdigest()


def read_questions(path: Path) -> list[Question]:
    """The questions of a JSON Lines file; their files are beside it. Raises QuestionsInvalidError,
    or OSError."""
    questions: list[Question] = []
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise QuestionsInvalidError(f"{path}: it is not UTF-8") from error
    # Not splitlines(): what else it takes for the end of a line may stand in a string of JSON.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                questions.append(_question(json.loads(line), path.parent))
            except ValueError as error:
                raise QuestionsInvalidError(f"{path}:{number}: {error}") from error
    if not questions:
        raise QuestionsInvalidError(f"{path}: no questions in it, expected one a line")
    numbers = Counter(question.id for question in questions)
    if twice := [repr(task_id) for task_id, number in numbers.items() if number > 1]:
        raise QuestionsInvalidError(f"{path}: each task_id may be there once, not {twice[0]}")
    return questions


def _question(row: object, folder: Path) -> Question:
    """Raises ValueError."""
    if not isinstance(row, dict):
        raise ValueError("a line is one object with task_id, Question and what else is known")
    answer = row.get("Final answer")
    name = Path(str(row.get("file_name") or "")).name
    return Question(
        id=_needed(row, "task_id"),
        text=_needed(row, "Question"),
        level=str(row.get("Level") or ""),
        answer=None if answer in (None, "", UNKNOWN) else str(answer),
        file=folder / name if name else None,
    )


def _needed(row: Mapping[str, Any], key: str) -> str:
    """Raises ValueError where there is nothing."""
    text = "" if row.get(key) is None else str(row[key])
    if not text.strip():
        raise ValueError(f"no {key!r}")
    return text


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
