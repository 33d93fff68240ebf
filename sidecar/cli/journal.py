"""`sidecar journal`: a session's journal as a run file, from the state directory."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from sidecar.adapters.convert import EntryBytes, line_out
from sidecar.adapters.run_file import write_line
from sidecar.adapters.sqlite_store import DATABASE, read_journal
from sidecar.cli.options import config_option, configured, fail
from sidecar.cli.parameters import SENDABLE
from sidecar.cli.streams import speak_json
from sidecar.config.checks import check_asking
from sidecar.core.opening import Opening
from sidecar.core.turn import Turn
from sidecar.ports import Entry, Rejected

NOT_FOUND = 1

INCOMPLETE = 1
"""Exit code when not all of the journal is left."""


@click.command()
@click.argument("session_id", type=SENDABLE)
@click.option("--state-directory", metavar="DIR", help="Where the sidecar keeps its state.")
@config_option
def command(session_id: str, state_directory: str | None, config_path: str | None) -> None:
    """Write the journal of SESSION_ID as a run file to standard output.

    Read from the state directory, whether or not a sidecar runs over it. Content is not in it:
    digests stand where it was, so replaying it gives the same decisions and shows nothing. Exit
    code 1 when a part of it is gone, so that it cannot be replayed whole.
    """
    flags = {"state_directory": state_directory}
    config = configured(config_path, flags, checked=check_asking)
    if not config.state_directory:
        fail("state_directory is empty, so nothing is kept")
    path = Path(config.state_directory) / DATABASE
    try:
        path.open("rb").close()
    except PermissionError:
        fail(f"{path} may not be read by this user: ask as the user of its sidecar", code=NOT_FOUND)
    except OSError as error:
        fail(f"{path}: {error.strerror}; has a sidecar kept its state there?", code=NOT_FOUND)
    try:
        entries, kept_until = read_journal(path, session_id, codec=EntryBytes())
    except OSError as error:
        fail(str(error), code=NOT_FOUND)
    if not entries:
        fail(f"{path}: nothing of a session {session_id!r}", code=NOT_FOUND)
    last = 0
    speak_json()
    for entry in entries:
        sys.stdout.write(write_line(line_out(entry, after_sequence=last)) + "\n")
        last = _sequence(entry, last)
    gap = _gap(entries)
    if not gap and len(entries) < kept_until:
        gap = f"what came after turn {last}"
    if gap:
        fail(
            f"{path}: {gap} of session {session_id!r} is not in the journal any more: "
            "what was written here cannot be replayed whole",
            code=INCOMPLETE,
        )


def _gap(entries: Sequence[Entry]) -> str:
    """What is missing, by the turn that comes after it; empty: nothing is."""
    for expected, entry in enumerate(entries, 1):
        if entry.number != expected:
            later = (one.event for one in entries[expected - 1 :])
            turn = next((one.sequence for one in later if isinstance(one, Turn | Rejected)), None)
            return "what came before its end" if turn is None else f"what came before turn {turn}"
    return ""


def _sequence(entry: Entry, last: int) -> int:
    match entry.event:
        case Turn(sequence=sequence) | Rejected(sequence=sequence):
            return sequence
        case Opening(first_available_sequence=first):
            # A resume from which on turns are lost: the run goes on before that turn.
            return max(last, first - 1)
        case _:
            return last
