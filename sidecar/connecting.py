"""Channels from a command to a sidecar, as the configuration has it: TLS, certificates, a token."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import grpc

from sidecar.addresses import Address
from sidecar.client.channel import channel_of, check_directory, metadata_of
from sidecar.client.settings import Settings
from sidecar.config.checks import check_file
from sidecar.config.given import ConfigError
from sidecar.config.keys import Config
from sidecar.connection_faults import FAULTS, ConnectionFault, dialled, fault_of
from sidecar.paths import is_shared

HTTP: Final = b"HTTP/1"
"""How whatever speaks it begins an answer; gRPC begins with a frame of HTTP/2."""

ANSWER_WITHIN_S: Final = 30.0
"""For a call without a time of its own; what a sidecar is asked it answers in milliseconds."""

THREADS_END_WITHIN_S: Final = 2.0
"""For threads whose channel is closed: they have nothing to do but to see that."""

LOOPBACKS: Final = MappingProxyType({"0.0.0.0": "127.0.0.1", "::": "::1"})  # noqa: S104
"""Where whoever listens on every address of a machine is found on that machine."""


@contextmanager
def connected(config: Config, address: Address, *, key: str) -> Iterator[grpc.Channel]:
    """A channel to a sidecar at an address, which is `key` of its configuration.

    Raises ConfigError where a file of the configuration is of no use, and ConnectionFault in place
    of the RpcError of a call that the sidecar did not get or did not take from this caller.

    No thread of the channel, its calls, or who listened to them is left: a process that ends takes
    such threads away wherever they are, and where one holds the lock of a call then, grpc waits for
    it for ever when it takes the call down. A `replay` was seen that had said all and did not end.
    """
    before = set(threading.enumerate())
    try:
        with _connected(config, address, key=key) as channel:
            yield channel
    finally:
        until_s = time.monotonic() + THREADS_END_WITHIN_S
        for thread in set(threading.enumerate()) - before:
            thread.join(max(0.0, until_s - time.monotonic()))


@contextmanager
def _connected(config: Config, address: Address, *, key: str) -> Iterator[grpc.Channel]:
    place = replace(address, host=LOOPBACKS.get(address.host, address.host))
    settings = settings_for(config, place)
    try:
        check_directory(settings)
    except PermissionError as error:
        raise ConnectionFault(f"{key}: {error}", answered=False) from None
    with channel_of(settings) as channel:
        try:
            yield grpc.intercept_channel(channel, _WithMetadata(metadata_of(settings)))
        except grpc.RpcError as error:
            if error.code() not in FAULTS:
                raise
            raise (
                _wrong_door(config, place, key) or fault_of(error, place, settings, key=key)
            ) from None


def settings_for(config: Config, address: Address) -> Settings:
    """How a sidecar at this address is spoken to; over a Unix socket, which its file mode guards,
    it asks for neither TLS nor a token. Raises ConfigError."""
    if address.path:
        directory = Path(address.path).parent
        return Settings(
            target=address.target, private_directory=str(directory) if is_shared(directory) else ""
        )
    roots = "tls_server_ca_file" if config.tls_server_ca_file else "tls_certificate_file"
    for key in (roots, "tls_client_certificate_file", "tls_client_key_file", "token_file"):
        check_file(key, getattr(config, key), _where(config, key))
    if config.tls_client_certificate_file and not getattr(config, roots):
        raise ConfigError(
            "tls_client_certificate_file is given without tls_server_ca_file: give both",
            where=_where(config, "tls_client_certificate_file"),
        )
    return Settings(
        target=address.target,
        root_certificates=getattr(config, roots),
        certificate=config.tls_client_certificate_file,
        private_key=config.tls_client_key_file,
        token=Path(config.token_file).read_text().strip() if config.token_file else "",
    )


def _wrong_door(config: Config, place: Address, key: str) -> ConnectionFault | None:
    """What is at a place where no call of ours can get through, or whom it is for; None: neither
    is known."""
    target = place.target
    try:
        with dialled(place) as link:
            link.sendall(b"GET / HTTP/1.0\r\n\r\n")
            is_http = link.recv(len(HTTP)) == HTTP
    except PermissionError:
        if not place.path:
            return None
        text = (
            f"{target} may not be opened by this user: the socket_mode and socket_group of its "
            "sidecar say who may"
        )
        return ConnectionFault(text, answered=False)
    except OSError:
        return None
    if not is_http:
        return None
    names = [name for name, address in config.listeners.items() if address.target == target]
    here = f"it is {names[0]} here, and " if names else ""
    text = f"{target} speaks HTTP/1, not gRPC: {here}{key} is {getattr(config, key)}"
    return ConnectionFault(text, answered=False)


def _where(config: Config, key: str) -> str:
    return next((value.where for value in config.values if value.key == key), "")


Metadata: TypeAlias = tuple[tuple[str, str | bytes], ...]


@dataclass(frozen=True, slots=True)
class _Details(grpc.ClientCallDetails):
    """What of a call is not as its caller had it; grpc takes the rest from there."""

    timeout: float | None
    metadata: Metadata


class _WithMetadata(  # grpc wants these bases of what stands in a channel
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Sends metadata with every call, and gives an end to those that have one answer."""

    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata

    def intercept_unary_unary(self, go_on: Any, details: Any, request: Any) -> Any:
        """A call with one answer."""
        timeout_s = ANSWER_WITHIN_S if details.timeout is None else details.timeout
        return go_on(_Details(timeout_s, self._metadata), request)

    def intercept_unary_stream(self, go_on: Any, details: Any, request: Any) -> Any:
        """A call with answers as long as the caller listens."""
        return go_on(_Details(details.timeout, self._metadata), request)

    def intercept_stream_stream(self, go_on: Any, details: Any, requests: Any) -> Any:
        """A conversation."""
        return go_on(_Details(details.timeout, self._metadata), requests)
