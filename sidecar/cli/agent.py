"""`sidecar agent`: the reference agent on a question, on five known ones, on a file of them."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sidecar.cli.agent_setup import Setup, agent_options, run, web_options
from sidecar.cli.options import fail
from sidecar.cli.streams import speak_json
from sidecar.printable import printable, printable_json, printable_lines
from sidecar.wording import counted

if TYPE_CHECKING:
    from sidecar.client import Directive
    from sidecar.codeagent.bench import Row, Tally
    from sidecar.codeagent.conversation import Report
    from sidecar.codeagent.smoke import Checked

FAILED: Final = 1
"""Exit code when there is no answer, or when too few of the known ones were found."""
ASK: Final = "ask"


class Questions(click.Group):
    """A group in which a question may stand in place of a command's name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`agent QUESTION ...` is `agent ask QUESTION ...`."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [ASK, *args]
        return super().parse_args(ctx, args)


@click.group(cls=Questions)
def command() -> None:
    """Answer a question with the reference agent: `sidecar agent "QUESTION"`.

    It writes Python, which runs contained in a process of its own, and reports every turn to the
    sidecar beside it, if there is one. docs/agent.md says what is contained, and what is sent
    where.
    """


@command.command(name=ASK)
@click.argument("question")
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="A file the question is about; can be repeated.",
)
@web_options
@click.option("--review", is_flag=True, help="Have the answer reviewed, and try again if it fails.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@agent_options
def ask(question: str, files: tuple[Path, ...], review: bool, form: str, **options: Any) -> None:
    """Answer QUESTION. The answer goes to standard output, what is done to standard error.

    Exit code 0; 1 when there is no answer; 2 for what the caller has to change.
    """
    from sidecar.codeagent.runner.files import FileUnusableError, named

    if not question.strip():
        fail("the question is empty")
    try:
        named(files)
    except FileUnusableError as error:
        fail(str(error))
    asked = Setup.ask_reviewed if review else Setup.ask
    result = run(lambda setup: asked(setup, question, files, seen=_seen), options)
    found = result.as_json()
    if form == "json":
        speak_json()
        click.echo(printable_json(json.dumps(found, ensure_ascii=False)))
    else:
        _summary(found)
        if result.answer is not None:
            # A page or a model may have written it. Where no terminal reads it, it stays as it is.
            shown = printable_lines if sys.stdout.isatty() else str
            click.echo(shown(result.answer))
    sys.exit(0 if result.answer is not None else FAILED)


@command.command(name="smoke")
@agent_options
def smoke_command(**options: Any) -> None:
    """Ask five small questions with known answers: a table, a workbook, pages, a puzzle, a picture.

    Exit code 0 when at least three are answered, else 1; 2 for what the caller has to change.
    """
    from sidecar.codeagent.smoke import BAR, QUESTIONS

    checked = run(lambda setup: setup.smoke(_told), {"web": False, "search": None, **options})
    passed = sum(each.passed for each in checked)
    click.echo(f"{passed}/{len(QUESTIONS)} (the bar is {BAR})")
    sys.exit(0 if passed >= BAR else FAILED)


@command.command(name="bench")
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--concurrency", type=click.IntRange(1, 64), default=4, show_default=True)
@click.option(
    "--results",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where each run is kept, and what is there is not run again (default: beside FILE).",
)
@click.option(
    "--side",
    type=click.Choice(["both", "with", "without"]),
    default="both",
    show_default=True,
    help="With a sidecar that watches, without, or each question with and without.",
)
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
@web_options
@agent_options
def bench_command(
    path: Path, concurrency: int, results: Path | None, side: str, form: str, **options: Any
) -> None:
    """Run the questions in FILE, JSON lines in the form of the GAIA benchmark, and compare.

    Each has task_id, Question, Level, Final answer and file_name, the file being beside FILE.
    Exit code 0; 1 where a run failed; 2 for what the caller has to change.
    """
    from sidecar.codeagent.bench import Side, is_failed, tally
    from sidecar.codeagent.gaia import QuestionsInvalidError, read_questions

    try:
        questions = read_questions(path)
    except QuestionsInvalidError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    sides = [each for each in Side if side in ("both", each)]
    kept = results or path.with_name(f"{path.stem}.results.jsonl")
    try:
        kept.open("a+").close()  # to be read and written
    except OSError as error:
        fail(f"{kept}: {error.strerror}")
    with _Progress() as progress:
        rows = run(
            lambda setup: setup.bench(
                questions,
                sides,
                results=kept,
                concurrency=concurrency,
                begun=progress.begin,
                done=progress.take,
            ),
            options,
        )
    _compare([tally(rows, each) for each in sides], form)
    failed = [row for row in rows if is_failed(row)]
    if failed:
        _failures(failed)
    sys.exit(FAILED if failed else 0)


class _Progress:
    """A bar on a terminal, else a line for each run. A context manager."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __enter__(self) -> "_Progress":
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, runs: int) -> None:
        """So many runs are to come."""
        if self._bar is not None:
            self._task = self._bar.add_task("asking", total=runs)

    def take(self, row: "Row") -> None:
        """A run has ended."""
        if self._bar is not None:
            self._bar.advance(self._task)
            return
        words = {True: "right", False: "wrong", None: "not judged"}[row["correct"]]
        click.echo(
            f"{row['side']:<7}  {printable(row['question_id'])}  {words}  {row['stop_reason']}",
            err=True,
        )


def _failures(rows: "list[Row]") -> None:
    """How many failed, and each reason once."""
    failed = counted(len(rows), "run")
    click.echo(f"{failed} failed; the same command tries what failed again", err=True)
    for reason in dict.fromkeys(row.get("error") for row in rows):
        if reason:
            click.echo(f"  {printable(reason)}", err=True)


def _compare(tallies: "list[Tally]", form: str) -> None:
    if form == "json":
        named = [{**asdict(each), "accuracy": each.accuracy} for each in tallies]
        click.echo(json.dumps(named))
        return
    from rich.table import Table

    from sidecar.cli.show import console

    table = Table()
    for column in ("sidecar", "runs", "right", "empty", "turns", "tokens", "USD", "directives"):
        table.add_column(column, justify="left" if column == "sidecar" else "right")
    for each in tallies:
        right = "-" if each.accuracy is None else f"{each.correct} ({each.accuracy:.0%})"
        cost = "-" if each.cost_usd is None else f"{each.cost_usd:.4f}"
        counts = (each.empty, each.turns, each.tokens)
        told = "-" if each.side == "without" else str(each.directives)
        table.add_row(each.side, str(each.runs), right, *map(str, counts), cost, told)
    console().print(table)
    for each in tallies:
        if each.unwatched:
            runs = counted(each.unwatched, "run")
            again = "the same command runs what was not watched again"
            click.echo(f"{runs} not watched throughout; {again}", err=True)


def _told(checked: "Checked") -> None:
    result = checked.result
    word = "pass" if checked.passed else "FAIL"
    given = "no answer" if result.answer is None else repr(result.answer)
    wanted = "" if checked.passed else f", not {checked.question.answer!r}"
    click.echo(f"{word}  {checked.question.id:<7} {given}{wanted} ({result.outcome.stop_reason})")


def _seen(report: "Report", directive: "Directive") -> None:
    """A line for a turn: on a terminal for each, since it may take minutes, else for one to which
    the sidecar said something."""
    from sidecar.client import Kind

    if directive.kind is Kind.PROCEED and not sys.stderr.isatty():
        return
    told = "" if directive.kind is Kind.PROCEED else f": {directive.kind.value}"
    because = f" ({directive.readings[0].signal})" if told and directive.readings else ""
    click.echo(f"turn {report.turn}: {_done_in(report)}{told}{because}", err=True)


def _done_in(report: "Report") -> str:
    if report.failure is not None:
        return "the model failed"
    if report.committed is not None:
        return "a forced commit"
    if report.step is None:
        return "no code"
    calls = "".join(f", {name}" for name in dict.fromkeys(use.name for use in report.step.uses))
    return f"code {report.step.ended} in {report.step.duration_s:.1f} s{printable(calls)}"


def _summary(found: Mapping[str, Any]) -> None:
    cost = "cost not known" if found["cost_usd"] is None else f"{found['cost_usd']:.4f} USD"
    click.echo(
        f"{found['stop_reason']} after {counted(found['turns'], 'turn')}, {found['input_tokens']} "
        f"+ {found['output_tokens']} tokens, {cost}, {found['wall_s']:.1f} s",
        err=True,
    )
    if found["error"]:
        click.echo(printable(found["error"]), err=True)
    if found.get("flagged"):
        click.echo("flagged: the answer stands in spite of its review", err=True)
