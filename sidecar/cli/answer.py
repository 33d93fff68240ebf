"""`sidecar answer`: finding a final answer in text, without any model."""

import json
import sys
from dataclasses import asdict

import click

from sidecar.adapters.answer_file import FileUnfitError, read_answer_file
from sidecar.cli.options import config_option, configured, policies_of
from sidecar.config.checks import check_asking
from sidecar.core.answers.answer import Extraction, extract
from sidecar.printable import printable

BROKEN = 1
"""Exit code when a file could not be read."""


@click.group()
def command() -> None:
    """Find an agent's final answer."""


@command.command(name="extract")
@click.argument("files", nargs=-1, required=True)
@click.option("--policy", default="", help="Policy whose answer_form is looked for.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="A line for each file: words, or a JSON object.",
)
@config_option
def extract_command(
    files: tuple[str, ...], policy: str, form: str, config_path: str | None
) -> None:
    """Find the final answer in FILES: texts, or messages: in a JSON array, a line each, one alone,
    in a request to an API (under `messages`) or in its response (`-`: standard input).

    Exit code 0 whether or not there is one, 1 when a file could not be read; the others are still
    answered. With several files each JSON object names its `file`. docs/answers.md has the rules.
    """
    config = configured(config_path, checked=check_asking)
    answer_form = policies_of(config, policy).named(policy).answer_form
    broken = False
    for source in files:
        try:
            found = extract(read_answer_file(source, answer_form), (answer_form,))
        except (FileUnfitError, OSError) as error:
            broken = True
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            click.echo(f"{printable(source)}: {why}", err=True)
            continue
        line = (
            as_json(source, found, named=len(files) > 1) if form == "json" else row(source, found)
        )
        # What neither a name nor JSON's escapes need have in UTF-8 is escaped, as JSON does.
        click.echo(line.encode("utf-8", "backslashreplace"))
    sys.exit(BROKEN if broken else 0)


def as_json(source: str, found: Extraction, *, named: bool) -> str:
    """The extraction as a JSON object on one line."""
    return json.dumps(({"file": source} if named else {}) | asdict(found), ensure_ascii=False)


def row(source: str, found: Extraction) -> str:
    """The extraction in words, on one line."""
    if found.answer is None:
        return f"{printable(source)}  {found.source}"
    message = "" if found.message_index is None else f"message {found.message_index}, "
    where = f"{message}offset {found.offset}, {found.rule}"
    return f"{printable(source)}  {found.source}  {where}:  {printable(found.answer)}"
