"""The fleet beside a sidecar that is there already: for one that is being tried out."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from sidecar.demo.board import Board
from sidecar.demo.fleet import fleet
from sidecar.demo.play import DONE, INTERRUPTED, TICK_S, After, Interrupt, Wish, interruptible, take


def play_beside(address: str, wish: Wish, boards: Callable[[], Board]) -> int:
    """Play the fleet's part at the sidecar of this address; a board is made for each round.

    With `After.EXIT` there is one round; otherwise the next begins where one ends, until somebody
    asks for the end. A sidecar that is not there changes nothing: agents go on without. Returns the
    exit code.
    """
    with (
        interruptible() as interrupt,
        tempfile.TemporaryDirectory(prefix="sidecar-demo-") as name,
    ):
        rounds = 0
        while not interrupt.asked:
            rounds += 1
            _round(address, wish, boards(), interrupt, Path(name) / f"round-{rounds}")
            if wish.after is After.EXIT:
                return INTERRUPTED if interrupt.asked else DONE
    return DONE


def _round(address: str, wish: Wish, board: Board, interrupt: Interrupt, folder: Path) -> None:
    board.say(f"sidecar    {address}")
    try:
        with fleet(wish.agents, address=address, speed=wish.speed, folder=folder) as crew:
            while not crew.done() and not interrupt.asked:
                take(crew.records, board, wait_s=TICK_S)
                board.tick()
        take(crew.records, board, wait_s=0.0)
    finally:
        board.settle()
