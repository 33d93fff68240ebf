"""Where the services listen: Unix sockets, TCP, TLS."""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from sidecar.adapters.grpc.health_service import HealthService
from sidecar.adapters.grpc.readable import ReadableOnly, received_bytes_max
from sidecar.adapters.sockets import group_id, listening_socket
from sidecar.addresses import Address
from sidecar.paths import make_directory
from sidecar.ports import Recorder

OPTIONS = (
    # An idle agent that waits for a person is normal: it may ping every ten seconds.
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_ping_strikes", 0),
    # Calls that nobody has looked at yet: from the first bound on gRPC resets some at random, from
    # the second on all, and by default these are 1,000 and 3,000. Agents that come back all at once
    # are to be told why they are refused, and how soon to ask again. 8,192 take 100 MiB.
    ("grpc.server.max_pending_requests", 8_192),
    ("grpc.server.max_pending_requests_hard_limit", 8_192),
    # Two sidecars on one port would share its agents by chance.
    ("grpc.so_reuseport", 0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """What a TCP listener shows, and asks of its callers."""

    certificate: bytes
    key: bytes
    client_ca: bytes | None = None
    """When set, callers show a certificate that it signed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSettings:
    """How one server listens."""

    message_bytes_max: int
    health_watches_max: int = 1024
    socket_mode: int = 0o660
    socket_group: str = ""
    tls: Tls | None = None


class Listener:
    """One gRPC server with its health service."""

    def __init__(
        self, settings: ListenerSettings, services: Sequence[str], *, recorder: Recorder
    ) -> None:
        self._settings = settings
        self._recorder = recorder
        self._services = services
        self._sockets: list[Path] = []
        most = received_bytes_max(settings.message_bytes_max)
        options = [*OPTIONS, ("grpc.max_receive_message_length", most)]
        self.server = grpc.aio.server(options=options)
        self._health = HealthService(watches_max=settings.health_watches_max, recorder=recorder)
        self.add(health_pb2_grpc.add_HealthServicer_to_server, self._health)

    def add(self, register: Callable[[Any, Any], None], servicer: Any) -> None:
        """Serve a service; bytes that are no message, or too many, never come to it."""
        most = self._settings.message_bytes_max
        guarded = ReadableOnly(self.server, message_bytes_max=most, recorder=self._recorder)
        register(servicer, guarded)

    def reflect(self) -> None:
        """Serve the descriptions of the services, for tools like grpcurl."""
        # Imported here since only the admin listener pays for its 13 MiB.
        from sidecar.adapters.grpc.reflection_service import ReflectionService, register

        names = (*self._services, health.SERVICE_NAME)
        self.add(register, ReflectionService(names, recorder=self._recorder))

    async def listen(self, address: Address) -> Address:
        """Listen there, before the start; where, with the port that was given where 0 was asked
        for. Raises OSError naming the address."""
        return await self._listen_unix(address) if address.path else self._listen_tcp(address)

    async def start(self) -> None:
        """Serve where it listens."""
        await self.server.start()
        for path in self._sockets:
            self._guard(path)
        await self.serving(is_serving=True)

    async def serving(self, *, is_serving: bool) -> None:
        """Say over gRPC health whether new work is taken."""
        status = (
            health_pb2.HealthCheckResponse.SERVING
            if is_serving
            else health_pb2.HealthCheckResponse.NOT_SERVING
        )
        for service in ("", *self._services):
            await self._health.set(service, status)

    async def stop(self, grace_s: float) -> None:
        """Stop, cutting what is open after the grace; leave no socket behind."""
        await self.server.stop(grace_s)
        for path in self._sockets:
            path.unlink(missing_ok=True)

    async def _listen_unix(self, address: Address) -> Address:
        path = Path(address.path)
        await asyncio.to_thread(_clear, path)
        try:
            self.server.add_insecure_port(address.target)
        except RuntimeError as fault:
            # The same attempt without gRPC says why.
            listening_socket(address).close()
            raise OSError(f"cannot listen at {address.target}: {fault}") from fault
        self._sockets.append(path)
        return address

    def _listen_tcp(self, address: Address) -> Address:
        # gRPC says of an address only that it failed, and logs a line of its own.
        listening_socket(address).close()
        tls = self._settings.tls
        try:
            if tls is None:
                port = self.server.add_insecure_port(address.target)
            else:
                credentials = grpc.ssl_server_credentials(
                    [(tls.key, tls.certificate)],
                    root_certificates=tls.client_ca,
                    require_client_auth=tls.client_ca is not None,
                )
                port = self.server.add_secure_port(address.target, credentials)
        except RuntimeError as fault:
            raise OSError(f"cannot listen at {address.target}: {fault}") from fault
        return replace(address, port=port)

    def _guard(self, path: Path) -> None:
        if self._settings.socket_group:
            os.chown(path, -1, group_id(self._settings.socket_group))
        path.chmod(self._settings.socket_mode)


def _clear(path: Path) -> None:
    """Make room for a socket: its directory, and no file that was left behind."""
    try:
        make_directory(path.parent)
    except OSError as fault:
        raise OSError(f"cannot listen at unix:{path}: {fault.strerror or fault}") from fault
    if path.exists():
        if not path.is_socket():
            raise OSError(f"a file that is no socket is in the way at unix:{path}")
        if _answers(path):
            raise OSError(f"another process answers at unix:{path}")
        path.unlink()


def _answers(path: Path) -> bool:
    """Whether somebody accepts connections at a socket file, or it was left behind."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(0.5)
        try:
            probe.connect(os.fspath(path))
        except OSError:
            return False
        return True
