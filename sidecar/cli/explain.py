"""`sidecar explain`: what was decided on a run, and why."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from sidecar.adapters.convert import history_out, session_out
from sidecar.adapters.run_file import STANDARD_INPUT, read_lines
from sidecar.cli.options import Access, asks, fail, policies_of
from sidecar.cli.parameters import SENDABLE, escaped
from sidecar.cli.show import console, show
from sidecar.cli.streams import speak_json
from sidecar.explaining.explanation import Explanation, explain
from sidecar.explaining.markdown import markdown
from sidecar.explaining.ways import Source
from sidecar.printable import printable_json, printable_lines
from sidecar.replaying.recorded import NOT_OPEN, Problem, Replay
from sidecar.v1 import session_service_pb2 as admin_pb

PAGE_ENTRIES = 500
"""Of the journal: a page is far from 4 MiB also where each has a decision with its evidence."""

BROKEN = 1
"""Exit code when a file could not be explained."""

RUN_FILE = ".jsonl"
"""How a run file's name ends; only with --session or --admin a session is looked for under it."""


@click.command()
@click.argument("session", required=False)
@click.option(
    "--session",
    "session_id",
    type=SENDABLE,
    metavar="ID",
    help="A session, whatever files there are.",
)
@click.option("--policy", default="", help="For a run file: this policy instead of its own.")
@click.option("--admin", metavar="ADDRESS", help="Admin address of the sidecar.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
)
@asks
def command(
    session: str | None,
    session_id: str | None,
    policy: str,
    admin: str | None,
    form: str,
    access: Access,
) -> None:
    """Explain SESSION: a session of a live sidecar, or a run file (`-`: standard input).

    An id that could name a file is given with --session.
    """
    if (session is None) == (session_id is None):
        fail("give a SESSION, or a session's id with --session")
    if session_id is None and admin:  # which says that it is a session's name
        session_id = escaped(session or "")
    if session_id is None:
        explanation = _named(session or "", policy, access)
    elif policy:
        given = "--admin" if admin else "--session"
        fail(f"--policy is for run files, and {given} for sessions: leave one of them out")
    else:
        explanation = _from_sidecar(session_id, admin, access)
    _show(explanation, form)


def _named(session: str, policy: str, access: Access) -> Explanation:
    """What goes by that name: a file before a session."""
    if session == STANDARD_INPUT or _is_readable(Path(session)):
        return _from_file(session, policy, access)
    if "/" in session and Path(session).is_dir():
        # A bare name is rather a session's.
        fail(f"{session} is a folder: it must be a run file, or the id of a session")
    if policy or session.endswith(RUN_FILE):
        fail(f"{session}: no such file, and --policy and names in {RUN_FILE} are for run files")
    return _from_sidecar(escaped(session), None, access)


def _show(explanation: Explanation, form: str) -> None:
    match form:
        case "json":
            speak_json()
            click.echo(
                printable_json(json.dumps(asdict(explanation), indent=2, ensure_ascii=False))
            )
        case "markdown":
            click.echo(printable_lines(markdown(explanation)), nl=False)
        case _:
            console().print(show(explanation))


def _is_readable(path: Path) -> bool:
    """Whether there is a file or a pipe, or it cannot be told, which reading then explains."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:
        return True


def _from_file(source: str, policy: str, access: Access) -> Explanation:
    config = access.config()
    replay = Replay.under(config, source, policies_of(config, policy), policy=policy)
    try:
        for answer in replay.run(read_lines(source)):
            if isinstance(answer, Problem):
                fail(f"{source}:{answer.number}: {answer.text}", code=BROKEN)
    except OSError as error:
        fail(f"{source}: {error.strerror or error}", code=BROKEN)
    if replay.session is None:
        fail(f"{source}: {NOT_OPEN}", code=BROKEN)
    place = Source.FILE if replay.is_named else Source.NAMELESS_FILE
    return explain(history_out(session_out(replay.session), replay.entries), source=place)


def _from_sidecar(session_id: str, admin: str | None, access: Access) -> Explanation:
    from sidecar.cli.control import control

    with control(access, admin) as service:
        found: admin_pb.GetSessionResponse = service.GetSession(
            admin_pb.GetSessionRequest(session_id=session_id)
        )
        token = ""
        while True:
            page: admin_pb.ListTurnsResponse = service.ListTurns(
                admin_pb.ListTurnsRequest(
                    session_id=session_id, page_size=PAGE_ENTRIES, page_token=token
                )
            )
            found.turns.extend(page.turns)
            found.commands.extend(page.commands)
            if not (token := page.next_page_token):
                return explain(found)
