"""Refusals as gRPC statuses with google.rpc details."""

import logging
from types import TracebackType
from typing import Any, Final, NoReturn

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2

from sidecar.adapters.calls.authorization import Authorization
from sidecar.adapters.calls.codes import CODES
from sidecar.adapters.convert import duration
from sidecar.adapters.grpc.authorization import require_authorized
from sidecar.ports import Recorder
from sidecar.refusal import Reason, Refusal

logger = logging.getLogger(__name__)

DOMAIN: Final = "sidecar"
DETAILS_KEY: Final = "grpc-status-details-bin"


class OneCall:
    """A call whose caller may make it: what goes wrong within ends it with a status."""

    def __init__(
        self,
        context: "grpc.aio.ServicerContext[Any, Any]",
        authorization: Authorization,
        recorder: Recorder,
    ) -> None:
        self._context = context
        self._authorization = authorization
        self._recorder = recorder

    async def __aenter__(self) -> None:
        try:
            require_authorized(self._authorization, self._context)
        except Refusal as refusal:
            await refuse(self._context, refusal, self._recorder)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        match error:
            case Refusal():
                await refuse(self._context, error, self._recorder)
            case grpc.aio.AbortError():
                pass
            case Exception():
                logger.error("a call failed", exc_info=error)
                fault = Refusal(Reason.INTERNAL, "the sidecar failed")
                await refuse(self._context, fault, self._recorder)


async def refuse(
    context: "grpc.aio.ServicerContext[Any, Any]", refusal: Refusal, recorder: Recorder
) -> NoReturn:
    """End the call with the refusal's status and details, and count it."""
    recorder.refused(refusal.reason.value)
    code = grpc.StatusCode[CODES[refusal.reason].name]
    status = status_pb2.Status(
        code=code.value[0], message=refusal.message, details=_details(refusal)
    )
    await context.abort(
        code,
        refusal.message,
        trailing_metadata=((DETAILS_KEY, status.SerializeToString()),),
    )
    raise AssertionError("abort returned")


def _details(refusal: Refusal) -> list[AnyMessage]:
    details: list[Any] = [
        error_details_pb2.ErrorInfo(
            reason=refusal.reason.value, domain=DOMAIN, metadata=refusal.metadata
        )
    ]
    if refusal.field:
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=refusal.field, description=refusal.message
        )
        details.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if refusal.retry_after_s is not None:
        details.append(error_details_pb2.RetryInfo(retry_delay=duration(refusal.retry_after_s)))
    packed = []
    for detail in details:
        message = AnyMessage()
        message.Pack(detail)
        packed.append(message)
    return packed
