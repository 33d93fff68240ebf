"""Where in a text a marker of the final answer stands, and where one is only spoken of.

A marker inside a word, in quotation marks, in the middle of a block quote, in the comment of a
program, or in a code span of its own within a sentence is spoken of. Looking for markers takes one
pass over the text. What is read around them is bounded, for each by REACH and for all by the
caller's budget, so no text takes long.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from sidecar.core.answers.form import Form
from sidecar.core.value import value

ENDS: Final = "\n\r\u2028\u2029"
"""What ends a line: the line terminators of the founding implementation's language."""
BLANKS: Final = (
    "\t\v\f \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    f"\u202f\u205f\u3000\ufeff{ENDS}"
)
"""What is trimmed: the same language's white space."""
EMPHASIS: Final = "*_`"
REACH: Final = 2_000
"""Characters before a marker, on its line, in which quotation marks are looked for; and as many
behind it, in which they close, and in which an answer below it begins. In an answer that is longer
no markup is looked for."""
MARK_COST: Final = 400
"""Characters that can be read in the time a marker takes by itself."""
PROGRAM_MAX: Final = 8_000
"""Characters before a line in which the fence is looked for that it stands in."""
WINDOW: Final = 65_536
"""Characters in which markers are looked for at once, from the end: of thousands of them only the
last ones count."""
MARKER_MAX: Final = 1_000
"""Characters of a marker. One that is longer is not found where a window ends."""
DECORATION_MAX: Final = 200
"""Characters of quote, list and heading signs and emphasis before a marker that begins its line."""
SIGN_MAX: Final = 4
"""Characters of emphasis that open or close together; more of them are an ornament."""

_END = re.compile(f"[{ENDS}]")
_DECORATION = re.compile(
    rf"[{BLANKS}>]*+(?:(?:[-*+\u2022#]{{1,6}}|[0-9]{{1,9}}[.)])[{BLANKS}]++)*+[*_`]*+"
)
"""What may stand before a marker that begins its line: quote, list and heading signs, emphasis."""
_CLOSING = re.compile(
    rf"[*_`]{{1,3}}(?=[{BLANKS}]|\Z)|</[A-Za-z][^<>]{{0,30}}>"
    rf"|[{BLANKS}]++</[A-Za-z][^<>]{{0,30}}>(?=[{BLANKS}]*+(?!</)[^{BLANKS}])"
)
"""What closes right behind a marker: emphasis that no text follows, or a tag; behind a blank too, a
tag that an answer follows, as in `<b>FINAL_ANSWER: </b> Paris`."""
_CODE_ENDS = re.compile(r" ?`")
_COMMENT = re.compile(r"#|//|--|/\*")
_LANGUAGE = re.compile(rf"[ \t]*+([^`{ENDS}]*+)")
TEXT_FENCES: Final = frozenset({"", "text", "txt", "plain", "plaintext", "markdown", "md"})
"""Languages of a fence that holds text. In others is a program: its comments and its first line are
no answers."""

_OPENING_QUOTES: Final = frozenset("\"'\u201c\u201e\u2018\u201a\u00ab\u2039\u300c\u300e")
_QUOTED = re.compile(
    r"\"(?<!\w.)\"(?:\"\")*+"
    r"|\"(?<!\w.)(?=\S)[^\"]*+\""
    r"|'(?<!\w.)(?=\S)(?:[^']++|\b'\b)*+'(?!\w)"
    r"|\u201c[^\u201c\u201d]*+\u201d"
    r"|\u201e[^\u201c-\u201e]*+[\u201c\u201d]"
    r"|\u00ab[^\u00ab\u00bb]*+\u00bb"
    r"|\u300c[^\u300c\u300d]*+\u300d"
)
"""Text in quotation marks. A straight one opens where no word ends, so inches and apostrophes do
not. Pairs with nothing in them are one match, so that a row of them takes no time."""


@value
class Mark:
    """A marker that may have an answer behind it. Positions are code points of the text."""

    form: Form
    line: int
    """Where its line starts."""
    start: int
    """Its first character, emphasis that opens right before it included."""
    end: int
    """Behind it and what closes with it."""
    stop: int
    """The next marker on its line, else the line's end."""
    below: int
    """Where the next line with a marker starts, else the text's end; `stop` for a marker with
    another one behind it on its line."""
    opened: str
    """Emphasis that opened right before it and is still open; empty: none."""


@value
class Line:
    """A line that has markers in it."""

    start: int
    end: int
    matches: list[re.Match[str]]
    """In order; never empty."""

    def cost(self, below: int) -> int:
        """Characters that are read for it at most, or could be in the time it takes, where the next
        line with a marker starts at `below`."""
        return len(self.matches) * MARK_COST + min(
            below - self.start, len(self.matches) * 2 * REACH
        )


def marked_lines(text: str, pattern: re.Pattern[str], budget: int) -> tuple[list[Line], int]:
    """The lines with the pattern's matches, the last one first, as many as the budget pays for, and
    what is left of it: negative where it ran out in the last of them."""
    lines: list[Line] = []
    end = -1
    for match in _last_matches(text, pattern, budget // MARK_COST + 1):
        if match.start() >= end:
            lower = max(end, 0)
            start = max(lower, *(text.rfind(sign, lower, match.start()) + 1 for sign in ENDS))
            found = _END.search(text, match.end())
            end = found.start() if found else len(text)
            lines.append(Line(start=start, end=end, matches=[]))
        lines[-1].matches.append(match)
    paid: list[Line] = []
    below = len(text)
    while lines and budget > 0:
        line = lines.pop()
        budget -= line.cost(below)
        paid.append(line)
        below = line.start
    return paid, budget


def _last_matches(text: str, pattern: re.Pattern[str], most: int) -> list[re.Match[str]]:
    """The last of the pattern's matches, in order."""
    matches: list[re.Match[str]] = []
    end = len(text)
    while end > 0 and len(matches) < most:
        start = max(0, end - WINDOW)
        found = pattern.finditer(text, start, end + MARKER_MAX)
        before = [match for match in found if match.start() < end]
        # One that goes on behind the window may have a shorter one in it.
        behind = before[-1].end() if before else 0
        matches = before + [match for match in matches if match.start() >= behind]
        end = start
    return matches[-most:]


def marks(text: str, lines: Sequence[Line], forms: Sequence[Form]) -> Iterator[Mark]:
    """The markers that are not merely spoken of, the last one first as the lines are."""
    below = len(text)
    for line in lines:
        stop = line.end
        for start, match in reversed(list(_meant(text, line))):
            end, opened = _closed(text, start, match, stop)
            yield Mark(
                form=forms[(match.lastindex or 1) - 1],
                line=line.start,
                start=start,
                end=end,
                stop=stop,
                below=below if stop == line.end else stop,
                opened=opened,
            )
            stop = start
        below = line.start


def _meant(text: str, line: Line) -> Iterator[tuple[int, re.Match[str]]]:
    """The line's markers that are meant, with where each starts, its emphasis included."""
    decoration = _DECORATION.match(text, line.start, min(line.end, line.start + DECORATION_MAX))
    body = decoration.end() if decoration else line.start
    begun = line.matches[0].start() <= body
    block_quote = not begun and text[line.start : body].lstrip().startswith(">")
    quoted = _quoted(text, line)
    comment = _comment(text, line)
    lower = line.start
    for match in line.matches:
        start = lower + len(text[lower : match.start()].rstrip(EMPHASIS))
        lower = match.end()
        begins = match.start() <= body
        if (
            (begins or not (block_quote or _is_mention(text, start, match)))
            and not _in_word(text, start, match)
            and text[max(line.start, start - 1) : start] not in _OPENING_QUOTES
            and not _within(quoted, match.start())
            and match.start() < comment
        ):
            yield start, match


def _quoted(text: str, line: Line) -> list[tuple[int, int]]:
    """Where text in quotation marks stands that begins before a marker of the line."""
    spans: list[tuple[int, int]] = []
    position = line.start
    for match in line.matches:
        lower = max(position, match.start() - REACH)
        for found in _QUOTED.finditer(text, lower, min(line.end, match.end() + REACH)):
            if found.start() >= match.start():
                break
            spans.append(found.span())
        position = max(match.start(), spans[-1][1] if spans else 0)
    return spans


def _comment(text: str, line: Line) -> int:
    """Where a comment begins on a line of a program; the line's end: nowhere."""
    first, last = line.matches[0].start(), line.matches[-1].start()
    found = _COMMENT.search(text, max(line.start, first - REACH), last)
    return found.start() if found and _is_program(text, line.start) else line.end


def _is_program(text: str, position: int) -> bool:
    """Whether a line stands in a fence that names a language. One that ends a fence names none, so
    the nearest one before it tells."""
    lower = max(0, position - PROGRAM_MAX)
    fence = max(text.rfind(sign, lower, position) for sign in ("```", "~~~"))
    before = text[text.rfind("\n", lower, fence) + 1 : fence]
    if fence < 0 or before.strip(" \t>"):
        return False
    language = _LANGUAGE.match(text, fence + 3, position)
    return language is not None and language[1].strip().lower() not in TEXT_FENCES


def _is_mention(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether it is a code span of its own: "end with the `FINAL_ANSWER:` marker"."""
    opens = text[start : match.start()].endswith("`")
    return opens and _CODE_ENDS.match(text, match.end()) is not None


def _in_word(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether it is the end of a longer word, as in NOT_A_FINAL_ANSWER.

    Scripts without capitals write words without spaces between, or join prefixes to other words, so
    their letters do not count.
    """
    if not start or not re.match(r"\w", match[0]):
        return False
    if "_" not in text[start : match.start()] and start < match.start():
        return False
    before = text[start - 1]
    if before in "nrt" and text[max(0, start - 2)] == "\\":
        return False
    return before == "_" or before.isdecimal() or before.lower() != before.upper()


def _within(spans: list[tuple[int, int]], position: int) -> bool:
    index = bisect_right(spans, (position, position)) - 1
    return index >= 0 and position < spans[index][1]


def _closed(text: str, start: int, match: re.Match[str], stop: int) -> tuple[int, str]:
    """Where the marker ends with what closes behind it, and the emphasis that is left open."""
    opened, end = text[start : match.start()], match.end()
    stop = min(stop, end + REACH)
    if closing := _CLOSING.match(text, end, stop):
        return closing.end(), ""
    sign = opened[::-1]
    if sign and text.startswith(sign, end, stop):
        return end + len(sign), ""
    closed_before_colon = match[0][-1] == ":" and match[0][-2] in EMPHASIS
    if closed_before_colon or len(sign) > SIGN_MAX:
        return end, ""
    after = stop - len(text[end:stop].lstrip(BLANKS))
    if sign and text.startswith(sign, after, stop):
        behind = after + len(sign)
        # Else it opens again, around the answer.
        return (behind if _stands_apart(text, sign, behind, stop) else end), ""
    return end, sign


def _stands_apart(text: str, sign: str, behind: int, stop: int) -> bool:
    """Whether a sign behind blanks closes the marker's emphasis: `**FINAL_ANSWER: ** Paris`.

    Markdown would show such a sign as it is; the models that write it mean it to close.
    """
    return behind == stop or text[behind] in BLANKS or text.find(sign, behind, stop) < 0
