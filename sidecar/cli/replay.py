"""`sidecar replay`: the decisions for recorded runs."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import click

from sidecar.adapters.run_file import STANDARD_INPUT, read_lines, write_line
from sidecar.cli.bar import with_bar
from sidecar.cli.options import Access, asks, fail, policies_of
from sidecar.cli.parameters import SENDABLE
from sidecar.cli.streams import speak_json
from sidecar.printable import printable
from sidecar.replaying.recorded import Problem, Replay
from sidecar.sessions.session import Session
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from sidecar.wording import counted

BROKEN = 1
"""Exit code when a file could not be replayed whole."""

Answers: TypeAlias = Iterator[pb.ObserveResponse | Problem]

SEVERITY_WORDS = {run_pb2.SEVERITY_WARNING: "warning", run_pb2.SEVERITY_BREAK: "break"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one file."""

    strongest: str
    """Its strongest directive."""
    turns: int
    rejected: int
    """Turns that were not counted, among them those answered long ago."""
    problems: int


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--policy", type=SENDABLE, default="", help="Policy for all files, instead of their own."
)
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
@click.option(
    "--what-if",
    "changes",
    metavar="SIGNAL.THRESHOLD=VALUE",
    multiple=True,
    help="Show which directives move under this change of the policy; can be repeated.",
)
@asks
def command(
    files: tuple[str, ...],
    policy: str,
    form: str,
    target: str | None,
    admin: str | None,
    keep_going: bool,
    changes: tuple[str, ...],
    access: Access,
) -> None:
    """Decide on the recorded runs in FILES (`-`: standard input), without a server.

    Standard output has the decisions and nothing else; exit code 0 whatever was decided, 1 when a
    line could not be replayed, 3 when no sidecar answers at --target.
    """
    if admin and target is None:
        fail("--admin is given without --target: nothing is sent anywhere")
    if form == "json":
        speak_json()
    if changes:
        sys.exit(_compared(files, changes, access, policy, target, form, keep_going=keep_going))
    answering = _here(access, policy) if target is None else _there(access, policy, target, admin)
    with answering as answers:
        outcomes = [
            _shown(source, answers(source), form, keep_going=keep_going)
            for source in _progress(files)
        ]
    _report(outcomes)
    sys.exit(BROKEN if any(outcome.problems for outcome in outcomes) else 0)


def _compared(
    files: tuple[str, ...],
    changes: tuple[str, ...],
    access: Access,
    policy: str,
    target: str | None,
    form: str,
    *,
    keep_going: bool,
) -> int:
    """The exit code of a comparison of two policies."""
    # Imported here since only this needs it.
    from sidecar.cli.what_if import compare

    if target is not None:
        fail("--what-if compares policies here: leave out --target, whose policies are its own")
    problems = compare(
        _progress(files), changes, access=access, policy=policy, form=form, keep_going=keep_going
    )
    return BROKEN if problems else 0


@contextmanager
def _here(access: Access, policy: str) -> Iterator[Callable[[str], Answers]]:
    config = access.config()
    policies = policies_of(config, policy)
    earlier: dict[str, Session] = {}

    def answers(source: str) -> Answers:
        replay = Replay.under(config, source, policies, policy=policy, earlier=earlier)
        try:
            yield from replay.run(read_lines(source))
        finally:
            replay.leave(earlier, sessions_max=config.sessions_max)

    yield answers


@contextmanager
def _there(
    access: Access, policy: str, target: str, admin: str | None
) -> Iterator[Callable[[str], Answers]]:
    # Imported here since only this needs a channel.
    from sidecar.cli.control import channel, control
    from sidecar.replaying.live import LiveReplay

    steering = partial(control, access, admin) if admin else None
    with channel(access, "agent_address", "--target", target) as found:
        yield lambda source: LiveReplay(source, channel=found, control=steering, policy=policy).run(
            read_lines(source)
        )


def _shown(source: str, answers: Answers, form: str, *, keep_going: bool) -> Outcome:
    strongest, turns, rejected, problems = "proceed", 0, 0, 0
    try:
        for answer in answers:
            match answer:
                case Problem(number=number, text=text):
                    problems += 1
                    click.echo(f"{printable(source)}:{number}: {text}", err=True)
                    if not keep_going:
                        break
                case response:
                    strongest = max(strongest, _directive(response), key=STRENGTH.index)
                    turns += response.HasField("decision")
                    rejected += response.decision.HasField("rejection")
                    _print(response, form)
    except BrokenPipeError:
        # Nobody reads on, as before `| head`; click ends the process without a word.
        raise
    except OSError as error:
        problems += 1
        click.echo(f"{printable(source)}: {error.strerror or error}", err=True)
    return Outcome(strongest=strongest, turns=turns, rejected=rejected, problems=problems)


STRENGTH = ("proceed", "rotate", "commit", "halt")


def _directive(response: pb.ObserveResponse) -> str:
    return response.decision.WhichOneof("directive") or "proceed"


def _print(response: pb.ObserveResponse, form: str) -> None:
    if form == "json":
        sys.stdout.write(write_line(response) + "\n")
        return
    if response.HasField("opened"):
        opened = response.opened
        run = f"{printable(opened.session_id)}  policy {opened.policy} {opened.policy_revision}"
        sys.stdout.write(f"{run}\n")
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
    """The files, with a progress bar where nobody types them."""
    return files if STANDARD_INPUT in files else with_bar(files, "replaying")


def _report(outcomes: Sequence[Outcome]) -> None:
    # Of a file in which nothing was decided there is nothing to say.
    decided = Counter(outcome.strongest for outcome in outcomes if outcome.turns)
    words = zip(STRENGTH, ("undisturbed", "rotated", "committed", "halted"), strict=True)
    counts = ", ".join(f"{decided[name]} {word}" for name, word in words if decided[name])
    turns = counted(sum(outcome.turns for outcome in outcomes), "decision")
    rejected = sum(outcome.rejected for outcome in outcomes)
    problems = sum(outcome.problems for outcome in outcomes)
    click.echo(
        f"{counted(len(outcomes), 'run')}, {turns}"
        + (f", {counted(rejected, 'turn')} not counted" if rejected else "")
        + (f": {counts}" if counts else "")
        + (f"; {counted(problems, 'problem')}" if problems else ""),
        err=True,
    )
