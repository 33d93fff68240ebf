"""Chanting inside the assistant's text, as gemini-cli and qwen-code look for it.

Both slide a window of 50 characters over the text as it streams and call it chanting when one
window comes up 10 times close together. Fences, tables, lists, headings and quotes begin the text
afresh, and what stands in a fence is not looked at. They differ in how close is close, in whether
the text between must repeat too, and in two character classes. Sources: see gemini_cli, qwen_code.

A recorded text has no chunks: it is cut at line ends and fences, as if each had been one chunk.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final

WINDOW_CHARACTERS: Final = 50
TIMES: Final = 10
HISTORY_CHARACTERS: Final = 5000
"""Kept of the text; more than TIMES windows at the largest gap of either peer span."""

FENCE: Final = "```"
BOX_DRAWING: Final = frozenset(chr(code) for code in range(0x2500, 0x2580))
_RULE_RUN: Final = re.compile(r"[|+-]{3}")
_NUMBERED: Final = re.compile(r"[0-9]+\.\s")
_HEADING_OR_QUOTE: Final = re.compile(r"#+\s|>\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How one peer looks for chanting."""

    gap_mean_max: float
    """Characters between the starts of the repeats, on average."""
    periods_max: int = TIMES
    """How many different stretches may lie between the repeats."""
    bullets: frozenset[str]
    """What opens a list item."""
    divider: frozenset[str]
    """What a line may consist of to be a rule, which is not looked at."""


@dataclass(slots=True)
class Stream:
    """The assistant's text since the last call or prompt."""

    manner: Manner
    prose: str = ""
    fenced: bool = False

    def clear(self) -> None:
        """A tool call or a new prompt: the text begins afresh. A fence left open stays open."""
        self.prose = ""

    def chants(self, text: str) -> bool:
        """Takes in what was said; whether it chants. Afterwards the text begins afresh."""
        found = any(chants(prose, self.manner) for prose in self._prose_in(text))
        self.prose = "" if found else self.prose[-HISTORY_CHARACTERS:]
        return found

    def _prose_in(self, text: str) -> Iterator[str]:
        """Each unbroken stretch of prose, as far as it goes."""
        for piece in pieces(text):
            line = piece.rstrip("\n")
            rule = bool(line) and set(line) <= self.manner.divider
            if rule or opens_afresh(piece, self.manner):
                yield self.prose
                self.clear()
            was_fenced = self.fenced
            self.fenced ^= piece == FENCE
            if not (was_fenced or self.fenced or rule):
                self.prose += piece
        yield self.prose


def pieces(text: str) -> Iterator[str]:
    """A text cut at line ends and around fences."""
    for line in text.splitlines(keepends=True):
        yield from filter(None, re.split(f"({FENCE})", line))


def opens_afresh(piece: str, manner: Manner) -> bool:
    """Whether a piece is a fence, a table row, a list item, a heading or a quote."""
    inner = piece.lstrip()
    return bool(
        piece == FENCE
        or (inner.startswith("|") and "|" in inner[1:].rstrip("\n"))
        or _RULE_RUN.match(inner)
        or (inner[:1] in manner.bullets and inner[1:2].isspace())
        or _NUMBERED.match(inner)
        or _HEADING_OR_QUOTE.match(piece)
    )


def chants(prose: str, manner: Manner) -> bool:
    """Whether one window comes up TIMES times close together."""
    seen: defaultdict[str, deque[int]] = defaultdict(partial(deque, maxlen=TIMES))
    for start in range(len(prose) - WINDOW_CHARACTERS + 1):
        places = seen[prose[start : start + WINDOW_CHARACTERS]]
        places.append(start)
        if len(places) == TIMES and _close(list(places), prose, manner):
            return True
    return False


def _close(places: list[int], prose: str, manner: Manner) -> bool:
    between = {prose[here:there] for here, there in pairwise(places)}
    spread = places[-1] - places[0]
    return spread <= manner.gap_mean_max * (TIMES - 1) and len(between) <= manner.periods_max
