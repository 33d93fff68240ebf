"""What to look at while the sidecar is up, as lines that can be pasted."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from sidecar.addresses import parse_address
from sidecar.config.given import ConfigError
from sidecar.config.load import load


def pointers(addresses: Mapping[str, str], *, session_id: str) -> Iterator[str]:
    """Pages and commands for a sidecar at these addresses; a session to explain, if any."""
    program, admin = _program(), _admin_option(addresses["admin_address"])
    telemetry = addresses["telemetry_address"]
    yield f"metrics    http://{telemetry}/metrics"
    yield f"ready      http://{telemetry}/readyz"
    yield f"status     http://{addresses['admin_http_address']}/statusz"
    yield f"admin      {addresses['admin_address']}"
    yield f"           {program} sessions{' ls' if admin else ''}{admin}"
    if session_id:
        yield f"           {program} explain --session {session_id}{admin}"


def _program() -> str:
    """How the command is called here."""
    beside = Path(sys.executable).with_name("sidecar")
    if shutil.which("sidecar"):
        return "sidecar"
    return shlex.quote(str(beside)) if beside.exists() else f"{sys.executable} -m sidecar.cli"


def _admin_option(address: str) -> str:
    """The option without which the commands would ask elsewhere; empty: they would not."""
    try:
        configured = load(environment=os.environ).admin_address
    except ConfigError:
        configured = ""
    if configured and parse_address(configured).target == address:
        return ""
    return f" --admin {shlex.quote(address)}"
