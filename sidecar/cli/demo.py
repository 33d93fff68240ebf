"""`sidecar demo`: a sidecar, and a fleet of small agents beside it."""

import sys
from pathlib import Path

import click

from sidecar.addresses import parse_address
from sidecar.cli.options import fail
from sidecar.cli.parameters import FloatRange
from sidecar.cli.show import console

AGENTS = 8
AGENTS_MAX = 500
"""Each has four threads and a connection, and tests to run; five hundred take some minutes."""


@click.command()
@click.option(
    "--agents",
    type=click.IntRange(1, AGENTS_MAX),
    default=AGENTS,
    show_default=True,
    help="How many beside the reference agent; the eight minds in turn.",
)
@click.option(
    "--speed",
    type=FloatRange(0.01, 1000),
    default=1.0,
    show_default=True,
    help="1: two turns a second; 10: ten times as fast.",
)
@click.option(
    "--exit", "leaves", is_flag=True, help="End with the last agent; no terminal: so too."
)
@click.option(
    "--state-directory",
    type=click.Path(file_okay=False, resolve_path=True, path_type=Path),
    help="Keep the sidecar's state there (default: a temporary directory).",
)
@click.option(
    "--beside",
    metavar="ADDRESS",
    help="Start no sidecar: report to the one at ADDRESS, over and over until Ctrl-C.",
)
def command(
    agents: int, speed: float, leaves: bool, state_directory: Path | None, beside: str | None
) -> None:
    """Run a sidecar with its defaults, and beside it agents with scripted minds.

    The minds are scripts, the rest is real: they edit files, run Python and its tests, read, search
    and wait in a temporary folder, and report every turn over gRPC. Three do well and are left
    alone; the others get stuck, each in its own way, and are told.

    Beside them the reference agent goes the whole circle, its model a script on loopback: stuck,
    told so, told to commit, reviewed, and run once more. Its code runs contained, or not at all.

    Exit code 0; 1 where something is not as it is expected; 3 where with --beside and --exit no
    sidecar answers; 130 where Ctrl-C came before the end.
    """
    # Imported here since the options have to be checked first, and fast.
    from sidecar.demo.board import LinesBoard, LiveBoard
    from sidecar.demo.play import After, Wish, play
    from sidecar.demo.rounds import play_beside

    if beside:
        _check_address(beside)
    if beside and state_directory:
        raise click.UsageError("--state-directory is of a sidecar that is started here")
    screen = console()
    terminal = sys.stdout.isatty()
    wish = Wish(
        agents=agents,
        speed=speed,
        after=After.EXIT if leaves or not (terminal or beside) else After.STAY,
        state_directory=state_directory,
    )

    def board() -> LiveBoard | LinesBoard:
        return LiveBoard(screen) if terminal else LinesBoard(screen)

    sys.exit(play_beside(beside, wish, board) if beside else play(wish, board(), screen))


def _check_address(text: str) -> None:
    try:
        parse_address(text)
    except ValueError as error:
        fail(f"--beside {text}: it must be {error}")
