"""`sidecar mcp`: an MCP server whose tools report turns to the sidecar beside it."""

import asyncio
import importlib
import logging
import os
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from sidecar import paths
from sidecar.addresses import Address, parse_address
from sidecar.cli.options import Access, asks, fail
from sidecar.cli.parameters import FloatRange
from sidecar.client.settings import ADDRESS_VARIABLE
from sidecar.config.given import ConfigError
from sidecar.connecting import settings_for

if TYPE_CHECKING:
    from sidecar.mcp.run import Terms

UNABLE: Final = 1
"""Exit code when an address or a file cannot be had."""

TOKEN_FILE: Final = "mcp.token"  # noqa: S105 (the name of a file)
TIMEOUT_S: Final = 1.0
"""A tool call takes seconds as it is, and a model does not come back for a late directive."""

IDLE_S: Final = 1_800.0
"""As the SDK has it: a person thinks no longer, and a host that is gone says nothing."""


@click.command()
@click.option(
    "--address",
    metavar="ADDRESS",
    help="Of the sidecar (default: $SIDECAR_ADDRESS, else agent_address of the configuration).",
)
@click.option("--session-id", default="", metavar="NAME", help="Of the run (default: random).")
@click.option("--policy", default="", metavar="NAME", help="Policy that the run is watched by.")
@click.option("--agent-name", default="mcp", show_default=True, metavar="NAME")
@click.option("--max-turns", type=click.IntRange(min=1), metavar="N", help="The run's own bound.")
@click.option(
    "--timeout",
    "timeout_s",
    type=FloatRange(0, 60),
    default=TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    help="Longest wait for a decision.",
)
@click.option("--http", metavar="HOST:PORT", help="Serve streamable HTTP here, on loopback only.")
@click.option(
    "--http-token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Token that callers over HTTP must send; made if it is not there.",
)
@click.option(
    "--http-idle",
    "idle_s",
    type=FloatRange(min=0.1),
    default=IDLE_S,
    show_default=True,
    metavar="SECONDS",
    help="Time without a request after which an HTTP session is closed.",
)
@asks
def command(
    http: str | None,
    http_token_file: Path | None,
    idle_s: float,
    access: Access,
    **options: Any,
) -> None:
    """Serve the tools report_turn, get_status and request_commit over MCP.

    Over standard input and output the process is one run; over HTTP (--http) each session is.
    docs/mcp.md has the lines for hosts, and says why hooks and clients are to be preferred.
    """
    address = None if http is None else _loopback(http)
    _require_sdk()
    terms = _terms(access, **options)
    # Standard output belongs to the protocol.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    if address is not None:
        _serve_http(terms, address, http_token_file or _token_file(), idle_s)
        return
    from sidecar.mcp.serving import serve_stdio

    try:
        asyncio.run(serve_stdio(terms))
    except BrokenPipeError:
        raise  # The host has left, and click ends the process without a word.
    except OSError as fault:
        fail(f"standard input or output cannot be used: {fault.strerror}", code=UNABLE)


def _require_sdk() -> None:
    try:
        importlib.import_module("mcp.server.lowlevel")
    except ModuleNotFoundError as error:
        package = (error.name or "mcp").partition(".")[0]
        fail(f"there is no package {package}: it comes with the extra, pipx install '.[mcp]'")


def _terms(access: Access, *, address: str | None, **options: Any) -> "Terms":
    """What every run is opened with; an address or a file of no use ends the process."""
    from sidecar.mcp.run import Terms

    config = access.config()
    own = str(paths.agent_socket())
    configured = config.agent_address if config.agent_address != own else ""
    given = address or os.environ.get(ADDRESS_VARIABLE) or configured
    try:
        settings = settings_for(config, parse_address(given or own))
    except ConfigError as error:
        fail(str(error))
    except ValueError as error:
        fail(f"{given}: the sidecar's address must be {error}")
    return Terms(
        address=given or None,  # then the client sees to it that the socket is the user's own
        options={
            **options,  # type: ignore[typeddict-item]  # names and types are those of the options
            "root_certificates": settings.root_certificates or None,
            "certificate": settings.certificate or None,
            "private_key": settings.private_key or None,
            "token": settings.token or None,
        },
    )


def _serve_http(terms: "Terms", address: Address, token_file: Path, idle_s: float) -> None:
    from sidecar.adapters.sockets import listening_socket
    from sidecar.mcp.guard import PATH
    from sidecar.mcp.serving import serve_http
    from sidecar.mcp.token_file import TokenUnfitError, token_in

    try:
        token = token_in(token_file)
        listening = listening_socket(address)
    except (TokenUnfitError, OSError) as error:
        fail(str(error), code=UNABLE)
    bound = replace(address, port=listening.getsockname()[1])
    click.echo(f"ready http://{bound.target}{PATH} token_file={token_file}")
    sys.stdout.flush()
    asyncio.run(serve_http(terms, listening, bound, token=token, idle_s=idle_s))


def _loopback(text: str) -> Address:
    address = None
    with suppress(ValueError):
        address = parse_address(text)
    if address is None or address.path or not address.is_local:
        # Of the forms that other addresses have, these are right here.
        fail(f"--http {text}: it must be a loopback address, as 127.0.0.1:9470 or [::1]:9470")
    return address


def _token_file() -> Path:
    directory = paths.runtime_directory()
    try:
        paths.make_private(directory)
    except OSError as error:
        fail(f"{error}; or name another file with --http-token-file", code=UNABLE)
    return directory / TOKEN_FILE
