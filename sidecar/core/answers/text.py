"""What answer stands behind a marker, if a real one does.

An answer is one line. Behind an empty marker it may be the next line. What encloses it (emphasis,
code spans, tags, what the form puts behind it) is stripped; what is left empty, or is still the
placeholder that the agent was to replace, is no answer.
"""

import re
from types import MappingProxyType
from typing import Final

from sidecar.core.answers.form import Form
from sidecar.core.answers.marks import (
    BLANKS,
    EMPHASIS,
    ENDS,
    REACH,
    SIGN_MAX,
    TEXT_FENCES,
    Mark,
)
from sidecar.core.value import value

HEAD_MAX: Final = 120
"""Characters before a marker, on its line, in which emphasis is looked for that closes behind the
answer. A bound, so that a line of a thousand markers costs no more than a thousand lines."""
WRAPS_MAX: Final = 4
"""Layers of markup taken off an answer: `<answer>**`x`**</answer>` has three."""
CLOSING_MAX: Final = 200
"""Characters at the end of an answer in which tags close that did not open in it."""
SENTENCE_WORDS_MIN: Final = 4
"""Words from which a line that ends in a stop is a sentence and not a name with an initial."""
ANSWER_WORDS_MAX: Final = 12
"""Words above which a line that stands apart from its marker is a paragraph."""

_LINE = re.compile(f"[^{ENDS}]++")
_BLANK_LINE = re.compile(f"(?>\r\n|[{ENDS}])[{BLANKS}]*?[{ENDS}]")
_NOT_BLANK = re.compile(f"[^{BLANKS}]")
_SECTION = re.compile(r"#{1,6}(?:\s|\Z)|(?:[-*_][ \t]*+){3,}+\Z")
"""A heading or a rule: what follows it is of something else."""
_FENCE = re.compile(r"(?:`{3,}|~{3,})[ \t]*([^`]*)\Z")
_NEXT_FENCE = re.compile(f"[{ENDS}][ \t]*(?:`{{3}}|~{{3}})")
_BRACKETS: Final = MappingProxyType({"[": "]", "(": ")", "{": "}"})
_STOPS: Final = tuple(".!?;\u2026\u3002\uff01\uff1f")

_WRAPS: Final = ("***", "**", "*", "___", "__", "_", "```", "``", "`")
_MARKUP = re.compile(r"[*_`]{2,}|`")
_DUNDER = re.compile(r"__[a-z0-9_]+__")
"""A name such as __init__, which Markdown would take for emphasis."""
_TAG = re.compile(r"<([A-Za-z][\w:.-]*+)(?:\s[^<>]*+)?>")
_CLOSING_TAGS = re.compile(r"(?:</[A-Za-z][\w:.-]*+\s*+>\s*+)++\Z")
_CLOSING_TAG = re.compile(r"</([A-Za-z][\w:.-]*)")

_PLACEHOLDER = re.compile(
    r"<[^\W\d_][^<>=/@\"]*+>(?=[\s.,;:!)*_`]|\Z)"
    r"|(?:(?:insert|put|write)[ _-])?(?:your|the)[ _-](?:final[ _-])?answer"
    r"(?:[ _-](?:goes[ _-])?here)?\W*\Z"
    r"|(?:\.{2,}|\u2026|_{2,})++\Z"
    r"|[\u00ad\u200b-\u200f\u2060]++\Z",
    re.IGNORECASE,
)
"""What stands in a form in the answer's place. A word or more in angle brackets, unless it reads as
an element, a link or an address; "your answer" and its like; dots or a blank to fill in; and
characters that nobody sees."""
_BRACKETED = re.compile(r"[\[({]{1,2}+([^\[\](){}\"']*+)[\])}]{1,2}+(?=[\s.,;:!]|\Z)")
_ASKED = re.compile(r"(?<![a-z])(?:your|insert(?!,)|answer(?! is\b|: ?\S))(?![a-z])", re.IGNORECASE)
"""Brackets that speak of these are a placeholder too, unless something is quoted in them, as in
JSON."""


@value
class Answer:
    """Where an answer stands: code points of the text."""

    start: int
    end: int
    below: bool
    """Whether it stands on a line below its marker."""


def answer_of(text: str, mark: Mark) -> Answer | None:
    """The answer behind a marker; None where there is no real one. Never raises."""
    start, end = _trimmed(text, mark.end, mark.stop)
    below = start == end or _FENCE.match(text, start, end) is not None
    if below:
        start, end = _next_line(text, start, mark)
    if end - start <= REACH:
        start, end = _without_surroundings(text, start, end, mark)
    if start == end or _is_placeholder(text[start : min(end, start + REACH)], mark.form):
        return None
    return Answer(start=start, end=end, below=below)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end].lstrip(BLANKS)
    return end - len(part), end - len(part) + len(part.rstrip(BLANKS))


def _next_line(text: str, position: int, mark: Mark) -> tuple[int, int]:
    """The next line that is not blank, if it belongs to the marker; else an empty part. At the
    position, on the marker's own line, a fence may open."""
    nothing = (mark.stop, mark.stop)
    start, end = _line_after(text, position, mark.below)
    if fence := _FENCE.match(text, start, end):
        start, end = _line_after(text, end, mark.below)
        # A fence that no other follows closes what the marker itself stands in.
        closed = _NEXT_FENCE.search(text, end, min(mark.below, end + REACH)) is not None
        if fence[1].strip().lower() not in TEXT_FENCES or not closed:
            return nothing
    if _begins_something_else(text, start, end):
        return nothing
    if text.startswith(">", start, end) and text.startswith(">", mark.line):
        start, end = _trimmed(text, start + 1, end)
    apart = _BLANK_LINE.match(text, mark.stop, start) is not None
    return nothing if apart and _is_prose(text[start:end]) else (start, end)


def _line_after(text: str, position: int, below: int) -> tuple[int, int]:
    first = _NOT_BLANK.search(text, position, min(below, position + REACH))
    line = first and _LINE.match(text, first.start(), below)
    return _trimmed(text, *line.span()) if line else (below, below)


def _begins_something_else(text: str, start: int, end: int) -> bool:
    return (_SECTION.match(text, start, end) or _FENCE.match(text, start, end)) is not None


def _is_prose(line: str) -> bool:
    """Whether a line reads as the beginning of a paragraph, or announces one."""
    words = len(line.split(maxsplit=ANSWER_WORDS_MAX))
    if words > ANSWER_WORDS_MAX or line.endswith((":", "\uff1a")):
        return True
    return words >= SENTENCE_WORDS_MIN and line.endswith(_STOPS)


def _without_surroundings(text: str, start: int, end: int, mark: Mark) -> tuple[int, int]:
    """The part without what encloses it, or only closes behind it."""
    if mark.opened and (closing := _closing_of(mark.opened).search(text, start, end)):
        end = closing.start()
    start, end = _without_closing_tags(text, start, end)
    start, end = _without_bracket(text, start, end, mark)
    start, end = _trimmed(text, start, _before_form_end(text, start, end, mark.form))
    start, end = _without_closing_emphasis(text, start, end, mark)
    for _ in range(WRAPS_MAX):
        width = _wrap(text, start, end)
        if not any(width):
            break
        start, end = _trimmed(text, start + width[0], end - width[1])
    if _MARKUP.fullmatch(text, start, end):
        return end, end
    return start, end


def _before_form_end(text: str, start: int, end: int, form: Form) -> int:
    """Where the part ends without what the form puts behind an answer."""
    after, bracket = form.after, form.marker[-1:]
    if bracket in _BRACKETS and after.startswith(_BRACKETS[bracket]):
        return _closed_at(text, start, end, bracket)
    if len(after) > 1:
        found = text.find(after, start, end)
        return end if found < 0 else found
    # A single sign, a full stop or a bracket, may stand in the answer as well.
    return end - len(after) if after and text.endswith(after, start, end) else end


def _closed_at(text: str, start: int, end: int, bracket: str) -> int:
    """Where a bracket closes that the marker has opened: `\\boxed{<answer>}`; `end`: nowhere."""
    depth = 1
    for found in re.finditer(rf"[\{bracket}\{_BRACKETS[bracket]}]", text[start:end]):
        depth += 1 if found[0] == bracket else -1
        if not depth:
            return start + found.start()
    return end


def _closing_of(opened: str) -> re.Pattern[str]:
    """Where emphasis that opened before the marker closes: `**FINAL_ANSWER: Paris** because`."""
    sign = re.escape(opened)
    # What precedes it is asked behind it: a pattern that begins with a letter is looked for fast.
    return re.compile(sign if "`" in opened else rf"{sign}(?<!\s{sign})(?!\w)")


def _without_closing_tags(text: str, start: int, end: int) -> tuple[int, int]:
    """The part without closing tags at its end that do not open in it."""
    if not text.endswith(">", start, end):
        return start, end
    run = _CLOSING_TAGS.search(text, max(start, end - CLOSING_MAX), end)
    if not run:
        return start, end
    opened = set(_TAG.findall(text, start, run.start()))
    for tag in _CLOSING_TAG.finditer(text, run.start(), end):
        if tag[1] not in opened:
            return _trimmed(text, start, tag.start())
    return start, end


def _without_bracket(text: str, start: int, end: int, mark: Mark) -> tuple[int, int]:
    """The part without the bracket that opened right before the marker: `[FINAL_ANSWER: 42]`."""
    closing = _BRACKETS.get(text[mark.start - 1 : mark.start])
    if not closing or not text.endswith(closing, start, end):
        return start, end
    part = text[start:end]
    balanced = part.count(text[mark.start - 1]) == part.count(closing)
    return (start, end) if balanced else _trimmed(text, start, end - 1)


def _without_closing_emphasis(text: str, start: int, end: int, mark: Mark) -> tuple[int, int]:
    """The part without emphasis at its end that is still open before it on the marker's line."""
    body = text[start:end].rstrip(EMPHASIS)
    sign = text[start + len(body) : end]
    if not sign or len(sign) > SIGN_MAX or sign in body:
        return start, end
    if not _is_open(text, sign[::-1], mark):
        return start, end
    return _trimmed(text, start, start + len(body))


def _is_open(text: str, sign: str, mark: Mark) -> bool:
    """Whether a sign of emphasis opened before the marker's end; one between blanks is none."""
    one = re.escape(sign)
    if sign.startswith("_"):
        # Within a word, as in the marker itself, underscores are letters.
        either = re.compile(rf"(?<=\S){one}(?![^\W_])|(?<![^\W_]){one}(?=\S)")
    else:
        either = re.compile(rf"(?<=\S){one}|{one}(?=\S)")
    return len(either.findall(text, max(mark.line, mark.start - HEAD_MAX), mark.end)) % 2 == 1


def _wrap(text: str, start: int, end: int) -> tuple[int, int]:
    """How many characters of markup enclose the whole part, before and behind; (0, 0): none."""
    if tag := _TAG.match(text, start, end):
        closing = f"</{tag[1]}>"
        inside = (tag.end(), end - len(closing))
        if text.endswith(closing, tag.end(), end) and text.find(f"<{tag[1]}", *inside) < 0:
            return tag.end() - start, len(closing)
    for sign in _WRAPS:
        inside = (start + len(sign), end - len(sign))
        if inside[0] < inside[1] and text.startswith(sign, start) and text.endswith(sign, 0, end):
            return (len(sign), len(sign)) if _encloses(text, sign, *inside) else (0, 0)
    return 0, 0


def _encloses(text: str, sign: str, start: int, end: int) -> bool:
    """Whether a sign on both sides of a part is a pair of its own, and markup."""
    apart = text[start] in BLANKS or text[end - 1] in BLANKS
    if text.find(sign, start, end) >= 0 or (apart and "`" not in sign):
        return False
    return not _DUNDER.fullmatch(text, start - len(sign), end + len(sign))


def _is_placeholder(answer: str, form: Form) -> bool:
    bracketed = _BRACKETED.match(answer)
    if bracketed and _ASKED.search(bracketed[1]):
        return True
    return answer == form.placeholder or _PLACEHOLDER.match(answer) is not None
