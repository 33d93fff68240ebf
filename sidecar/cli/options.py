"""Options and failures that several subcommands share."""

import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import click

from sidecar.config import Config
from sidecar.config_load import load
from sidecar.given import ConfigError
from sidecar.policies import Policies

F = TypeVar("F", bound=Callable[..., Any])

USAGE = 2
"""Exit code for what the caller has to change."""

config_option = click.option(
    "--config",
    "config_path",
    metavar="FILE",
    help="Configuration file, YAML or TOML (default: $SIDECAR_CONFIG, else the user's).",
)


def fail(message: str, code: int = USAGE) -> NoReturn:
    """Say in one line what is wrong, and stop."""
    click.echo(f"sidecar: {message}", err=True)
    sys.exit(code)


def configured(config_path: str | None, flags: dict[str, Any] | None = None) -> Config:
    """The configuration; an invalid one ends the process with exit code 2 and one line."""
    try:
        return load(path=config_path, environment=os.environ, flags=flags or {})
    except ConfigError as error:
        fail(str(error))


def policies_of(config: Config) -> Policies:
    """The policies that the configuration names."""
    return Policies(by_name=config.policies, default=config.default_policy, ceiling=config.limits)
