"""The masks of proto/digests.md, applied as the page says and in no other way.

Nothing here is imported from the code under test: the page is read, its RE2 patterns are given to
Python's `re` over text (the code runs bytes), one after the other, whole texts at a time.
"""

import hashlib
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

PAGE = Path(__file__).parents[2] / "proto" / "digests.md"
BLANKS = "\t\n\x0b\x0c\r "
TYPOGRAPHIC = str.maketrans("\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb", '\'\'"""""')


def compiled(pattern: str) -> re.Pattern[str]:
    """An RE2 pattern as Python has it: classes are ASCII, and `$` is only the very end."""
    pattern = re.sub(r"\\x\{([0-9A-Fa-f]+)\}", lambda code: chr(int(code[1], 16)), pattern)
    return re.compile(pattern, re.ASCII)


MATCHES_MAX = 4_096
"""Of rule 4."""


@dataclass(slots=True)
class WrittenMask:
    """One mask, as the page writes it."""

    name: str
    match: str = ""
    put: str = ""
    unless_it_is: str = "(?!)"
    unless_after: str = "(?!)"
    place: int | None = None

    def applied(self, text: str, places: list[str]) -> str:
        """The text with every match replaced that no condition lets stand."""
        spared = compiled(self.unless_it_is)
        before = compiled(f"(?:{self.unless_after})\\Z")

        def replaced(match: re.Match[str]) -> str:
            if spared.fullmatch(match[0]) or before.search(text[: match.start()]):
                return match[0]
            if self.place is not None:
                places.extend(re.findall("[0-9]+", match[self.place] or ""))
            put = self.put
            for number, group in enumerate(match.groups(), start=1):
                put = put.replace(f"\\{number}", group or "")
            return put

        is_bounded = self.unless_it_is == self.unless_after == "(?!)"
        return compiled(self.match).sub(replaced, text, MATCHES_MAX if is_bounded else 0)


@dataclass(slots=True)
class Page:
    """Everything that the page writes in fenced blocks."""

    masks: dict[str, list[WrittenMask]] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)


@cache
def page() -> Page:
    """The page, read once."""
    read = Page()
    text = PAGE.read_text("utf-8")
    for fence in re.findall(r"^```(\w[\w ]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        kind, _, name = fence[0].partition(" ")
        if kind == "masks":
            read.masks[name] = written_masks(fence[1].splitlines())
        else:
            read.lines.setdefault(kind, []).extend(fence[1].splitlines())
    return read


def written_masks(lines: list[str]) -> list[WrittenMask]:
    """The masks of one block."""
    masks: list[WrittenMask] = []
    for line in lines:
        if not line.startswith("    "):
            masks.append(WrittenMask(name=line))
        elif line.startswith("    match "):
            masks[-1].match = line.removeprefix("    match ")
        elif line.startswith("    put"):
            masks[-1].put = line.removeprefix("    put").removeprefix(" ")
        elif line.startswith("    unless it is "):
            masks[-1].unless_it_is = line.removeprefix("    unless it is ")
        elif line.startswith("    unless after "):
            masks[-1].unless_after = line.removeprefix("    unless after ")
        else:
            masks[-1].place = int(line.removeprefix("    place "))
    return masks


def digest(text: str) -> str:
    """Rule 1."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def plain(text: str, most: int = 65_536) -> str:
    """Rules 2 and 3."""
    if len(text) > most:
        text = f"{text[: most // 2]}\n{text[-most // 2 :]}"
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return compiled(page().lines["re2"][0]).sub("", text)


def masked(text: str, name: str, places: list[str]) -> str:
    """One list of masks, in order."""
    for mask in page().masks[name]:
        text = mask.applied(text, places)
    return text


def masked_result(text: str) -> str:
    """What of a result is hashed."""
    left, whole = masked(plain(text), "result", []).strip(BLANKS), plain(text).strip(BLANKS)
    return whole if left in ("<t>", "<d>") and len(whole.encode()) <= 12 else left


def masked_error(message: str, *, kept: bool) -> tuple[str, list[str]]:
    """What of an error is hashed, and the numbers of the places it names."""
    places: list[str] = []
    text = masked(plain(message, 8_192).translate(TYPOGRAPHIC), "message", places).strip(BLANKS)
    if re.fullmatch("`[^`]*`|'[^']*'|\"[^\"]*\"", text):
        text = text[1:-1]
    subject = compiled(page().lines["subject"][0])
    text = "\n".join(
        line if kept and subject.search(line) else unquoted(line) for line in text.split("\n")
    )
    text = masked(masked(text, "path", places), "error", places)
    return re.sub(f"[{BLANKS}]+", " ", text).strip(" "), places


def unquoted(line: str) -> str:
    """A line with what stands in quotes masked."""
    telling = compiled(page().lines["telling"][0])

    def replaced(match: re.Match[str]) -> str:
        tells = match[0].count(" ") >= 2 and telling.search(match[0])
        return match[0] if tells else "<q>"

    for pattern in page().lines["quotes"]:
        line = compiled(pattern).sub(replaced, line)
    return line
