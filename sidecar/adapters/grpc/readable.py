"""Calls of one message whose bytes are no message: refused with a reason, as on streams.

gRPC answers a deserializer that raises with UNKNOWN, and logs a traceback that any caller can cause
as often as it likes. So none raises here, and the call is refused where it would be served.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NoReturn, Protocol

import grpc
from google.protobuf.message import DecodeError

Context = Any
Refuse = Callable[[Context], Awaitable[NoReturn]]
"""Ends the call."""

UNREADABLE: Final = object()
"""Stands for the message."""


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

    def __init__(self, server: Server, refuse: Refuse) -> None:
        self._server = server
        self._refuse = refuse

    def add_generic_rpc_handlers(self, generic_rpc_handlers: Any) -> None:
        """Passed over: generated code registers the same methods by name."""

    def add_registered_method_handlers(
        self, service_name: str, method_handlers: Mapping[str, Any]
    ) -> None:
        """Serve these methods, but for messages that are none."""
        guarded = {name: self._guarded(method) for name, method in method_handlers.items()}
        generic = grpc.method_handlers_generic_handler(service_name, guarded)
        self._server.add_generic_rpc_handlers((generic,))
        self._server.add_registered_method_handlers(service_name, guarded)

    def _guarded(self, method: Any) -> Any:
        if method.request_streaming:
            # Its servicer reads the messages, and meets with the error itself.
            return method
        kind = "unary_stream" if method.response_streaming else "unary_unary"
        return method._replace(
            request_deserializer=_lenient(method.request_deserializer),
            **{kind: self._serving(getattr(method, kind))},
        )

    def _serving(self, serve: Callable[[Any, Context], Awaitable[Any]]) -> Any:
        async def served(request: Any, context: Context) -> Any:
            if request is UNREADABLE:
                await self._refuse(context)
            return await serve(request, context)

        return served


def _lenient(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def read_or_not(message: bytes) -> Any:
        try:
            return read(message)
        except DecodeError:
            return UNREADABLE

    return read_or_not
