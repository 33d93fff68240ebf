"""Five small questions with known answers: whether an agent works at all.

Files and pages are made up here and written to a folder, so a model cannot know them, and nothing
but the model is needed.
"""

import asyncio
import csv
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from sidecar.codeagent.agent import CodeAgent, Surroundings
from sidecar.codeagent.result import AgentResult
from sidecar.codeagent.tools.searching import LocalIndex
from sidecar.core.value import value

BAR: Final = 3
"""Of five: a small model has a bad day, and a broken agent answers none."""

ORDERS: Final = (
    ("id", "region", "status", "amount"),
    ("1", "north", "paid", "120.50"),
    ("2", "south", "paid", "80.00"),
    ("3", "north", "open", "99.99"),
    ("4", "north", "paid", "30.25"),
    ("5", "west", "paid", "11.00"),
)
STOCK: Final = (
    ("part", "shelf", "count"),
    ("bolt", "A3", 140),
    ("hinge", "C1", 36),
    ("valve", "B7", 52),
)
PAGES: Final = {
    "lighthouse.html": "<h1>The lighthouse of Quenby Head</h1><p>It was lit first in 1871. The "
    "engineer who built it was <b>Orla Tamsin Vey</b>.</p>",
    # None of the question's words, or a search for these would give the answer in one step.
    "vey.html": "<h1>Orla Tamsin Vey</h1><p>1829 to 1902. Birthplace: <i>Marrowfleet</i>. She left "
    "two bridges and a pier.</p>",
    "harbour.html": "<h1>Quenby harbour</h1><p>Its quay is 412 m long.</p>",
}
RED, BLUE, WHITE = b"\xd0\x20\x20", b"\x20\x40\xd0", b"\xff\xff\xff"
ROW: Final = "rbrrbr"
"""Squares of the picture, from left to right."""


@value
class Question:
    """One that has a known answer."""

    id: str
    text: str
    answer: str
    file: str = ""
    """Name of a file in the folder; empty: none."""


@value
class Checked:
    """What became of one."""

    question: Question
    result: AgentResult

    @property
    def passed(self) -> bool:
        """Whether the answer is the known one."""
        return same(self.result.answer, self.question.answer)


QUESTIONS: Final = (
    Question(
        id="csv",
        text="What is the sum of the amounts of all paid orders of the region north?",
        answer="150.75",
        file="orders.csv",
    ),
    Question(
        id="xlsx",
        text="On which shelf does the sheet 'stock' have the part with the fewest pieces?",
        answer="C1",
        file="stock.xlsx",
    ),
    Question(
        id="pages",
        text="Search for the lighthouse of Quenby Head. Where was its engineer born?",
        answer="Marrowfleet",
    ),
    Question(
        id="puzzle",
        text="How many whole numbers from 1 to 1000 can be divided by 3 or by 5, but not by both?",
        answer="401",
    ),
    Question(
        id="image",
        text="How many red squares does the picture have?",
        answer=str(ROW.count("r")),
        file="squares.png",
    ),
)


async def smoke(
    surroundings: Surroundings, folder: Path, *, done: Callable[[Checked], None]
) -> Sequence[Checked]:
    """Ask the agent each of them, one at a time; `done` gets each as it comes.

    Files and pages are written to `folder`. Search and pages of the surroundings are not used.
    """
    await asyncio.to_thread(_prepare, folder)
    index = LocalIndex(folder / "pages")
    agent = CodeAgent(replace(surroundings, search=index, pages=index))
    checked = []
    for question in QUESTIONS:
        files = [folder / question.file] if question.file else []
        result = await agent.run(question.text, question_id=question.id, files=files)
        checked.append(Checked(question=question, result=result))
        done(checked[-1])
    return checked


def same(answer: str | None, expected: str) -> bool:
    """Whether they say the same: numbers by value, words whatever their case and full stop."""
    if answer is None:
        return False
    given, wanted = (text.strip().rstrip(".").casefold() for text in (answer, expected))
    try:
        return float(given.replace(",", "")) == float(wanted)
    except ValueError:
        return given == wanted


def _prepare(folder: Path) -> None:
    import openpyxl  # where it is needed

    with (folder / "orders.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(ORDERS)
    book = openpyxl.Workbook(write_only=True)
    book.create_sheet("notes").append(("nothing here",))
    sheet = book.create_sheet("stock")
    for row in STOCK:
        sheet.append(row)
    book.save(folder / "stock.xlsx")
    (folder / "squares.png").write_bytes(_picture())
    (folder / "pages").mkdir()
    for name, text in PAGES.items():
        (folder / "pages" / name).write_text(text, encoding="utf-8")


def _picture() -> bytes:
    """A PNG of the row of squares on white, with a gap around each."""
    side = 40
    gap = side // 4
    line = WHITE * gap
    for letter in ROW:
        line += (RED if letter == "r" else BLUE) * side + WHITE * gap
    blank = WHITE * (len(line) // 3)
    rows = [blank] * gap + [line] * side + [blank] * gap
    header = struct.pack(">IIBBBBB", len(line) // 3, len(rows), 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    chunks = ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )
