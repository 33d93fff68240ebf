"""Messages that can be read: bytes that are none, or too many, are refused with a reason.

gRPC answers a deserializer that raises with UNKNOWN, and logs a traceback that any caller can cause
as often as it likes. So none raises here for a call of one message, which is refused where it would
be served. A stream's servicer reads the messages itself, and meets with the refusal there.

gRPC's own bound on a message ends the call with a status that has no reason and no counter. So ours
is the lower one, and gRPC's, a little above, keeps the memory of one message bounded.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

import grpc
from google.protobuf.message import DecodeError

from sidecar.adapters.grpc.status import refuse
from sidecar.ports import Recorder
from sidecar.refusal import Refusal, message_too_large, unreadable

Context = Any
Read = Callable[[bytes], Any]
Serve = Callable[[Any, Context], Awaitable[Any]]

ROOM_BYTES_MIN: Final = 64 * 1024
"""What gRPC lets through beyond the bound, at least: a text as long as a turn may have."""


def received_bytes_max(message_bytes_max: int) -> int:
    """gRPC's bound on a message, in bytes: a quarter above ours, and at least ROOM_BYTES_MIN."""
    return message_bytes_max + max(message_bytes_max // 4, ROOM_BYTES_MIN)


class Server(Protocol):
    """What generated code asks of a server."""

    def add_generic_rpc_handlers(self, generic_rpc_handlers: Any) -> None:
        """Serve what these find."""
        ...

    def add_registered_method_handlers(
        self, service_name: str, method_handlers: Mapping[str, Any]
    ) -> None:
        """Serve these methods."""
        ...


class ReadableOnly:
    """Stands before a server while a service is registered."""

    def __init__(self, server: Server, *, message_bytes_max: int, recorder: Recorder) -> None:
        self._server = server
        self._message_bytes_max = message_bytes_max
        self._recorder = recorder

    def add_generic_rpc_handlers(self, generic_rpc_handlers: Any) -> None:
        """Passed over: generated code registers the same methods by name."""

    def add_registered_method_handlers(
        self, service_name: str, method_handlers: Mapping[str, Any]
    ) -> None:
        """Serve these methods, but for messages that cannot be read."""
        guarded = {name: self._guarded(method) for name, method in method_handlers.items()}
        generic = grpc.method_handlers_generic_handler(service_name, guarded)
        self._server.add_generic_rpc_handlers((generic,))
        self._server.add_registered_method_handlers(service_name, guarded)

    def _guarded(self, method: Any) -> Any:
        read = self._reading(method.request_deserializer)
        if method.request_streaming:
            serving = {"stream_stream": _forgetting(method.stream_stream)}
            return method._replace(request_deserializer=read, **serving)
        kind = "unary_stream" if method.response_streaming else "unary_unary"
        return method._replace(
            request_deserializer=_read_or_refusal(read),
            **{kind: _forgetting(self._serving(getattr(method, kind)))},
        )

    def _reading(self, read: Read) -> Read:
        """Raises Refusal for what cannot be read."""
        most = self._message_bytes_max

        def readable(message: bytes) -> Any:
            if len(message) > most:
                raise message_too_large(len(message), most)
            try:
                return read(message)
            except DecodeError:
                raise unreadable() from None

        return readable

    def _serving(self, serve: Serve) -> Serve:
        async def served(request: Any, context: Context) -> Any:
            if isinstance(request, Refusal):
                await refuse(context, request, self._recorder)
            return await serve(request, context)

        return served


def _forgetting(serve: Serve) -> Serve:
    """Serves, and lets go of what a refused call was about.

    gRPC keeps the exception by which a call is aborted with the call, which the exception's frames
    keep in turn: a cycle, with the message in it. Python looks for cycles seldom here, and some
    hundred refused messages of 4 MiB would be kept until then.
    """

    async def served(request: Any, context: Context) -> Any:
        try:
            return await serve(request, context)
        except grpc.aio.AbortError as aborted:
            del request
            aborted.__context__ = None
            raise aborted.with_traceback(None)  # noqa: B904 - which would be a cause of itself

    return served


def _read_or_refusal(read: Read) -> Read:
    def read_or_refusal(message: bytes) -> Any:
        try:
            return read(message)
        except Refusal as refusal:
            return refusal

    return read_or_refusal
