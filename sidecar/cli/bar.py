"""A bar on the terminal while a command goes through many files."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def with_bar(items: Sequence[T], what: str) -> Iterable[T]:
    """The items, with a progress bar on standard error where they are many and it is a terminal."""
    return _with_bar(items, what) if len(items) > 1 and sys.stderr.isatty() else items


def _with_bar(items: Sequence[T], what: str) -> Iterator[T]:
    # Imported here since it takes a tenth of a second that one file need not pay.
    from rich.console import Console
    from rich.progress import Progress

    # What is printed goes above the bar, which rich does by taking over standard output: where that
    # is a file or a pipe, all of it would end up on the terminal.
    with Progress(
        console=Console(stderr=True), transient=True, redirect_stdout=sys.stdout.isatty()
    ) as bar:
        yield from bar.track(items, description=what)
