"""Why a call is refused or a stream ended: the error table, as data."""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from sidecar.printable import shown

RETRY_AFTER_S: Final = 1.0
"""When a caller that met a bound may try again: as long as a restart takes, or a stream to end."""


class Reason(Enum):
    """The upper-case reason that a client acts on."""

    OPEN_REQUIRED = "OPEN_REQUIRED"
    ALREADY_OPEN = "ALREADY_OPEN"
    OPEN_MISMATCH = "OPEN_MISMATCH"
    OPEN_INVALID = "OPEN_INVALID"
    POLICY_UNKNOWN = "POLICY_UNKNOWN"
    SEQUENCE_GAP = "SEQUENCE_GAP"
    SEQUENCE_CONFLICT = "SEQUENCE_CONFLICT"
    SESSION_TAKEN_OVER = "SESSION_TAKEN_OVER"
    SESSION_STREAMING = "SESSION_STREAMING"
    SESSION_CLOSED = "SESSION_CLOSED"
    SESSION_NOT_FOUND = "SESSION_NOT_FOUND"
    STREAMS_MAX = "STREAMS_MAX"
    SESSIONS_MAX = "SESSIONS_MAX"
    WATCHERS_MAX = "WATCHERS_MAX"
    MESSAGE_BYTES_MAX = "MESSAGE_BYTES_MAX"
    MODEL_CALLS_MAX = "MODEL_CALLS_MAX"
    MODEL_TOKENS_MAX = "MODEL_TOKENS_MAX"
    MODEL_COST_USD_MAX = "MODEL_COST_USD_MAX"
    SESSION_MODEL_CALLS_MAX = "SESSION_MODEL_CALLS_MAX"
    SESSION_MODEL_TOKENS_MAX = "SESSION_MODEL_TOKENS_MAX"
    SESSION_MODEL_COST_USD_MAX = "SESSION_MODEL_COST_USD_MAX"
    JUDGE_COST_USD_MAX = "JUDGE_COST_USD_MAX"
    MODEL_CONCURRENCY_MAX = "MODEL_CONCURRENCY_MAX"
    MODEL_NOT_CONFIGURED = "MODEL_NOT_CONFIGURED"
    REASON_REQUIRED = "REASON_REQUIRED"
    REQUEST_INVALID = "REQUEST_INVALID"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    DRAINING = "DRAINING"
    INTERNAL = "INTERNAL"


class Refusal(Exception):  # noqa: N818 - a refusal is an answer, not a fault of ours
    """A call that cannot be served, with what the caller needs to act on it."""

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        field: str = "",
        metadata: Mapping[str, str] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(f"{reason.value}: {message}")
        self.reason = reason
        self.message = message
        """What was wrong and what would be right, without content."""
        self.field = field
        """The field at fault, where there is one."""
        self.metadata = dict(metadata or {})
        self.retry_after_s = retry_after_s
        """When trying again makes sense; None: it does not."""


def stopping() -> Refusal:
    """The refusal of whatever is new, once the sidecar stops."""
    return Refusal(Reason.DRAINING, "the sidecar is stopping", retry_after_s=RETRY_AFTER_S)


def session_closed() -> Refusal:
    """The refusal of what comes after a session's end."""
    return Refusal(
        Reason.SESSION_CLOSED,
        "this session is closed: a new one can go on from it by previous_session_id",
    )


def not_held(session_id: str) -> Refusal:
    """The refusal of what is asked about a session that there is not."""
    return Refusal(
        Reason.SESSION_NOT_FOUND,
        f"no session {shown(session_id)} is held: it is another's id, was let go, being idle "
        "or for others, or its policy is gone",
        field="session_id",
    )


def all_attached(sessions_max: int) -> Refusal:
    """The refusal of a session beyond the bound, where no other can make room for it."""
    return Refusal(
        Reason.SESSIONS_MAX,
        f"{sessions_max} sessions are attached, which is sessions_max",
        retry_after_s=RETRY_AFTER_S,
    )


def unreadable() -> Refusal:
    """The refusal of bytes that are no message."""
    return Refusal(Reason.REQUEST_INVALID, "not a message of sidecar.v1")


def message_too_large(size_bytes: int, message_bytes_max: int) -> Refusal:
    """The refusal of a message of more bytes than are read."""
    # "larger than max" are gRPC's words for the same, from which clients know that smaller turns
    # will help.
    return Refusal(
        Reason.MESSAGE_BYTES_MAX,
        f"a message larger than max ({size_bytes} vs. {message_bytes_max} bytes), "
        "which is message_bytes_max",
        metadata={"message_bytes_max": str(message_bytes_max)},
        retry_after_s=RETRY_AFTER_S,
    )
