"""One stream to a sidecar that may go away at any moment."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import grpc
from google.rpc import error_details_pb2, status_pb2

from sidecar.v1 import convergence_service_pb2 as pb

METHOD = "/sidecar.v1.ConvergenceService/Observe"
ANSWER_WITHIN_S = 30.0
"""Of anything that is due: far more than a stop of the sidecar lasts, and a restart breaks."""


OWN: Final = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL}
)
"""What gRPC itself ends a call with whose server is gone or stopping; the last is the Python
client's word for a message that could not be written any more."""


class Broken(Exception):  # noqa: N818 - no error, but what is waited for
    """The stream is over, with a status that is not OK."""

    def __init__(self, code: grpc.StatusCode, reason: str, said: str) -> None:
        super().__init__(f"{code.name} {reason} {said}")
        self.code = code
        self.reason = reason
        """Of the sidecar's error table; empty where the status is gRPC's own."""

    @property
    def is_outage(self) -> bool:
        """Whether nothing is wrong but that the sidecar, or the way to it, is gone."""
        return self.reason == "DRAINING" or (not self.reason and self.code in OWN)

    @property
    def is_failure(self) -> bool:
        """Whether the sidecar has failed at what was sent: an exception that nobody caught, or one
        that it took for a fault of its own."""
        return self.reason == "INTERNAL" or self.code is grpc.StatusCode.UNKNOWN


def broken_by(error: grpc.aio.AioRpcError) -> Broken:
    """What a call ended with."""
    reason = ""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info = error_details_pb2.ErrorInfo()
                if detail.Unpack(info):
                    reason = info.reason
    return Broken(error.code(), reason, str(error.details()))


class Wire:
    """Sends and hears; raises Broken once the stream is."""

    def __init__(
        self,
        channel: grpc.aio.Channel,
        serialize: Callable[[Any], bytes] = pb.ObserveRequest.SerializeToString,
    ) -> None:
        method: Any = channel.stream_stream(
            METHOD,
            request_serializer=serialize,
            response_deserializer=pb.ObserveResponse.FromString,
        )
        self._call = method()
        self._reading: asyncio.Task[Any] | None = None
        self.is_draining = False
        """Whether the sidecar has said that it is about to stop."""

    async def send(self, request: pb.ObserveRequest | bytes) -> None:
        """Send one message."""
        try:
            await self._call.write(request)
        except grpc.aio.AioRpcError as error:
            raise broken_by(error) from None
        except asyncio.InvalidStateError:
            # It has ended, and only a read says how.
            while await self.hear(ANSWER_WITHIN_S) is not None:
                pass
            raise Broken(await self._call.code(), "", "ended while a message was sent") from None

    async def hear(self, within_s: float) -> pb.ObserveResponse | None:
        """The next message; None when none came in that time. At the end, with OK: Broken."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._call.read())
        done, _ = await asyncio.wait({self._reading}, timeout=within_s)
        if not done:
            return None
        reading, self._reading = self._reading, None
        try:
            response = reading.result()
        except grpc.aio.AioRpcError as error:
            raise broken_by(error) from None
        if response is grpc.aio.EOF:
            code = await self._call.code()
            raise Broken(code, "", "ended")
        assert isinstance(response, pb.ObserveResponse)
        return response

    async def half_close(self) -> None:
        """Say that nothing more comes."""
        # Where it has ended, the next read tells.
        with suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            await self._call.done_writing()

    def drop(self) -> None:
        """Be gone, without a word."""
        if self._reading is not None:
            self._reading.cancel()
        self._call.cancel()
