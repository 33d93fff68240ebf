"""Work in steps, so that who runs it can do something else in between.

An error of 64 Ki characters that is made to be slow takes 50 ms, and each of its steps at most 15.
"""

from collections.abc import Generator
from typing import TypeAlias, TypeVar

Result = TypeVar("Result")
Steps: TypeAlias = Generator[None, None, Result]
"""Yields after each step, and returns what the work comes to."""


def finished(steps: Steps[Result]) -> Result:
    """What the work comes to, done at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
