"""The form in which an agent was asked to answer, and the marker in it by which it is found."""

import re
from collections.abc import Sequence
from typing import Final

from sidecar.core.value import value

ANSWER_FORM: Final = "FINAL_ANSWER: <your answer>"
"""The founding form."""

_PLACEHOLDERS: Final = (
    re.compile(r"<[^<>/][^<>]*>"),
    re.compile(r"\.{3}|\u2026|_{3,}"),
    re.compile(r"\[[^\[\]]*\]|\{[^{}]*\}"),
)
"""What stands for the answer in a form, in the order in which it is looked for."""


@value
class Form:
    """A form of answers, taken apart."""

    marker: str
    """What stands before the answer; never empty or blank."""
    placeholder: str = ""
    """What stands for the answer; empty: the form has nothing in its place."""
    after: str = ""
    """What stands behind the answer."""


def form_of(answer_form: str) -> Form:
    """The form that a text describes: `ANSWER: <it>`, `<answer>...</answer>`, or a bare `ANSWER:`.

    A text in which nothing stands before a placeholder and which does not end in a colon ("one
    word, in lower case") names no marker: then it is that of the founding form.
    """
    for pattern in _PLACEHOLDERS:
        # From the second character on: in `<answer>...</answer>` the tag is the marker.
        found = pattern.search(answer_form, 1)
        if found and answer_form[: found.start()].strip():
            return Form(
                marker=answer_form[: found.start()].strip(),
                placeholder=found[0],
                after=answer_form[found.end() :].strip(),
            )
    marker = answer_form.strip()
    return Form(marker=marker) if marker[:-1] and marker[-1] == ":" else form_of(ANSWER_FORM)


def pattern_of(forms: Sequence[Form]) -> re.Pattern[str]:
    """Finds every form's marker, in any case; `lastindex` is the form's place, from 1."""
    # An empty group behind each and none around it: sre looks for what a pattern begins with.
    # Where there is no form, nothing matches.
    return re.compile("|".join(f"{_marker(form.marker)}()" for form in forms) or r"(?!)")


def _marker(marker: str) -> str:
    # Unicode takes the long s for an S, and no agent means that in ASCII.
    flags = "ai" if marker.isascii() else "i"
    # Who writes Markdown with care writes FINAL\_ANSWER.
    words = re.escape(marker.removesuffix(":")).replace("_", r"\\?_")
    if marker[-1] == ":":
        # Emphasis of the marker alone closes before the colon: `**FINAL_ANSWER**: Paris`.
        return rf"(?{flags}:{words})[*_`]{{0,3}}:"
    end = r"(?!\w)" if re.match(r"\w", marker[-1]) else ""
    return f"(?{flags}:{words}){end}"
