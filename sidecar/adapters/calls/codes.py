"""The canonical code of each refusal, which every protocol words in its own way."""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from sidecar.refusal import Reason


class Code(Enum):
    """A code of google.rpc.Code: its name is the same everywhere, its value is the HTTP status that
    google/rpc/code.proto gives for it."""

    INVALID_ARGUMENT = (400, "invalid argument")
    FAILED_PRECONDITION = (400, "failed precondition")
    UNAUTHENTICATED = (401, "unauthenticated")
    NOT_FOUND = (404, "not found")
    ABORTED = (409, "aborted")
    RESOURCE_EXHAUSTED = (429, "resource exhausted")
    INTERNAL = (500, "internal error")
    UNAVAILABLE = (503, "unavailable")

    @property
    def http_status(self) -> int:
        """The status of an answer over HTTP."""
        return self.value[0]


CODES: Final[Mapping[Reason, Code]] = MappingProxyType(
    {
        Reason.OPEN_REQUIRED: Code.INVALID_ARGUMENT,
        Reason.ALREADY_OPEN: Code.INVALID_ARGUMENT,
        Reason.OPEN_MISMATCH: Code.INVALID_ARGUMENT,
        Reason.OPEN_INVALID: Code.INVALID_ARGUMENT,
        Reason.POLICY_UNKNOWN: Code.INVALID_ARGUMENT,
        Reason.REASON_REQUIRED: Code.INVALID_ARGUMENT,
        Reason.REQUEST_INVALID: Code.INVALID_ARGUMENT,
        Reason.SEQUENCE_GAP: Code.FAILED_PRECONDITION,
        Reason.SEQUENCE_CONFLICT: Code.ABORTED,
        Reason.SESSION_TAKEN_OVER: Code.ABORTED,
        Reason.SESSION_STREAMING: Code.FAILED_PRECONDITION,
        Reason.SESSION_CLOSED: Code.FAILED_PRECONDITION,
        Reason.SESSION_NOT_FOUND: Code.NOT_FOUND,
        Reason.STREAMS_MAX: Code.RESOURCE_EXHAUSTED,
        Reason.SESSIONS_MAX: Code.RESOURCE_EXHAUSTED,
        Reason.WATCHERS_MAX: Code.RESOURCE_EXHAUSTED,
        Reason.MESSAGE_BYTES_MAX: Code.RESOURCE_EXHAUSTED,
        Reason.MODEL_CALLS_MAX: Code.RESOURCE_EXHAUSTED,
        Reason.MODEL_TOKENS_MAX: Code.RESOURCE_EXHAUSTED,
        Reason.MODEL_COST_USD_MAX: Code.RESOURCE_EXHAUSTED,
        Reason.SESSION_MODEL_CALLS_MAX: Code.RESOURCE_EXHAUSTED,
        Reason.SESSION_MODEL_TOKENS_MAX: Code.RESOURCE_EXHAUSTED,
        Reason.SESSION_MODEL_COST_USD_MAX: Code.RESOURCE_EXHAUSTED,
        Reason.JUDGE_COST_USD_MAX: Code.RESOURCE_EXHAUSTED,
        Reason.MODEL_CONCURRENCY_MAX: Code.RESOURCE_EXHAUSTED,
        Reason.MODEL_NOT_CONFIGURED: Code.FAILED_PRECONDITION,
        Reason.UNAUTHENTICATED: Code.UNAUTHENTICATED,
        Reason.DRAINING: Code.UNAVAILABLE,
        Reason.INTERNAL: Code.INTERNAL,
    }
)
"""The error table; a test holds it total over Reason."""
