"""What it came to, once all agents have ended."""

from collections.abc import Sequence
from typing import Final, Literal

from rich.table import Table
from rich.text import Text

from sidecar.client import Kind
from sidecar.demo.measuring import CHARACTERS_PER_TOKEN
from sidecar.demo.record import Record, Told
from sidecar.wording import counted

COLUMNS: Final = ("run", "turns", "first rotate", "commit", "end", "saved")

SAVED: Final = (
    "Saved: the turns that the mind's script had left when it was told, at the tokens of its last "
    f"turn (input and output, {CHARACTERS_PER_TOKEN} characters a token)."
)


def closing_table(records: Sequence[Record]) -> Table:
    """A row for each run."""
    table = Table(box=None, pad_edge=False)
    for column in COLUMNS:
        # Where the terminal is narrow words go below each other: no figure is left out.
        is_short = column in {"run", "turns"}
        justify: Literal["left", "right"] = "right" if column == "turns" else "left"
        table.add_column(column, no_wrap=is_short, overflow="fold", justify=justify)
    for record in records:
        rotate, commit = record.first(Kind.ROTATE), record.first(Kind.COMMIT)
        table.add_row(
            *map(
                Text,
                (
                    record.part.name,
                    str(record.turns),
                    f"turn {rotate.turn}, {rotate.signal}" if rotate else "-",
                    _turn(commit),
                    record.ending.value,
                    _saved(record),
                ),
            )
        )
    return table


def totals(records: Sequence[Record]) -> str:
    """All runs in one line."""
    turns = sum(record.turns for record in records)
    turns_saved = sum(record.turns_saved or 0 for record in records)
    tokens_saved = sum(record.tokens_saved or 0 for record in records)
    unanswered = sum(record.unanswered for record in records)
    missed = f"; {counted(unanswered, 'turn')} went on without a decision" if unanswered else ""
    return (
        f"{counted(len(records), 'run')}, {counted(turns, 'turn')}; saved: "
        f"{counted(turns_saved, 'turn')}, {counted(tokens_saved, 'token')}{missed}."
    )


def remarks(records: Sequence[Record]) -> list[str]:
    """What else became of runs, a line each: a row of a table cuts it short."""
    return [f"{record.part.name}: {record.remark}" for record in records if record.remark]


def complaints(records: Sequence[Record]) -> list[str]:
    """What is not as it is expected, a line each."""
    return [record.complaint for record in records if record.complaint]


def _turn(told: Told | None) -> str:
    return f"turn {told.turn}" if told else "-"


def _saved(record: Record) -> str:
    turns, tokens = record.turns_saved, record.tokens_saved
    if turns is None or tokens is None:
        return "undisturbed" if not record.told and not record.complaint else "-"
    return f"{counted(turns, 'turn')}, {counted(tokens, 'token')}"
