"""`sidecar sessions`: show and steer the sessions of a live sidecar."""

import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, TypeVar

import click

from sidecar.adapters.run_file import write_line
from sidecar.cli.aligning import aligned, aligned_as_they_come
from sidecar.cli.control import control
from sidecar.cli.options import Access, asks
from sidecar.cli.parameters import SENDABLE
from sidecar.cli.streams import speak_json
from sidecar.explaining.explanation import STATES
from sidecar.printable import printable
from sidecar.sessions.commands import EXTRA_MAX
from sidecar.v1 import run_pb2
from sidecar.v1 import session_service_pb2 as pb

F = TypeVar("F", bound=Callable[..., Any])

COLUMNS = ("SESSION", "AGENT", "POLICY", "TURNS", "STATE", "LINK", "LAST DIRECTIVE")
TURNS_SHOWN = 20

admin_option = click.option("--admin", metavar="ADDRESS", help="Admin address of the sidecar.")
reason_option = click.option(
    "--reason", type=SENDABLE, required=True, help="Why; kept in the journal."
)
extra_range = click.IntRange(0, EXTRA_MAX)


class Sessions(click.Group):
    """A group whose subcommand is `ls` where none is named, and takes options given before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As it was typed, with the subcommand that was meant in front."""
        if args[:1] and args[0] in ctx.help_option_names:
            return super().parse_args(ctx, args)
        parser = ls.make_parser(ctx)
        parser.allow_interspersed_args = False
        _, rest, _ = parser.parse_args(list(args))
        options = args[: len(args) - len(rest)]
        return super().parse_args(ctx, [*(rest[:1] or ["ls"]), *options, *rest[1:]])


@click.group(cls=Sessions)
def command() -> None:
    """Show and steer sessions (without a subcommand: `ls`)."""


@command.command()
@admin_option
@asks
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line.")
def ls(admin: str | None, access: Access, as_json: bool) -> None:
    """List the sessions, the latest active first."""
    with control(access, admin) as service:
        # Pages come in the order of opening: by activity, sessions would move from one to another.
        sessions = sorted(_all(service), key=_last_active, reverse=True)
    if as_json:
        speak_json()
        for session in sessions:
            click.echo(write_line(session))
        return
    for row in aligned([COLUMNS, *map(_columns, sessions)]):
        click.echo(row)


@command.command()
@click.argument("session_id", type=SENDABLE)
@admin_option
@asks
def show(session_id: str, admin: str | None, access: Access) -> None:
    """Show one session with its latest turns, as JSON."""
    speak_json()
    with control(access, admin) as service:
        request = pb.GetSessionRequest(session_id=session_id, turns_max=TURNS_SHOWN)
        click.echo(write_line(service.GetSession(request)))


@command.command()
@click.argument("session_id", type=SENDABLE, required=False)
@admin_option
@asks
def watch(session_id: str | None, admin: str | None, access: Access) -> None:
    """Follow all sessions, or one: a line at every change."""
    with control(access, admin) as service:
        changes = (
            service.WatchSession(pb.WatchSessionRequest(session_id=session_id))
            if session_id is not None  # an empty one is nobody's
            else service.WatchSessions(pb.WatchSessionsRequest())
        )
        try:
            rows = ((_now(), *columns) for columns in _as_shown(one.session for one in changes))
            for line in aligned_as_they_come(("TIME", *COLUMNS), rows):
                click.echo(line)
                sys.stdout.flush()
        except KeyboardInterrupt:
            changes.cancel()


@command.command("continue")
@click.argument("session_id", type=SENDABLE)
@reason_option
@click.option("--extra-turns", type=extra_range, default=0, help="Added to the limit.")
@click.option("--extra-input-tokens", type=extra_range, default=0, help="Added to the limit.")
@admin_option
@asks
def continue_(
    session_id: str,
    reason: str,
    extra_turns: int,
    extra_input_tokens: int,
    admin: str | None,
    access: Access,
) -> None:
    """Let a run go on in spite of its signals."""
    with control(access, admin) as service:
        request = pb.ContinueSessionRequest(
            session_id=session_id,
            reason=reason,
            extra_turns=extra_turns,
            extra_input_tokens=extra_input_tokens,
            request_id=str(uuid.uuid4()),
        )
        _say(service.ContinueSession(request).session)


@command.command()
@click.argument("session_id", type=SENDABLE)
@reason_option
@admin_option
@asks
def reset(session_id: str, reason: str, admin: str | None, access: Access) -> None:
    """Start a run's signals afresh, in recovery."""
    with control(access, admin) as service:
        request = pb.ResetSessionRequest(
            session_id=session_id, reason=reason, request_id=str(uuid.uuid4())
        )
        _say(service.ResetSession(request).session)


@command.command()
@click.argument("session_id", type=SENDABLE)
@reason_option
@admin_option
@asks
def close(session_id: str, reason: str, admin: str | None, access: Access) -> None:
    """Close a session; its agent begins another or works on unwatched."""
    with control(access, admin) as service:
        _say(
            service.CloseSession(
                pb.CloseSessionRequest(session_id=session_id, reason=reason)
            ).session
        )


def _all(service: Any) -> Iterator[pb.Session]:
    token = ""
    while True:
        # Pages of the default size: a thousand long runs are more than gRPC takes at once.
        page = service.ListSessions(pb.ListSessionsRequest(page_token=token))
        yield from page.sessions
        if not (token := page.next_page_token):
            return


def _last_active(session: pb.Session) -> int:
    nanoseconds: int = session.active_time.ToNanoseconds()
    return nanoseconds


def _as_shown(sessions: Iterable[pb.Session]) -> Iterator[tuple[str, ...]]:
    """Their columns as they come, but for changes that show in none: a run that its agent closes
    has its stream for a moment yet."""
    return (columns for columns, _ in groupby(map(_columns, sessions)))


def _columns(session: pb.Session) -> tuple[str, ...]:
    directive = session.last_directive.WhichOneof("directive") or "-"
    at = f"{directive} at {session.last_directive.sequence}" if directive != "-" else "-"
    if directive != "-" and session.mode == run_pb2.MODE_OBSERVE:
        at += ", untold"
    link = "closed" if session.closed else "streaming" if session.connected else "detached"
    return (
        printable(session.session_id),
        printable(session.agent_name) or "-",
        printable(session.policy),
        str(session.last_sequence),
        STATES.get(session.state, "-"),
        link,
        at,
    )


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _say(session: pb.Session) -> None:
    click.echo("  ".join(_columns(session)))
