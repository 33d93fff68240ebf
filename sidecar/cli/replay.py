"""`sidecar replay`: the decisions for recorded runs."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import click

from sidecar.adapters.run_file import STANDARD_INPUT, read_lines, write_line
from sidecar.cli.options import USAGE, config_option, configured, fail, policies_of
from sidecar.replaying import Problem, Replay
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2

BROKEN = 1
"""Exit code when a file could not be replayed whole."""

SEVERITY_WORDS = {run_pb2.SEVERITY_WARNING: "warning", run_pb2.SEVERITY_BREAK: "break"}


@dataclass(slots=True)
class Summary:
    """What came of all files."""

    files: int = 0
    turns: int = 0
    problems: int = 0
    first: Counter[str] = field(default_factory=Counter)
    """Files by their strongest directive."""


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--policy", default="", help="Policy for all files, instead of their own.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="table: a line for each directive. json: ObserveResponse lines.",
)
@click.option("--target", metavar="ADDRESS", help="Send the runs through this live sidecar.")
@click.option(
    "--admin", metavar="ADDRESS", help="Its admin address, for files with commands in them."
)
@click.option("--keep-going", is_flag=True, help="Pass over lines that cannot be read.")
@config_option
def command(
    files: tuple[str, ...],
    policy: str,
    form: str,
    target: str | None,
    admin: str | None,
    keep_going: bool,
    config_path: str | None,
) -> None:
    """Decide on the recorded runs in FILES (`-`: standard input), without a server.

    Standard output has the decisions and nothing else; exit code 0 whatever was decided, 1 when a
    line could not be read.
    """
    config = configured(config_path)
    policies = policies_of(config)
    if policy and policy not in policies.by_name:
        fail(f"--policy {policy}: no such policy; there are {', '.join(sorted(policies.by_name))}")
    summary = Summary()
    for source in _progress(files):
        answers = (
            Replay.under(config, source, policies, policy=policy).run(read_lines(source))
            if target is None
            else _live(source, target, admin, policy)
        )
        _show(source, answers, form, summary, keep_going=keep_going)
    _report(summary)
    sys.exit(BROKEN if summary.problems else 0)


def _live(
    source: str, target: str, admin: str | None, policy: str
) -> Iterator[pb.ObserveResponse | Problem]:
    # Imported here since only this needs a channel.
    from sidecar.replaying_live import replay_live

    return replay_live(source, read_lines(source), target=target, admin=admin, policy=policy)


def _show(
    source: str,
    answers: Iterator[pb.ObserveResponse | Problem],
    form: str,
    summary: Summary,
    *,
    keep_going: bool,
) -> None:
    strongest = "proceed"
    summary.files += 1
    try:
        for answer in answers:
            match answer:
                case Problem(number=number, text=text):
                    summary.problems += 1
                    click.echo(f"{source}:{number}: {text}", err=True)
                    if not keep_going:
                        break
                case response:
                    strongest = max(strongest, _directive(response), key=STRENGTH.index)
                    summary.turns += response.HasField("decision")
                    _print(source, response, form)
    except OSError as error:
        summary.problems += 1
        click.echo(f"{source}: {error.strerror or error}", err=True)
    summary.first[strongest] += 1


STRENGTH = ("proceed", "rotate", "commit", "halt")


def _directive(response: pb.ObserveResponse) -> str:
    return response.decision.WhichOneof("directive") or "proceed"


def _print(source: str, response: pb.ObserveResponse, form: str) -> None:
    if form == "json":
        sys.stdout.write(write_line(response) + "\n")
        return
    if response.HasField("opened"):
        opened = response.opened
        sys.stdout.write(f"{opened.session_id}  policy {opened.policy} {opened.policy_revision}\n")
        return
    decision = response.decision
    directive = _directive(response)
    if directive == "proceed" and not decision.readings and not decision.HasField("rejection"):
        return
    state = run_pb2.State.Name(decision.state).removeprefix("STATE_").lower()
    sys.stdout.write(f"  turn {decision.sequence:>4}  {state:<8}  {directive}\n")
    for reading in decision.readings:
        severity = SEVERITY_WORDS.get(reading.severity, "")
        sys.stdout.write(f"             {reading.signal} {severity}: {reading.summary}\n")
    if decision.HasField("rejection"):
        sys.stdout.write(f"             not counted: {decision.rejection.description}\n")


def _progress(files: tuple[str, ...]) -> Iterable[str]:
    """The files, with a progress bar on a terminal where there are many."""
    if len(files) < 2 or not sys.stderr.isatty() or STANDARD_INPUT in files:
        return files
    # Imported here since it takes a tenth of a second that one file need not pay.
    from rich.console import Console
    from rich.progress import track

    return track(files, description="replaying", console=Console(stderr=True), transient=True)


def _report(summary: Summary) -> None:
    counts: Any = ", ".join(
        f"{summary.first[name]} {word}"
        for name, word in zip(
            STRENGTH, ("undisturbed", "rotated", "committed", "halted"), strict=True
        )
        if summary.first[name]
    )
    click.echo(
        f"{summary.files} runs, {summary.turns} decisions: {counts}"
        + (f"; {summary.problems} problems" if summary.problems else ""),
        err=True,
    )


__all__ = ["USAGE", "command"]
