"""Plays one case against a client: the sidecar's side by script, the agent's side by the driver.

What the steps of the tables do is in client_steps.
"""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import grpc
from google.protobuf import json_format
from google.protobuf.message import DecodeError

from sidecar.conformance.behaving import Behaving
from sidecar.conformance.driver import REPLIES_WITHIN_S, Driver, Reply
from sidecar.conformance.faults import Departure, TableError
from sidecar.conformance.filling import fill
from sidecar.conformance.front import Front
from sidecar.conformance.ledger import Ledger
from sidecar.conformance.matching import match, shown
from sidecar.conformance.replies import check_directive, check_reply
from sidecar.conformance.streams import ServedStream, Streams
from sidecar.conformance.table import folder
from sidecar.v1 import convergence_service_pb2 as wire

T = TypeVar("T")

# What is to happen at once, on a core that others share.
PATIENCE_S: Final = 10.0
# Every case that is not about time gives the client so much of it.
TIMEOUT_MS: Final = 10_000
TIMEOUT_DEFAULT_MS: Final = 200
"""A client's own, where nobody says otherwise."""
# gRPC lets go of a connection that is being made when the attempt is over, after 3 s.
CONNECTIONS_GONE_WITHIN_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much later than it should something may come."""

    slack_ms: float = 1000.0


class ClientPlay:
    """The state of one case. Use as: start, `perform` each step, stop."""

    def __init__(
        self,
        *,
        driver: Driver,
        front: Front,
        streams: Streams,
        directory: Path,
        allowance: Allowance,
    ) -> None:
        self.driver = driver
        self.front = front
        self.streams = streams
        self.allowance = allowance
        self.ledger = Ledger()
        self.variables: dict[str, Any] = {
            "address": front.address,
            "directory": str(directory),
            **{name: str(path) for name, path in certificates().items()},
        }
        self.timeout_ms: float = TIMEOUT_DEFAULT_MS
        self.session_id = ""
        self.last_sequence = 0
        """Of the turn received last."""
        self.received_bytes = 0
        """Size of the last message."""
        self.is_started = False
        self._stream: ServedStream | None = None
        self._pending: asyncio.Future[Reply] | None = None
        self._behaving: Behaving | None = None

    async def stop(self) -> None:
        """Lets go of what this side holds."""
        if self._behaving is not None:
            await self._behaving.stop()

    def filled(self, argument: Any) -> Any:
        """The argument with its variables."""
        return fill(argument, self.variables)

    @property
    def is_awaiting(self) -> bool:
        """Whether a reply of the driver is outstanding."""
        return self._pending is not None

    # The stream's side.

    @property
    def stream(self) -> ServedStream:
        """The stream accepted last."""
        if self._stream is None:
            raise TableError("no stream was accepted yet")
        return self._stream

    def use(self, stream: ServedStream) -> None:
        """From now on it is the stream that is spoken of."""
        self._stream = stream

    def said(self, *, heartbeats: bool) -> dict[str, Any] | None:
        """What the client has said on the stream and nobody has awaited; with `heartbeats` these
        are passed over."""
        while self._stream is not None and not self._stream.received.empty():
            message = self._stream.received.get_nowait()
            found = {} if message is None else self._read(message)
            if found and not (heartbeats and "heartbeat" in found):
                return found
        return None

    async def receive(self) -> dict[str, Any] | None:
        """The next message as proto3 JSON; None: the client has half-closed, or gone."""
        message = await within(self.stream.received.get(), PATIENCE_S, "a message of the client")
        return None if message is None else self._read(message)

    def _read(self, message: bytes) -> dict[str, Any]:
        try:
            request = wire.ObserveRequest.FromString(message)
        except DecodeError as error:
            raise Departure(f"the client sent what is no message: {error}") from error
        self.received_bytes = len(message)
        if request.HasField("turn"):
            self.last_sequence = request.turn.sequence
            self.ledger.note(self.session_id, self.last_sequence)
        if request.HasField("open"):
            self.session_id = request.open.session_id
        return as_json(request)

    def holds(self, expected: Any, came: Any, what: str) -> None:
        """Raises Departure unless it matches; remembers what the table names."""
        if fault := self.differs(expected, came):
            raise Departure(f"{what}: {fault}; it was {shown(came)}")

    def differs(self, expected: Any, came: Any) -> str:
        """How it differs; where it does not, what the table names is remembered."""
        found = match(expected, came)
        if not found.fault:
            self.variables.update(found.bound)
        return found.fault

    def behave(self) -> None:
        """From now on a sidecar that behaves is at the other end."""
        if self._behaving is None:
            self._behaving = Behaving(self.streams, self.ledger)
        if self._stream is not None and not self._stream.is_gone:
            self._behaving.take(self._stream, self.session_id)

    # The driver's side.

    def ask(self, request: dict[str, Any]) -> None:
        """Gives the driver a request whose reply a later step awaits."""
        if self._pending is not None:
            raise TableError("the reply before it was not awaited")
        self._pending = self.driver.ask(request)

    async def reply(self) -> Reply:
        """The reply that is due."""
        if self._pending is None:
            raise TableError("nothing was asked of the driver")
        pending, self._pending = self._pending, None
        what = "the driver's reply (a line of its own, flushed)"
        reply = await within(asyncio.shield(pending), REPLIES_WITHIN_S, what)
        check_reply(reply, self.allowance.slack_ms)
        return reply

    async def directive(self) -> dict[str, Any]:
        """The reply that is due, as a directive with the time that it took beside it."""
        reply = await self.reply()
        return check_directive(reply.body)


async def within(awaitable: Awaitable[T], timeout_s: float, what: str) -> T:
    """The result. Raises Departure where it does not come within that many seconds."""
    try:
        return await asyncio.wait_for(awaitable, timeout_s)
    except TimeoutError:
        raise Departure(f"{what} did not come within {timeout_s:g} s") from None


def as_json(message: Any) -> dict[str, Any]:
    """proto3 JSON with original field names, and defaults written out."""
    found: dict[str, Any] = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return found


def server_credentials(tls: str) -> grpc.ServerCredentials | None:
    """How the sidecar shows itself. Raises OSError where the tables have no certificates."""
    if not tls:
        return None
    paths = certificates()
    mutual = tls == "mutual"
    return grpc.ssl_server_credentials(
        [(paths["server_key"].read_bytes(), paths["server"].read_bytes())],
        root_certificates=paths["ca"].read_bytes() if mutual else None,
        require_client_auth=mutual,
    )


def certificates() -> Mapping[str, Path]:
    """Where the certificates are that the tables speak of."""
    names = ("ca", "server", "server_key", "client", "client_key")
    return {name: folder() / "tls" / f"{name}.pem" for name in names}
