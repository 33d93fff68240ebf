"""Refusals as gRPC statuses with google.rpc details."""

from typing import Any, Final, NoReturn

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2

from sidecar.adapters.convert import duration
from sidecar.refusal import Reason, Refusal

DOMAIN: Final = "sidecar"
DETAILS_KEY: Final = "grpc-status-details-bin"

CODES: Final = {
    Reason.OPEN_REQUIRED: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.ALREADY_OPEN: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.OPEN_MISMATCH: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.OPEN_INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.POLICY_UNKNOWN: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.REASON_REQUIRED: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.REQUEST_INVALID: grpc.StatusCode.INVALID_ARGUMENT,
    Reason.SEQUENCE_GAP: grpc.StatusCode.FAILED_PRECONDITION,
    Reason.SEQUENCE_CONFLICT: grpc.StatusCode.ABORTED,
    Reason.SESSION_TAKEN_OVER: grpc.StatusCode.ABORTED,
    Reason.SESSION_STREAMING: grpc.StatusCode.FAILED_PRECONDITION,
    Reason.SESSION_CLOSED: grpc.StatusCode.FAILED_PRECONDITION,
    Reason.SESSION_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    Reason.STREAMS_MAX: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.SESSIONS_MAX: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.WATCHERS_MAX: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.MODEL_CALLS_MAX: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.MODEL_TOKENS_MAX: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.MODEL_COST_USD_MAX: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.SESSION_MODEL_CALLS_MAX: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.SESSION_MODEL_TOKENS_MAX: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.SESSION_MODEL_COST_USD_MAX: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.MODEL_CONCURRENCY_MAX: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Reason.MODEL_NOT_CONFIGURED: grpc.StatusCode.FAILED_PRECONDITION,
    Reason.UNAUTHENTICATED: grpc.StatusCode.UNAUTHENTICATED,
    Reason.DRAINING: grpc.StatusCode.UNAVAILABLE,
    Reason.INTERNAL: grpc.StatusCode.INTERNAL,
}
"""The error table; a test holds it total over Reason."""


async def abort(context: "grpc.aio.ServicerContext[Any, Any]", refusal: Refusal) -> NoReturn:
    """End the call with the refusal's status and details."""
    code = CODES[refusal.reason]
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
