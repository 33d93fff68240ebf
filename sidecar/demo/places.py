"""Where the demo's sidecar listens: by default, or beside whoever is there already."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from sidecar import paths
from sidecar.addresses import Address, parse_address
from sidecar.config.keys import ADDRESSES, Config

ANSWERS_WITHIN_S: Final = 0.5
"""A local process accepts a connection in microseconds, unless it is stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """An address for every listener."""

    addresses: Mapping[str, str]
    """By configuration key. Port 0 is any that is free."""
    moved: tuple[str, ...] = ()
    """What could not be had, each a sentence's end for a person."""


def choose(spare: Path) -> Places:
    """The default addresses where they can be had, others where not; `spare` is a directory for
    sockets then."""
    defaults = Config()
    addresses: dict[str, str] = {}
    moved: list[str] = []
    for key in ADDRESSES:
        default = str(getattr(defaults, key))
        address = parse_address(default)
        problem = _problem(address)
        addresses[key] = default
        if problem:
            addresses[key] = _beside(address, spare)
            moved.append(f"{address.target} {problem}")
    return Places(addresses=MappingProxyType(addresses), moved=tuple(moved))


def clear(path: Path) -> None:
    """Remove a socket that a sidecar has left behind, unless another listens there by now."""
    if path.is_socket() and not _is_answered(str(path)):
        path.unlink(missing_ok=True)


def _beside(address: Address, spare: Path) -> str:
    return str(spare / Path(address.path).name) if address.path else f"{address.host}:0"


def _problem(address: Address) -> str:
    """Why an address cannot be had; empty: it can."""
    if not address.path:
        return _problem_of_port(address)
    directory = Path(address.path).parent
    if directory.exists() and not paths.is_private(directory):
        return f"is in a directory that is not only this user's ({directory})"
    return "is taken" if _is_answered(address.path) else ""


def _is_answered(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(ANSWERS_WITHIN_S)
        try:
            probe.connect(path)
        except TimeoutError:  # somebody is there, and slow
            return True
        except OSError:  # nobody is, or no more
            return False
    return True


def _problem_of_port(address: Address) -> str:
    with socket.socket() as probe:
        # As servers do: a port whose connections are being closed is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address.host, address.port))
        except OSError as error:
            return f"cannot be had ({os.strerror(error.errno or 0)})"
    return ""
