"""The scripted sidecar: a real gRPC server that does nothing of itself.

It takes and gives messages as bytes, so that a case may send what is no message at all.
"""

import asyncio
from typing import Any, Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status  # type: ignore[import-untyped]

from sidecar.conformance.faults import TableError

SERVICE: Final = "sidecar.v1.ConvergenceService"
ERROR_DOMAIN: Final = "sidecar"
_OPTIONS: Final = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.so_reuseport", 0),
)


class ServedStream:
    """One stream of the client, from this side."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self.metadata: dict[str, Any] = dict(context.invocation_metadata() or ())
        self.received: asyncio.Queue[bytes | None] = asyncio.Queue()
        """Messages; None: no more will come."""
        self.ending: asyncio.Future[status_pb2.Status | None] = (
            asyncio.get_running_loop().create_future()
        )
        self.is_gone = False
        """Whether the client, or the connection, has ended it."""

    async def send(self, message: bytes) -> None:
        """Sends it; on a stream that the client has let go it is lost, as on any network."""
        if self.is_gone:
            return
        try:
            await self._context.write(message)
        except (grpc.aio.BaseError, asyncio.InvalidStateError):
            self.is_gone = True

    def end(self, status: status_pb2.Status | None) -> None:
        """Ends it with this status; None: OK."""
        if not self.ending.done():
            self.ending.set_result(status)

    async def pump(self) -> None:
        """Takes in what the client says."""
        try:
            while (message := await self._context.read()) is not grpc.aio.EOF:
                self.received.put_nowait(message)
        finally:
            self.received.put_nowait(None)


class Streams:
    """The server; new streams are in `opened`, first to last."""

    def __init__(self) -> None:
        self.opened: asyncio.Queue[ServedStream] = asyncio.Queue()
        self._server = grpc.aio.server(options=_OPTIONS)
        handler: Any = grpc.stream_stream_rpc_method_handler(self._observe)
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(SERVICE, {"Observe": handler}),)
        )

    async def start(self, target: str, credentials: grpc.ServerCredentials | None) -> None:
        """Listens there, a `unix:` address."""
        if credentials is None:
            self._server.add_insecure_port(target)
        else:
            self._server.add_secure_port(target, credentials)
        await self._server.start()

    async def stop(self) -> None:
        """Ends every stream."""
        await self._server.stop(None)

    async def _observe(self, _: Any, context: Any) -> None:
        stream = ServedStream(context)
        self.opened.put_nowait(stream)
        reader = asyncio.create_task(stream.pump())
        try:
            status = await stream.ending
        except asyncio.CancelledError:
            stream.is_gone = True
            raise
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
        if status is not None:
            await context.abort_with_status(rpc_status.to_status(status))


def status_of(ending: dict[str, Any]) -> status_pb2.Status | None:
    """The status that a table describes; None: OK. Raises TableError for a code that is none."""
    name = ending.get("code", "OK")
    if name not in code_pb2.Code.keys():  # noqa: SIM118 (it is no dict)
        raise TableError(f"no status code {name!r}")
    if name == "OK":
        return None
    status = status_pb2.Status(
        code=code_pb2.Code.Value(name), message=ending.get("message", "refused by the table")
    )
    if reason := ending.get("reason"):
        metadata = {key: str(value) for key, value in ending.get("metadata", {}).items()}
        domain = ending.get("domain", ERROR_DOMAIN)
        _add(status, error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata=metadata))
    if (delay_s := ending.get("retry_delay_s")) is not None:
        delay = Duration()
        delay.FromNanoseconds(int(delay_s * 1e9))
        _add(status, error_details_pb2.RetryInfo(retry_delay=delay))
    return status


def _add(status: status_pb2.Status, detail: Any) -> None:
    packed = AnyMessage()
    packed.Pack(detail)
    status.details.append(packed)
