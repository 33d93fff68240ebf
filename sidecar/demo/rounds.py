"""The fleet beside a sidecar that is there already: for one that is being tried out."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sidecar.demo.board import Board
from sidecar.demo.fleet import fleet
from sidecar.demo.play import DONE, INTERRUPTED, TICK_S, After, Interrupt, Wish, interruptible, take
from sidecar.demo.record import Record

UNANSWERED: Final = 3
"""Exit code where no sidecar answers, as of the commands that ask one."""


def play_beside(address: str, wish: Wish, boards: Callable[[], Board]) -> int:
    """Play the fleet's part at the sidecar of this address; a board is made for each round.

    With `After.EXIT` there is one round; otherwise the next begins where one ends, until somebody
    asks for the end. A sidecar that is not there changes nothing for the agents, which go on
    without. Returns the exit code, of one round UNANSWERED where nobody was told anything.
    """
    with (
        interruptible() as interrupt,
        tempfile.TemporaryDirectory(prefix="sidecar-demo-") as name,
    ):
        rounds = 0
        while not interrupt.asked:
            rounds += 1
            board, folder = boards(), Path(name) / f"round-{rounds}"
            is_answered = _round(address, wish, board, interrupt, folder)
            if wish.after is not After.EXIT:
                continue
            if interrupt.asked:
                return INTERRUPTED
            if not is_answered:
                board.say(f"no sidecar at {address} answered: the agents were not watched")
                return UNANSWERED
            return DONE
    return DONE


def _round(address: str, wish: Wish, board: Board, interrupt: Interrupt, folder: Path) -> bool:
    """Play one round; whether the sidecar decided anything."""
    board.say(f"sidecar    {address}")
    records: list[Record] = []
    try:
        with fleet(wish.agents, address=address, speed=wish.speed, folder=folder) as crew:
            while not crew.done() and not interrupt.asked:
                records += take(crew.records, board, wait_s=TICK_S)
                board.tick()
        records += take(crew.records, board, wait_s=0.0)
    finally:
        board.settle()
    return any(record.state for record in records)
