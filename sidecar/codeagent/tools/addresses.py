"""Which addresses of the network may be asked: public ones, and those that an operator opens."""

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_NAT64: Final = ip_network("64:ff9b::/96")
"""RFC 6052: the last four bytes are an address of version 4."""
_UNICAST: Final = ip_network("2000::/3")
"""All that IANA has given to the internet of version 6 ("Internet Protocol Version 6 Address
Space"); outside are site-local addresses, the local NAT64 and more that `is_global` lets pass."""
_PROTOCOLS: Final = ip_network("192.0.0.0/24")
"""RFC 6890; Python 3.11 takes most of it for global."""

_AZURE: Final = IPv4Address("168.63.129.16")
"""Public by its number, and in each virtual machine of Azure the host's own service (Microsoft's
documentation, "What is IP address 168.63.129.16?")."""


class AddressRefusedError(Exception):
    """A host has no address that may be asked."""


def is_public(address: Address) -> bool:
    """Whether it is nobody's own: not private, loopback, link-local (where clouds have their
    metadata), shared, multicast or reserved, nor one of those in the dress of another."""
    match address:
        case IPv6Address():
            inner = _inner(address)
            return is_public(inner) if inner else address in _UNICAST and address.is_global
        case IPv4Address():
            reserved = address in _PROTOCOLS or address == _AZURE
            return address.is_global and not address.is_multicast and not reserved


def _inner(address: IPv6Address) -> IPv4Address | None:
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)


async def resolved(host: str, port: int, opened: Sequence[Network] = ()) -> list[str]:
    """The addresses to connect to for a host, at least one, in the order in which to try them.
    Raises AddressRefusedError if any of them is neither public nor opened: a host that has both
    kinds is up to something."""
    try:
        rows = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
        )
    except (OSError, UnicodeError) as error:
        raise AddressRefusedError(f"{host}: no such host") from error
    found = [ip_address(str(row[4][0]).partition("%")[0]) for row in rows]
    for address in found:
        if not is_public(address) and not any(address in network for network in opened):
            raise AddressRefusedError(f"{host}: it is not on the public internet")
    if not found:
        raise AddressRefusedError(f"{host}: it has no address")
    return [str(address) for address in found]
