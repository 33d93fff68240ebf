"""Options and failures that several subcommands share."""

import functools
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NoReturn, TypeVar

import click

from sidecar.config.checks import check, check_asking
from sidecar.config.given import ConfigError, Tree
from sidecar.config.keys import ASKING, KEYS, Config, flag_name
from sidecar.config.load import load
from sidecar.policies import Policies
from sidecar.printable import printable_lines

F = TypeVar("F", bound=Callable[..., Any])

USAGE = 2
"""Exit code for what the caller has to change."""

CREDENTIALS: Final = MappingProxyType(
    {
        "token_file": "Token to send over TCP.",
        "tls_server_ca_file": "Authorities of the sidecar's certificate; TLS is spoken with it.",
        "tls_client_certificate_file": "Certificate to show to the sidecar.",
        "tls_client_key_file": "Private key to that certificate.",
    }
)
"""Keys that say how a command may speak to a sidecar, and their help as flags."""

config_option = click.option(
    "--config",
    "config_path",
    metavar="FILE",
    help="Configuration file, YAML or TOML (default: $SIDECAR_CONFIG, else the user's).",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a command line says of how a sidecar is spoken to."""

    config_path: str | None
    credentials: Mapping[str, str | None]
    """By key; None: not given."""

    def config(self) -> Config:
        """The configuration; an invalid one ends the process with exit code 2 and one line."""
        return configured(self.config_path, self.credentials, checked=check_asking)


def asks(function: F) -> F:
    """Adds the options by which a sidecar is spoken to; the function gets them as `access`."""

    @functools.wraps(function)
    def called(*, config_path: str | None, **options: Any) -> Any:
        credentials = {key: options.pop(key) for key in CREDENTIALS}
        access = Access(config_path=config_path, credentials=credentials)
        return function(access=access, **options)

    decorated: Any = config_option(called)
    for key, meaning in reversed(list(CREDENTIALS.items())):
        decorated = click.option(flag_name(key), key, metavar="FILE", help=meaning)(decorated)
    found: F = decorated
    return found


def sets(function: F) -> F:
    """Adds a flag for every key that a sidecar serves under, in the order of its documentation;
    the function gets those that were given, by key, as `flags`."""
    keys = {key: key.replace(".", "__") for key in KEYS if key not in ASKING}

    @functools.wraps(function)
    def called(**options: Any) -> Any:
        given = {key: options.pop(parameter) for key, parameter in keys.items()}
        flags = {key: value for key, value in given.items() if value is not None}
        return function(flags=flags, **options)

    decorated: Any = called
    for key, parameter in reversed(keys.items()):
        option = click.option(flag_name(key), parameter, metavar="VALUE", help=meaning_of(key))
        decorated = option(decorated)
    found: F = decorated
    return found


def meaning_of(key: str) -> str:
    """What a key means where nothing else says what it is a key of."""
    meaning = KEYS[key].meaning
    if not key.startswith("limits."):
        return meaning
    begins = meaning[:2] if meaning[:2].isupper() else meaning[:2].lower()
    return f"Most that any run gets: {begins}{meaning[2:]}"


def fail(message: str, code: int = USAGE) -> NoReturn:
    """Say in one line what is wrong, and stop."""
    click.echo(f"sidecar: {printable_lines(message)}", err=True)
    sys.exit(code)


def configured(
    config_path: str | None,
    flags: Mapping[str, Any] | None = None,
    *,
    checked: Callable[[Config, Tree], None] = check,
) -> Config:
    """The configuration; an invalid one ends the process with exit code 2 and one line."""
    try:
        return load(path=config_path, environment=os.environ, flags=flags or {}, checked=checked)
    except ConfigError as error:
        fail(str(error))


def policies_of(config: Config, policy: str) -> Policies:
    """The policies that the configuration names; one that is not among them, given with --policy,
    ends the process."""
    known = config.policies
    if policy and policy not in known:
        fail(f"--policy {policy}: no such policy; there are {', '.join(sorted(known))}")
    return Policies(by_name=known, default=config.default_policy, ceiling=config.limits)
