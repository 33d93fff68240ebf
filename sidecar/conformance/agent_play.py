"""Plays one case against a service: the agent's side, by script.

What the steps of the table do is in agent_steps.
"""

import asyncio
import secrets
from dataclasses import dataclass
from typing import Any, Final

import grpc
from google.protobuf.message import DecodeError

from sidecar.client.channel import OPTIONS
from sidecar.conformance.client_play import as_json
from sidecar.conformance.faults import Departure
from sidecar.conformance.matching import match, shown
from sidecar.conformance.streams import SERVICE
from sidecar.v1 import convergence_service_pb2 as wire

HEARD_WITHIN_S: Final = 10.0
_MAIN: Final = "main"
_NOBODY: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Where the service is, and how it may be spoken to."""

    target: str
    """As gRPC has it."""
    token: str = ""
    root_certificates: bytes = b""
    """PEM; empty: no TLS."""
    certificate: bytes = b""
    """PEM, to show to the service; empty: none."""
    private_key: bytes = b""
    """To that certificate, PEM."""

    def channel(self) -> grpc.aio.Channel:
        """A connection of its own."""
        options = (*OPTIONS, ("grpc.max_receive_message_length", -1))
        if not self.root_certificates:
            return grpc.aio.insecure_channel(self.target, options=options)
        credentials = grpc.ssl_channel_credentials(
            self.root_certificates, self.private_key or None, self.certificate or None
        )
        return grpc.aio.secure_channel(self.target, credentials, options=options)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What goes with each call."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    async def reach(self) -> None:
        """Raises ConnectionError, with what gRPC says, where nobody answers."""
        async with self.channel() as channel:
            # No service has this method: asking changes nothing, and whoever is there says so.
            ask: Any = channel.unary_unary(f"/{SERVICE}/IsThere")
            try:
                await ask(b"", timeout=HEARD_WITHIN_S, metadata=self.metadata)
            except grpc.aio.AioRpcError as error:
                if error.code() in _NOBODY:
                    raise ConnectionError(f"{self.target}: {error.details()}") from None


class AgentPlay:
    """The state of one case. Use as: `perform` each step, stop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._channel = service.channel()
        self._streams: dict[str, Any] = {}
        self._name = _MAIN
        self._reading: dict[str, asyncio.Future[Any]] = {}
        self._dropped: list[asyncio.Future[Any]] = []
        self.variables: dict[str, Any] = {"run": f"conformance-{secrets.token_hex(8)}"}

    async def stop(self) -> None:
        """Ends every call, and the connection."""
        for call in self._streams.values():
            call.cancel()
        reading = (*self._reading.values(), *self._dropped)
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        await self._channel.close()

    def use(self, name: str) -> None:
        """From now on it is the stream of that name that is spoken of."""
        self._name = name

    @property
    def call(self) -> Any:
        """The stream that is spoken of; made when it is first spoken of, or was let go."""
        if self._name not in self._streams:
            observe: Any = self._channel.stream_stream(f"/{SERVICE}/Observe")
            self._streams[self._name] = observe(metadata=self._service.metadata)
        return self._streams[self._name]

    def forget(self) -> None:
        """The stream that is spoken of is over; the next step begins another."""
        self._streams.pop(self._name, None)
        if (task := self._reading.pop(self._name, None)) is not None:
            self._dropped.append(task)

    async def say(self, message: bytes) -> None:
        """Sends it. On a stream that has ended it is lost; how it ended is another step's."""
        try:
            await asyncio.wait_for(self.call.write(message), HEARD_WITHIN_S)
        except (grpc.RpcError, asyncio.InvalidStateError, grpc.aio.BaseError):
            return
        except TimeoutError:
            raise Departure("the service does not take what it is told") from None

    async def hear(self, timeout_s: float = HEARD_WITHIN_S) -> dict[str, Any] | None:
        """The next message as JSON; None: the stream has ended. Raises TimeoutError."""
        # Cancelling a read would cancel the stream.
        task = self._reading.get(self._name)
        if task is None:
            task = self._reading[self._name] = asyncio.ensure_future(self.call.read())
        done, _ = await asyncio.wait({task}, timeout=timeout_s)
        if not done:
            raise TimeoutError
        del self._reading[self._name]
        try:
            message = task.result()
        except grpc.RpcError:
            return None
        if message is grpc.aio.EOF:
            return None
        try:
            return as_json(wire.ObserveResponse.FromString(message))
        except DecodeError as error:
            raise Departure(f"the service sent what is no message: {error}") from error

    async def record(self, request: wire.RecordTurnRequest) -> dict[str, Any]:
        """RecordTurn. Raises grpc.aio.AioRpcError where it is refused."""
        call: Any = self._channel.unary_unary(f"/{SERVICE}/RecordTurn")
        metadata = self._service.metadata
        raw = await call(request.SerializeToString(), timeout=HEARD_WITHIN_S, metadata=metadata)
        return as_json(wire.RecordTurnResponse.FromString(raw))

    def holds(self, expected: Any, came: Any, what: str) -> None:
        """Raises Departure unless it matches; remembers what the table names."""
        found = match(expected, came)
        if found.fault:
            raise Departure(f"{what}: {found.fault}; it was {shown(came)}")
        self.variables.update(found.bound)
