"""The way from the command line to a live sidecar."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import grpc

from sidecar.addresses import Address, parse_address
from sidecar.cli.options import Access, fail
from sidecar.config.given import ConfigError
from sidecar.connecting import connected
from sidecar.connection_faults import ConnectionFault
from sidecar.v1 import session_service_pb2_grpc

UNREACHABLE: Final = 3
"""Exit code when no sidecar answers."""

REFUSED: Final = 1
"""Exit code when it answers with an error."""


@contextmanager
def channel(access: Access, key: str, flag: str, given: str | None) -> Iterator[grpc.Channel]:
    """A channel to a sidecar, at the address that was `given` by the flag or else configured under
    the key. The error of a call ends the process with one line that says why."""
    config = access.config()
    address = _address(flag, given) if given else parse_address(getattr(config, key))
    if address.host and not address.port:
        whose = f"{flag} {given} names" if given else f"{key} takes"
        fail(f"{whose} any free port: give the one that `sidecar serve` named, with {flag}")
    try:
        with connected(config, address, key=key) as found:
            yield found
    except ConfigError as error:
        fail(str(error))
    except ConnectionFault as fault:
        fail(str(fault), code=REFUSED if fault.answered else UNREACHABLE)
    except grpc.RpcError as error:
        fail(f"{error.details()}", code=REFUSED)


@contextmanager
def control(access: Access, admin: str | None) -> Iterator[Any]:
    """A stub of SessionService."""
    with channel(access, "admin_address", "--admin", admin) as found:
        yield session_service_pb2_grpc.SessionServiceStub(found)  # type: ignore[no-untyped-call, unused-ignore]


def _address(flag: str, text: str) -> Address:
    try:
        return parse_address(text)
    except ValueError as error:
        fail(f"{flag} {text}: it must be {error}")
