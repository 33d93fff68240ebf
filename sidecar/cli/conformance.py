"""`sidecar conformance`: hold a client, or a service, to the protocol."""

import asyncio
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Final

import click

from sidecar.cli.options import fail
from sidecar.cli.parameters import FloatRange
from sidecar.client.settings import AddressError, target_of
from sidecar.conformance.agent_play import Service
from sidecar.conformance.client_play import Allowance
from sidecar.conformance.faults import TableError
from sidecar.conformance.report import as_json, line_of, list_as_json, list_of, summary_of
from sidecar.conformance.running import Outcome, run_client_cases
from sidecar.conformance.serving import run_server_cases
from sidecar.conformance.table import Case, client_cases, server_cases
from sidecar.stopping import stopping_signals

FAILED: Final = 1
"""Exit code where a case failed."""

PEM_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--client", metavar="CMD", help="The command that runs a client's driver.")
@click.option("--server", metavar="ADDRESS", help="A service: unix:PATH or HOST:PORT.")
@click.option("--token", envvar="SIDECAR_TOKEN", metavar="TEXT", help="Sent to the service.")
@click.option(
    "--root-certificates",
    type=PEM_FILE,
    help="Authorities of the service's certificate, PEM; TLS is spoken with it.",
)
@click.option("--certificate", type=PEM_FILE, help="Shown to the service, PEM.")
@click.option("--private-key", type=PEM_FILE, help="To that certificate, PEM.")
@click.option("--only", multiple=True, metavar="TEXT", help="Cases whose name or table has it.")
@click.option("--list", "lists", is_flag=True, help="Name the cases, and play none.")
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True, help="How often.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A line a case, or one JSON object at the end.",
)
@click.option(
    "--address",
    "transport",
    type=click.Choice(["unix", "tcp"]),
    default="unix",
    show_default=True,
    help="What the client connects over, where the case does not say.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Drivers at a time, each with cases of its own; cases wait more than they compute.",
)
@click.option(
    "--slack-ms",
    type=FloatRange(0, 60_000),
    default=1000.0,
    show_default=True,
    help="How much later than its timeout a reply may come, on a busy machine.",
)
def command(
    client: str | None,
    server: str | None,
    token: str | None,
    root_certificates: Path | None,
    certificate: Path | None,
    private_key: Path | None,
    only: tuple[str, ...],
    lists: bool,
    runs: int,
    form: str,
    transport: str,
    jobs: int,
    slack_ms: float,
) -> None:
    """Play the tables of proto/conformance, and report what came of each case.

    With --client it plays the sidecar, good and bad, against a client; with --server the agent
    against a service. Exit code 0 when every case passed, 1 when one failed, 2 for bad use.
    """
    if client and server:
        fail("--client or --server, not both")
    try:
        cases = _chosen(server_cases() if server else client_cases(), only)
        if lists:
            click.echo(list_of(cases) if form == "text" else list_as_json(cases))
            return
        if server:
            service = _service(
                server,
                token or "",
                root_certificates=root_certificates,
                certificate=certificate,
                private_key=private_key,
            )
            playing = run_server_cases(service, cases * runs)
        elif client:
            _require_command(client)
            playing = run_client_cases(
                client,
                cases * runs,
                transport=transport,
                jobs=jobs,
                allowance=Allowance(slack_ms=slack_ms),
            )
        else:
            fail("--client CMD or --server ADDRESS: who is to be held to the tables?")
        for number in stopping_signals():
            # As Ctrl-C does: what was started is ended, and what was made removed.
            signal.signal(number, signal.default_int_handler)
        began_s = monotonic()
        outcomes = asyncio.run(_played(playing, tells=form == "text"))
    except BrokenPipeError:
        # Nobody reads on, as before `| head`; click ends the process without a word.
        raise
    except TableError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    took_s = monotonic() - began_s
    click.echo(summary_of(outcomes, took_s=took_s) if form == "text" else as_json(outcomes))
    sys.exit(FAILED if any(one.fault for one in outcomes) else 0)


def _require_command(command: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError as error:
        fail(f"--client {command}: {error}")
    if not words:
        fail("--client: it must name a command")


def _service(address: str, token: str, **files: Path | None) -> Service:
    """What is to be played against; `files` by the names that Service has for what is in them."""
    try:
        target = target_of(address)
    except AddressError as error:
        fail(f"--server: {error}")
    token = token.strip()  # read from a file it ends with a newline
    if not (token.isascii() and (token.isprintable() or not token)):
        fail("--token: it must be printable ASCII, as metadata of gRPC is")
    if (files["certificate"] or files["private_key"]) and not files["root_certificates"]:
        fail("--certificate and --private-key: --root-certificates turn TLS on, and are missing")
    if bool(files["certificate"]) != bool(files["private_key"]):
        fail("--certificate and --private-key: both or neither")
    contents = {name: path.read_bytes() for name, path in files.items() if path}
    return Service(target=target, token=token, **contents)


def _chosen(cases: Sequence[Case], only: Sequence[str]) -> tuple[Case, ...]:
    """The cases asked for; none at all ends the process with exit code 2."""
    chosen = tuple(
        case
        for case in cases
        if not only or any(part in case.name or part == case.table for part in only)
    )
    if not chosen:
        fail(f"--only {' '.join(only)}: no case has that in its name")
    return chosen


async def _played(outcomes: AsyncIterator[Outcome], *, tells: bool) -> list[Outcome]:
    found = []
    async for outcome in outcomes:
        found.append(outcome)
        if tells:
            click.echo(line_of(outcome))
    return found
