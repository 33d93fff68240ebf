"""An explanation on a terminal."""

import sys

from rich.console import Console, Group, RenderableType
from rich.panel import Panel as RichPanel
from rich.table import Table
from rich.text import Text

from sidecar.explaining.explanation import COLUMNS, Explanation, Panel
from sidecar.printable import printable

WIDTH_WITHOUT_TERMINAL = 120


def console() -> Console:
    """Standard output; plain and of a fixed width where it is no terminal."""
    width = None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL
    return Console(width=width, highlight=False, emoji=False, markup=False)


def show(explanation: Explanation) -> RenderableType:
    """The explanation, top to bottom."""
    table = Table()
    for column in COLUMNS:
        # Where the terminal is narrow a word is broken rather than left out.
        table.add_column(column, justify="left" if column == "State" else "right", overflow="fold")
    for row in explanation.rows:
        table.add_row(*(_text(cell) for cell in row.cells))
    parts: list[RenderableType] = [_text(explanation.title), table]
    if explanation.unrecorded:
        parts.append(_text(explanation.unrecorded))
    for title, items in (
        ("Approaches Tried", explanation.approaches),
        ("Rotation Applied", explanation.rotations),
        ("Directives", explanation.directives),
    ):
        if items:
            parts.append(Text(f"\n{title}"))
            parts += [_text(f"{number}. {item}") for number, item in enumerate(items, 1)]
    for panel in explanation.panels:
        parts += [Text(), _panel(panel)]
    return Group(*parts)


def _panel(panel: Panel) -> RichPanel:
    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(overflow="fold")  # the path of a saved run has no blank to break it at
    for name, text in panel.facts:
        grid.add_row(_text(name), _text(text))
    return RichPanel(grid, title=_text(panel.title), title_align="left")


def _text(words: str) -> Text:
    return Text(printable(words))
