"""What a benchmark prints: figures beside the bars that they are held to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure."""

    what: str
    measured: str
    bar: str = ""


def print_rows(rows: Iterable[Row]) -> None:
    """All of them as one table."""
    table = Table("what", "measured", "bar", box=None)
    for row in rows:
        table.add_row(row.what, row.measured, row.bar)
    Console(width=120, highlight=False).print(table)


def at_share(figures: Sequence[float], share: float) -> float:
    """The figure below which that share of them lies, from 0 to 1."""
    ordered = sorted(figures)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
