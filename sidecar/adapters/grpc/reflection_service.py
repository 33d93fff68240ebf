"""gRPC's reflection service, which refuses what is no message with a reason."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from google.protobuf import descriptor_pool
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from sidecar.adapters.grpc.status import refuse
from sidecar.adapters.grpc.symbols import Symbols
from sidecar.ports import Recorder
from sidecar.refusal import Refusal

NAME = reflection.SERVICE_NAME
register = reflection_pb2_grpc.add_ServerReflectionServicer_to_server


Base: Any = reflection.aio.ReflectionServicer  # whose stubs have its stream as a coroutine


class ReflectionService(Base):  # type: ignore[misc]
    """Describes the services that it is told of."""

    def __init__(self, services: Sequence[str], *, recorder: Recorder) -> None:
        """`services`: their full names."""
        super().__init__([*services, NAME], pool=Symbols(descriptor_pool.Default()))
        self._recorder = recorder

    async def ServerReflectionInfo(  # noqa: N802
        self, request_iterator: AsyncIterator[Any], context: Any
    ) -> None:
        """Answer each question."""
        try:
            async for answer in super().ServerReflectionInfo(request_iterator, context):
                await context.write(answer)
        except Refusal as refusal:
            await refuse(context, refusal, self._recorder)
