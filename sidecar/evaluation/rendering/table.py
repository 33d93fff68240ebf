"""The report on a terminal."""

import io
from typing import Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from sidecar.evaluation.rendering.grids import Grid, grids, summary
from sidecar.evaluation.report import Report

WIDTH: Final = 160
"""Columns where there is no terminal: enough for every table without a break."""


def table(report: Report) -> RenderableType:
    """The summary, the notes, the tables."""
    words = [summary(report), *report.notes]
    return Group(*(Text(word) for word in words), *(_part(grid) for grid in grids(report)))


def plain(report: Report) -> str:
    """The same as text for a file."""
    written = io.StringIO()
    Console(file=written, width=WIDTH, highlight=False, emoji=False, markup=False).print(
        table(report)
    )
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


def _part(grid: Grid) -> RenderableType:
    shown = Table(
        title=Text(f"\n{grid.title}"),
        title_justify="left",
        caption=Text(grid.note),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    for place, column in enumerate(grid.columns):
        is_name = place < grid.names
        shown.add_column(Text(column), justify="left" if is_name else "right", no_wrap=is_name)
    before = ""
    for first, *others in grid.rows:
        # A name that goes on is said once.
        goes_on = grid.names > 1 and first == before
        shown.add_row(Text("" if goes_on else first), *(Text(cell) for cell in others))
        before = first
    return shown
