"""Channels to the sidecar, and what gRPC says when a stream ends."""

import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from sidecar.client.decision import seconds
from sidecar.client.refusal import CLIENT_FAULT, UNAVAILABLE, UNKNOWN, Ending
from sidecar.client.settings import Settings
from sidecar.client.stream import ATTEMPT_S
from sidecar.paths import is_private

ERROR_DOMAIN: Final = "sidecar"
_DESCRIPTION_MAX: Final = 200
_DETAILS_KEY: Final = "grpc-status-details-bin"

# Servers cut clients that ping more often than every 5 minutes, unless they are told otherwise.
_KEEPALIVE_MS: Final = 330_000
_KEEPALIVE_TIMEOUT_MS: Final = 20_000

# A channel and its stream open six in grpcio 1.85; other threads may open theirs meanwhile.
DESCRIPTORS_MIN: Final = 16

OPTIONS: Final[Sequence[tuple[str, int]]] = (
    # Every attempt gets a connection of its own, now: one to a hung process, or gRPC's own back-off
    # (from 1 s up to 2 min), would outlive the outage.
    ("grpc.use_local_subchannel_pool", 1),
    # Despite its name also the time that gRPC gives one connection attempt.
    ("grpc.min_reconnect_backoff_ms", int(ATTEMPT_S * 1000)),
    ("grpc.keepalive_time_ms", _KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", _KEEPALIVE_TIMEOUT_MS),
    # A sidecar is beside its agent; a proxy meant for the web is not in between.
    ("grpc.enable_http_proxy", 0),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.enable_retries", 0),
)


class ForkedError(OSError):
    """This process is the child of one that has used grpc.aio, whose poller reads from a pipe that
    both have: what the child makes would take its parent's events, and the parent the child's."""


class Status(Protocol):
    """How grpc and grpc.aio both show the end of a call."""

    def code(self) -> grpc.StatusCode | None: ...

    def details(self) -> str | None: ...

    def trailing_metadata(self) -> Any: ...


def check_directory(settings: Settings) -> None:
    """Raises PermissionError where anybody could have put a socket of their own in the place."""
    directory = Path(settings.private_directory)
    if settings.private_directory and directory.exists() and not is_private(directory):
        raise PermissionError(f"{directory} is not this user's own, with mode 0700")


def check_socket(settings: Settings) -> None:
    """Raises OSError if there is no socket, or a stranger's.

    Where no sidecar is installed this is all that happens, once a second: a channel costs about
    3 ms of CPU.
    """
    check_directory(settings)
    scheme, _, path = settings.target.partition(":")
    if scheme == "unix" and not Path(path).exists():
        raise FileNotFoundError("no socket there")


def check_listener(settings: Settings) -> None:
    """Raises OSError if nobody listens on the socket: to find that out takes tens of microseconds,
    and a channel 3 ms of CPU.

    For a sidecar that was not there a moment ago; one that is back sees a connection that says
    nothing. Over TCP that is no such trifle, and may be one to a load balancer.
    """
    scheme, _, path = settings.target.partition(":")
    if scheme != "unix":
        return
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(0)
        with suppress(BlockingIOError):  # so many ask that it has not come round to them
            asking.connect(path)


def check_descriptors() -> None:
    """Raises OSError if the process has not the file descriptors left that a channel needs: gRPC
    does not fail without them, it aborts the process."""
    with ExitStack() as opened:
        for _ in range(DESCRIPTORS_MIN):
            opened.callback(os.close, os.open(os.devnull, os.O_RDONLY))


def credentials_of(settings: Settings) -> grpc.ChannelCredentials | None:
    """TLS credentials, read anew for each attempt since certificates rotate; None: plain.

    Raises OSError if a file cannot be read, ValueError if a client certificate is given without
    roots.
    """
    if not settings.root_certificates:
        if settings.certificate or settings.private_key:
            raise ValueError("a client certificate needs root_certificates, which turn TLS on")
        return None
    return grpc.ssl_channel_credentials(
        root_certificates=Path(settings.root_certificates).read_bytes(),
        private_key=_read(settings.private_key),
        certificate_chain=_read(settings.certificate),
    )


def channel_of(settings: Settings) -> grpc.Channel:
    """A channel to the sidecar. Raises what `credentials_of` raises."""
    credentials = credentials_of(settings)
    if credentials is None:
        return grpc.insecure_channel(settings.target, OPTIONS)
    return grpc.secure_channel(settings.target, credentials, OPTIONS)


def async_channel_of(settings: Settings) -> grpc.aio.Channel:
    """The same for asyncio. Raises ForkedError too."""
    if _polling_process() != os.getpid():
        raise ForkedError("grpc.aio does not outlive a fork: use Client here, or spawn the process")
    credentials = credentials_of(settings)
    if credentials is None:
        return grpc.aio.insecure_channel(settings.target, options=OPTIONS)
    return grpc.aio.secure_channel(settings.target, credentials, options=OPTIONS)


@cache
def _polling_process() -> int:
    """The process that has made the first channel for asyncio; the child of a fork inherits it."""
    return os.getpid()


def metadata_of(settings: Settings) -> tuple[tuple[str, str | bytes], ...]:
    """What is sent along with each stream."""
    return (("authorization", f"Bearer {settings.token}"),) if settings.token else ()


def ending_of(status: Status) -> Ending:
    """How a call ended: its status code, and the details that the sidecar adds to it."""
    code, details = status.code(), status.details() or ""
    number = UNKNOWN if code is None else int(code.value[0])
    reason, expected, message_bytes_max, retry_delay_s = "", 0, 0, 0.0
    for detail in _details(status):
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            error_info = error_details_pb2.ErrorInfo()
            detail.Unpack(error_info)
            if error_info.domain == ERROR_DOMAIN:
                reason = error_info.reason
                expected = _number(error_info.metadata.get("expected", ""))
                message_bytes_max = _number(error_info.metadata.get("message_bytes_max", ""))
        if detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            retry_info = error_details_pb2.RetryInfo()
            detail.Unpack(retry_info)
            retry_delay_s = seconds(retry_info.retry_delay)
    return Ending(
        code=number,
        reason=reason,
        expected=expected,
        message_bytes_max=message_bytes_max,
        retry_delay_s=retry_delay_s,
        description=_description(f"{reason} {details}"),
    )


def ending_of_absence(error: OSError) -> Ending:
    """How an attempt ended for which something is not there yet: a socket, a certificate."""
    return Ending(code=UNAVAILABLE, description=_description(f"{type(error).__name__}: {error}"))


def ending_of_fault(error: Exception) -> Ending:
    """How a stream ended that this process could not make or read."""
    description = _description(f"{type(error).__name__}: {error}")
    return Ending(code=UNKNOWN, reason=CLIENT_FAULT, description=description)


def _description(text: str) -> str:
    """One printable line: it goes to a log."""
    line = " ".join(text.split())[:_DESCRIPTION_MAX]
    return line.encode("ascii", "backslashreplace").decode()


def _details(status: Status) -> list[Any]:
    found: list[Any] = []
    for key, value in status.trailing_metadata() or ():
        if key == _DETAILS_KEY and isinstance(value, bytes):
            found += _unpacked(value)
    return found


def _unpacked(details: bytes) -> list[Any]:
    try:
        return list(status_pb2.Status.FromString(details).details)
    except DecodeError:
        return []


def _number(digits: str) -> int:
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 10 else 0


def _read(path: str) -> bytes | None:
    return Path(path).read_bytes() if path else None
