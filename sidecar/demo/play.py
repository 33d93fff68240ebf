"""The whole demo: a sidecar, a fleet beside it, what is seen of it, and the way out."""

import queue
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import Final

from rich.console import Console

from sidecar.demo.beside import Beside, NotStarted, sidecar_somewhere
from sidecar.demo.board import Board
from sidecar.demo.cast import cast
from sidecar.demo.circle import CIRCLE
from sidecar.demo.fleet import fleet
from sidecar.demo.places import choose
from sidecar.demo.pointers import pointers
from sidecar.demo.record import Record
from sidecar.demo.summary import SAVED, closing_table, complaints, remarks, totals
from sidecar.stopping import stopping_signals

DONE: Final = 0
FAILED: Final = 1
"""Exit code when something is not as it is expected."""
INTERRUPTED: Final = 128 + signal.SIGINT
"""As a shell has it for a program that Ctrl-C ended before it was done."""

TICK_S: Final = 0.1
"""How soon Ctrl-C is noticed."""


class After(Enum):
    """What comes after the last agent has ended."""

    STAY = "stay"
    """The sidecar stays up for a look, until Ctrl-C."""
    EXIT = "exit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is asked for."""

    agents: int
    speed: float
    after: After
    state_directory: Path | None
    """None: a temporary one."""


class Interrupt:
    """Whether somebody has asked the demo to end.

    A handler that raised could tear a clean-up in two; this one only notes it, and everything here
    looks every TICK_S.
    """

    def __init__(self) -> None:
        self.asked = False

    def note(self, _number: int, _frame: FrameType | None) -> None:
        """The handler."""
        self.asked = True


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """All that ask to stop ask for the same."""
    interrupt = Interrupt()
    numbers = stopping_signals()
    before = [signal.signal(number, interrupt.note) for number in numbers]
    try:
        yield interrupt
    finally:
        for number, former in zip(numbers, before, strict=True):
            signal.signal(number, former)


def play(wish: Wish, board: Board, console: Console) -> int:
    """Play the demo to its end. Returns the exit code; everything it started is gone by then."""
    with (
        interruptible() as interrupt,
        tempfile.TemporaryDirectory(prefix="sidecar-demo-") as name,
    ):
        folder = Path(name)
        state = wish.state_directory or folder / "state"
        try:
            with sidecar_somewhere(lambda: choose(folder), state=state, runtime=folder) as (
                beside,
                places,
            ):
                for moved in places.moved:
                    board.say(f"{moved}: the demo uses another address")
                stage = _Stage(wish, board, console, beside, interrupt)
                code = stage.play(folder / "workshop")
        except NotStarted as problem:
            board.say(f"the sidecar did not start: {problem}")
            return FAILED
        if code == DONE and beside.process.returncode:
            board.say(f"the sidecar ended with exit code {beside.process.returncode}")
            _say_log(board, beside)
            return FAILED
        return code


def take(records: "queue.SimpleQueue[Record]", board: Board, *, wait_s: float) -> list[Record]:
    """Show what is new, or wait so long for something to be. Returns it."""
    taken: list[Record] = []
    while True:
        try:
            taken.append(records.get(timeout=0.0 if taken else wait_s))
        except queue.Empty:
            return taken
        board.take(taken[-1])


class _Stage:
    """What happens while the sidecar is up."""

    def __init__(
        self, wish: Wish, board: Board, console: Console, beside: Beside, interrupt: Interrupt
    ) -> None:
        self._wish = wish
        self._board = board
        self._console = console
        self._beside = beside
        self._interrupt = interrupt
        self._records: dict[str, Record] = {}

    def play(self, folder: Path) -> int:
        for line in _greeting(self._beside.addresses):
            self._board.say(line)
        try:
            self._watch(folder)
        finally:
            self._board.settle()
        if not self._beside.is_up:
            self._board.say("the sidecar has ended by itself")
            return FAILED
        if self._interrupt.asked:
            return INTERRUPTED
        code = self._close()
        match self._wish.after:
            case After.STAY:
                return self._stay(code)
            case After.EXIT:
                return code

    def _watch(self, folder: Path) -> None:
        wish = self._wish
        address = self._beside.addresses["agent_address"]
        with fleet(wish.agents, address=address, speed=wish.speed, folder=folder) as crew:
            while not crew.done() and self._beside.is_up and not self._interrupt.asked:
                self._take(crew.records)
                self._board.tick()
        self._take(crew.records)

    def _take(self, records: "queue.SimpleQueue[Record]") -> None:
        for record in take(records, self._board, wait_s=TICK_S):
            self._records[record.part.name] = record

    def _close(self) -> int:
        names = [*(part.name for part in cast(self._wish.agents)), *CIRCLE]
        # The agent of the circle runs a second time only if it came so far.
        records = [self._records[name] for name in names if name in self._records]
        self._console.print()
        self._console.print(closing_table(records))
        self._board.say(SAVED)
        self._board.say(totals(records))
        for line in remarks(records):
            self._board.say(line)
        problems = complaints(records)
        for problem in problems:
            self._board.say(f"not as expected: {problem}")
        if problems:
            _say_log(self._board, self._beside)
        return FAILED if problems else DONE

    def _stay(self, code: int) -> int:
        told = next((record for record in self._records.values() if record.told), None)
        self._console.print()
        for line in pointers(self._beside.addresses, session_id=told.session_id if told else ""):
            self._board.say(line)
        self._board.say("The sidecar stays up until Ctrl-C.")
        while not self._interrupt.asked:
            if not self._beside.is_up:
                self._board.say("the sidecar has ended by itself")
                return FAILED
            time.sleep(TICK_S)
        return code


def _say_log(board: Board, beside: Beside) -> None:
    for line in beside.last_words:
        board.say(f"the sidecar's log: {line}")


def _greeting(addresses: Mapping[str, str]) -> Iterator[str]:
    agents = [addresses[key] for key in ("agent_address", "agent_tcp_address")]
    yield f"sidecar    {' and '.join(agents)}"
    yield f"metrics    http://{addresses['telemetry_address']}/metrics"
