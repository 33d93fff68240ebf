"""Where a listener can be reached: a Unix socket, or a host and a port."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

SOCKET_PATH_BYTES_MAX: Final = 107
"""`sun_path` holds 108 bytes with its closing zero, see unix(7); a longer path cannot be bound."""

PORT_MAX: Final = 65_535

_TCP: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[A-Za-z0-9._-]+)):(?P<port>\d{1,5})", re.ASCII
)

FORM: Final = "an absolute path, unix:<path>, <host>:<port> or [<IPv6>]:<port>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """One listener's address."""

    path: str = ""
    """Of a Unix socket; empty: TCP."""
    host: str = ""
    port: int = 0
    """0: any free port."""

    @property
    def is_local(self) -> bool:
        """Whether nobody outside this machine can reach it."""
        if self.path or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:  # another name, which may resolve to anything
            return False

    @property
    def target(self) -> str:
        """The address as gRPC writes it."""
        if self.path:
            return f"unix:{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """The address that a text names.

    Raises ValueError whose text completes "it must be ..." when it names none.
    """
    path = text.removeprefix("unix:")
    if path.startswith("///"):
        path = path[2:]
    if path.startswith("/"):
        try:
            length = len(path.encode())
        except UnicodeEncodeError:
            raise ValueError("a path in UTF-8, as gRPC takes no other") from None
        if length > SOCKET_PATH_BYTES_MAX:
            raise ValueError(f"a path of at most {SOCKET_PATH_BYTES_MAX} bytes")
        return Address(path=path)
    parts = _TCP.fullmatch(text)
    if parts is None or int(parts["port"]) > PORT_MAX:
        raise ValueError(FORM)
    if parts["six"] and not _is_ipv6(parts["six"]):
        raise ValueError(FORM)
    return Address(host=parts["six"] or parts["host"], port=int(parts["port"]))


def _is_ipv6(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False
