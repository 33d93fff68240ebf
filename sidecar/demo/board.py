"""What is seen while the agents work: a table that changes, or a line for each event."""

import time
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, Literal, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sidecar.client import Kind
from sidecar.demo.record import Ending, Record, Told
from sidecar.wording import counted

REFRESH_S: Final = 0.25
"""Between two pictures: smooth enough to read, and no load to speak of."""

ROOM_LINES: Final = 8
"""Of a terminal's height, what the table's head, its foot and the prompt take."""

STYLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "healthy": "green",
        "warning": "yellow",
        "tripped": "red",
        "recovery": "cyan",
        Kind.ROTATE: "yellow",
        Kind.COMMIT: "red",
        Kind.HALT: "bold red",
    }
)

COLUMNS: Final[Mapping[str, int | None]] = MappingProxyType(
    {
        "run": None,
        "what it does": 2,
        "turns": None,
        "state": None,
        "last directive": None,
        "why": 3,
    }
)
"""Their shares of the room that the others leave, which have what they need: eighty columns show
both."""


class Board(Protocol):
    """Where a demo is shown."""

    def take(self, record: Record) -> None:
        """A run has moved on."""

    def tick(self) -> None:
        """Called often, whether anything moved or not."""

    def say(self, line: str) -> None:
        """A line for the person."""

    def settle(self) -> None:
        """Nothing moves any more."""


class LinesBoard:
    """For a pipe or a log: a line for every directive, every remark and every end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began_s = time.monotonic()
        self._told: dict[str, int] = {}
        self._remarks: dict[str, str] = {}

    def take(self, record: Record) -> None:
        """A run has moved on."""
        name = record.part.name
        for told in record.told[self._told.get(name, 0) :]:
            self._line(name, f"turn {told.turn:>3}  {told.kind:<8}  {told.signal}: {told.why}")
        self._told[name] = len(record.told)
        if record.remark != self._remarks.get(name, ""):
            self._remarks[name] = record.remark
            self._line(name, f"turn {record.turns:>3}  {record.remark}")
            return
        match record.ending:
            case Ending.RUNNING:
                pass
            case Ending.ANSWERED:
                answer = record.answer.splitlines()[0] if record.answer else ""
                self._line(name, f"turn {record.turns:>3}  answered  {answer}")
            case Ending.HALTED | Ending.CANCELLED | Ending.LEFT_OUT as ending:
                self._line(name, f"turn {record.turns:>3}  {ending.value}")

    def tick(self) -> None:
        """Lines come as things happen."""

    def say(self, line: str) -> None:
        """A line for the person."""
        self._console.print(line, soft_wrap=True)

    def settle(self) -> None:
        """Lines stay as they are."""

    def _line(self, name: str, text: str) -> None:
        after_s = time.monotonic() - self._began_s
        self._console.print(f"{after_s:6.1f} s  {name:<12}  {text}", soft_wrap=True)


class LiveBoard:
    """For a terminal: a row a run, in place."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._records: dict[str, Record] = {}
        self._drawn_s = 0.0
        # Drawn by `tick`, so that no thread of rich's draws while another writes.
        self._live = Live(console=console, auto_refresh=False)

    def take(self, record: Record) -> None:
        """A run has moved on."""
        self._records[record.part.name] = record

    def tick(self) -> None:
        """Draw, if the last picture is old enough."""
        now_s = time.monotonic()
        if not self._records or now_s - self._drawn_s < REFRESH_S:
            return
        self._drawn_s = now_s
        self._live.start()
        self._draw()

    def say(self, line: str) -> None:
        """A line for the person, above the table."""
        self._console.print(line, soft_wrap=True)

    def settle(self) -> None:
        """Draw the last picture and leave it standing."""
        if self._live.is_started:
            self._draw()
            self._live.stop()

    def _draw(self) -> None:
        rows_max = max(1, self._console.height - ROOM_LINES)
        self._live.update(picture(self._records.values(), rows_max=rows_max), refresh=True)


def picture(records: Iterable[Record], *, rows_max: int) -> Group:
    """A row for each run, up to `rows_max`, and a line about all."""
    table = Table(box=None, pad_edge=False, expand=True)
    for column, share in COLUMNS.items():
        justify: Literal["left", "right"] = "right" if column == "turns" else "left"
        table.add_column(column, no_wrap=True, justify=justify, ratio=share)
    known = list(records)
    for record in known[:rows_max]:
        table.add_row(*_cells(record))
    return Group(table, Text(_count(known, unseen=len(known[rows_max:])), style="dim"))


def _cells(record: Record) -> tuple[Text, ...]:
    last = record.told[-1] if record.told else None
    state = record.state or "-"
    return (
        Text(record.part.name, style="dim" if record.ending is not Ending.RUNNING else ""),
        Text(record.part.role.aim),
        Text(str(record.turns)),
        Text(state, style=STYLES.get(state, "")),
        Text(_last(last), style=STYLES.get(last.kind, "") if last else ""),
        Text(_why(record, last)),
    )


def _last(told: Told | None) -> str:
    return f"{told.kind} at {told.turn}" if told else "proceed"


def _why(record: Record, told: Told | None) -> str:
    if record.remark:
        return record.remark
    if told:
        return f"{told.signal}: {told.why}"
    match record.ending:
        case Ending.RUNNING:
            return ""
        case Ending.ANSWERED:
            return f"answered: {record.answer}"
        case Ending.HALTED | Ending.CANCELLED | Ending.LEFT_OUT:
            return record.ending.value


def _count(records: list[Record], *, unseen: int) -> str:
    working = sum(1 for record in records if record.ending is Ending.RUNNING)
    turns = sum(record.turns for record in records)
    told = sum(1 for record in records if record.told)
    done = len(records) - working
    text = f"{working} at work, {done} done, {counted(turns, 'turn')}, {told} told"
    return f"{text}; {counted(unseen, 'row does', 'rows do')} not fit" if unseen else text
