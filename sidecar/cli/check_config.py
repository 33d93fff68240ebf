"""`sidecar check-config`: every effective setting, where it came from, and the policies."""

import json
from collections.abc import Mapping

import click

from sidecar.cli.options import config_option, configured, sets
from sidecar.cli.streams import speak_json
from sidecar.config.report import effective, render_effective
from sidecar.printable import printable_json


@click.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
)
@config_option
@sets
def command(form: str, config_path: str | None, flags: Mapping[str, str]) -> None:
    """Show every effective setting with its origin, and each policy's revision.

    The flags are those of `serve`. Exit code 2 and one line for a configuration that is invalid.
    """
    config = configured(config_path, flags)
    if form == "json":
        speak_json()
        click.echo(printable_json(json.dumps(effective(config), indent=2, ensure_ascii=False)))
    else:
        click.echo(render_effective(config), nl=False)
