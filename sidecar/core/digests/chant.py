"""Chanting: one phrase said over and over within one text, the way a model does that is stuck.

A chant is a stretch of text that repeats itself exactly at a fixed distance. The test for it costs
2 us a kilobyte: every PROBE_STEP characters it asks whether what stands there comes again soon.
Only where it does is the structure of the text looked at.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from sidecar.core.digests.measured import TEXT_MAX

CHANT_MIN: Final = 200
"""Characters that the repeating stretch covers at least."""
PHRASE_LENGTH: Final = 20
"""Characters of a phrase at least: shorter ones come again in any prose."""
GAP_MAX: Final = 250
"""Characters from one saying to the next at most: what comes again after more is a template."""
REPEATS_MIN: Final = 3
"""Sayings below which nothing is chanted."""
REPEATS_LOST: Final = 10
"""Sayings from which on a chant counts though other text follows it. With fewer, a model that got
out of it by itself has stumbled and no more."""
PROBE_STEP: Final = 80
"""Characters between two probes; small enough that a probe in every chant finds its phrase again
within the chant, as the numbers above are."""
GAPS_TRIED_MAX: Final = 16
"""Distances tried for one probe: a bound for texts that are made to be slow."""
LETTERS_MIN: Final = 0.2
"""Share of letters and digits in a line below which it is a rule or the frame of a table."""
LINE_MAX: Final = 4_096
"""Characters by which a line is judged: what 64 KiB in one line begin with, they are."""
_STEPS: Final = (256, 64, 16, 4, 1)
"""Strides in which two stretches are compared."""

_FENCE = re.compile(r"```|^[ \t]*~~~", re.MULTILINE)
_CODE: Final = "\n#\n"
"""What stands for a piece of code: a line of structure."""
_STRUCTURE = re.compile(
    r"[-*+\u2022>|#{}\[\]\"<]|[0-9]{1,3}[.)](?:[ \t]|$)"
    r"|[\w.\"'-]{1,40} ?[:=] ?\S{1,60},[ \t]*$"
)
"""How a line of a list, a heading, a quote, a table or data begins."""
_COLUMNS_MIN: Final = 2
"""Bars in a line from which on it is a row of a table."""


def text_repeats(text: str) -> int:
    """How often one phrase is chanted within the text; 0: none is.

    Of a text longer than TEXT_MAX the last TEXT_MAX characters are read. Code, lists, tables,
    headings, quotes, rules and data repeat by nature: they are no chant, and they end one.
    """
    if len(text) < CHANT_MIN:
        return 0
    text = text[-TEXT_MAX:]
    if next(_chants(text), None) is None:
        return 0
    most = 0
    for passage, last in _passages(text):
        for repeats, gap, end in _chants(passage):
            lost = repeats >= REPEATS_LOST
            if lost or (last and len(passage[end:].strip()) < gap):
                most = max(most, repeats)
    return most


def _chants(text: str) -> Iterator[tuple[int, int, int]]:
    """Each chant in the text: times said, characters from one saying to the next, its end."""
    begin = start = 0
    while start <= len(text) - CHANT_MIN + PROBE_STEP:
        phrase = text[start : start + PHRASE_LENGTH]
        reach = start + GAP_MAX + PHRASE_LENGTH
        again, tried = text.find(phrase, start + 1, reach), 0
        while again >= 0 and tried < GAPS_TRIED_MAX:
            if _may_be_chanted(text, start, again):
                gap = again - start
                end = again + _alike(text, start, again)
                first = start - _alike_before(text, start, again, most=start - begin)
                repeats = (end - first - PHRASE_LENGTH) // gap + 1
                if end - first >= CHANT_MIN and repeats >= REPEATS_MIN:
                    if any(map(str.isalnum, text[start:again])):
                        yield repeats, gap, end
                    begin = start = end
                    break
            again, tried = text.find(phrase, again + 1, reach), tried + 1
        else:
            start += PROBE_STEP


def _may_be_chanted(text: str, left: int, right: int) -> bool:
    """Whether the characters before or those from there on are alike for half of what it takes."""
    gap = right - left
    half = max(CHANT_MIN - gap, (REPEATS_MIN - 2) * gap + PHRASE_LENGTH) // 2
    return text.startswith(text[left : left + half], right) or (
        left >= half and text.startswith(text[left - half : left], right - half)
    )


def _alike(text: str, left: int, right: int) -> int:
    """How many characters from `left` on are the same as from `right` on."""
    same = 0
    for step in _STEPS:
        while text.startswith(text[left + same : left + same + step], right + same):
            same += step
    return same


def _alike_before(text: str, left: int, right: int, *, most: int) -> int:
    """How many characters before `left` are the same as before `right`, up to `most`."""
    same = 0
    for step in _STEPS:
        while same + step <= most and text.startswith(
            text[left - same - step : left - same], right - same - step
        ):
            same += step
    return same


def _passages(text: str) -> Iterator[tuple[str, bool]]:
    """The prose between code and lines of structure; of each, whether it ends the text."""
    parts = _FENCE.split(text)
    prose = _CODE.join(parts[::2]) + (_CODE if len(parts) % 2 == 0 else "")
    lines = prose.split("\n")
    is_prose = {line: _is_prose(line) for line in set(lines)}
    groups = [(kept, "\n".join(run)) for kept, run in groupby(lines, is_prose.__getitem__)]
    for number, (kept, passage) in enumerate(groups, start=1):
        if kept:
            yield passage, number == len(groups)


def _is_prose(line: str) -> bool:
    line = line[:LINE_MAX]
    if line.isalnum():
        return True
    written = len(line) - line.count(" ")
    if not written:
        return True
    if line.count("|") >= _COLUMNS_MIN or _STRUCTURE.match(line.lstrip(" \t")):
        return False
    return sum(map(str.isalnum, line)) >= LETTERS_MIN * written
