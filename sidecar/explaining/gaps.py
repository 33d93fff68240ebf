"""Turns of a run that nothing is known of, said in one line."""

from collections.abc import Iterable, Iterator

WHY = "never sent, not kept (without a state_directory), dropped for a bound, lost, or unreadable"
"""All that the reader can know: the journal, the agent or a file has not got them."""


def unrecorded(sequences: Iterable[int], *, last: int) -> str:
    """The turns from the first to the `last` that are not among the `sequences`; empty: none."""
    gaps = ", ".join(_span(first, end) for first, end in _gaps(sequences, last))
    turns = "turn" if gaps.isdigit() else "turns"
    return f"No record was found of {turns} {gaps}: {WHY}." if gaps else ""


def _gaps(sequences: Iterable[int], last: int) -> Iterator[tuple[int, int]]:
    expected = 1
    for sequence in (*sorted(sequences), last + 1):
        if sequence > expected:
            yield expected, sequence - 1
        expected = max(expected, sequence + 1)


def _span(first: int, end: int) -> str:
    return str(first) if first == end else f"{first} to {end}"
