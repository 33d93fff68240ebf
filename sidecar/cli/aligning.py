"""Tables on a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A line for each row, its cells in columns that are as wide as they have to be.

    A line may be wider than the terminal: half an id is of no use to another command.
    """
    # Imported here since only tables need to know which characters are two columns wide.
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = zip(row, widths, strict=True)
        yield "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in cells).rstrip()


def aligned_as_they_come(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The same while rows are still coming: with the first its head, and columns that are as wide
    as they had to be until then."""
    from rich.cells import cell_len

    widest = head
    for number, row in enumerate(rows):
        widest = [max(pair, key=cell_len) for pair in zip(widest, row, strict=True)]
        lines = aligned([widest, head, row])
        yield from islice(lines, 2 if number else 1, None)
