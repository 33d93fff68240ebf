"""A score read off a tool's result, where a policy says how it is written."""

import re
from functools import lru_cache
from typing import Final

PLACE: Final = "{number}"
"""Stands for the score in the form that a policy gives."""

NUMBER: Final = r"([-+]?[0-9]{1,18}(?:\.[0-9]{1,18})?)"
"""No exponents: results are written for people. Bounded, so that no text is read twice."""


def require_form(form: str) -> None:
    """Refuse a form without a place, with two, or with nothing before it to look for. Raises
    ValueError."""
    before, place, after = form.partition(PLACE)
    if not place or PLACE in after or not before.strip():
        raise ValueError(
            f"score is {form!r}: it must be a text with {PLACE} once, after some words, "
            f'as "Score: {PLACE}"'
        )


def score_in(text: str, form: str) -> float | None:
    """The last number in the text that is written in this form; None: there is none."""
    found = _pattern(form).findall(text)
    return float(found[-1]) if found else None


@lru_cache(maxsize=64)
def _pattern(form: str) -> re.Pattern[str]:
    before, _, after = form.partition(PLACE)
    # A longer number is not cut to a shorter one by what follows it.
    ending = re.escape(after) if after else r"(?![0-9])"
    return re.compile(re.escape(before) + NUMBER + ending)
