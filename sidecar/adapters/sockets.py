"""Sockets that listen: over TCP, or at a path in place of one that nobody answers on."""

import grp
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

from sidecar.addresses import Address
from sidecar.paths import make_directory


def listening_socket(address: Address, *, mode: int = 0o600, group: str = "") -> socket.socket:
    """A socket that listens at the address; `mode` and `group` are those of a Unix socket's file.

    Raises OSError that names an address which cannot be had, and why.
    """
    try:
        return _unix(address.path, mode, group) if address.path else _tcp(address)
    except OSError as fault:
        raise OSError(f"cannot listen at {address.target}: {_why(fault)}") from fault


def group_id(group: str) -> int:
    """Number of a group that is given by either. Raises KeyError where none has the name."""
    return int(group) if group.isdecimal() else grp.getgrnam(group).gr_gid


def _why(fault: OSError) -> str:
    """The system's own words, without the number and what Python adds; a name that cannot be
    resolved has a number of another kind, below zero."""
    number = fault.errno or 0
    return os.strerror(number) if number > 0 else fault.strerror or str(fault)


def _tcp(address: Address) -> socket.socket:
    family, _, _, _, where = socket.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    every = family == socket.AF_INET6 and address.host == "::" and socket.has_dualstack_ipv6()
    listening = socket.create_server((where[0], where[1]), family=family, dualstack_ipv6=every)
    # Its connections have it from here. asyncio leaves it out where a socket names no protocol, and
    # a response in two pieces then waits 40 ms for the caller's acknowledgement of the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _unix(path: str, mode: int, group: str) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        make_directory(Path(path).parent)
        _make_way(path)
        listening.bind(path)
        if group:
            os.chown(path, -1, group_id(group))
        Path(path).chmod(mode)
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def _make_way(path: str) -> None:
    """Remove a socket that a dead process left behind; a living one keeps its place."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(Path(path).stat().st_mode):
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                Path(path).unlink()
