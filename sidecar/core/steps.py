"""Work in steps, so that who runs it can do something else in between.

An error of 64 Ki characters that is made to be slow takes 50 ms, and each of its steps at most 5.
"""

import re
from collections.abc import Callable, Generator
from itertools import islice
from typing import Final, TypeAlias, TypeVar

Result = TypeVar("Result")
Steps: TypeAlias = Generator[None, None, Result]
"""Yields after each step, and returns what the work comes to."""

MATCHES_AT_ONCE: Final = 1024
"""Matches replaced in one step, each for half a microsecond and more."""
LARGE_BYTES: Final = 8192
"""Text below which they are replaced all at once: so many matches are not in it that it would take
longer than a few steps."""


def finished(steps: Steps[Result]) -> Result:
    """What the work comes to, done at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def replacing(
    pattern: re.Pattern[bytes], put: bytes | Callable[[re.Match[bytes]], bytes], text: bytes
) -> Steps[bytes]:
    """`pattern.sub(put, text)`, so many matches at a time; `put` has no references to groups."""
    if len(text) < LARGE_BYTES:
        return pattern.sub(put, text)
    matches = pattern.finditer(text)
    kept: list[bytes] = []
    end = count = 0
    while True:
        # One after the other: so many at a time would have the collector of garbage look.
        for match in islice(matches, MATCHES_AT_ONCE):
            begin, after = match.span()
            kept.append(text[end:begin])
            if not isinstance(put, bytes):
                kept.append(put(match))
            end = after
        if len(kept) == count:
            break
        count = len(kept)
        yield
    kept.append(text[end:])
    return (put if isinstance(put, bytes) else b"").join(kept)
