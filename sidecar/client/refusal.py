"""What the end of a stream means: the error table of the protocol, from the client's side."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from sidecar.client.directive import Reason

OK: Final = 0
UNAVAILABLE: Final = 14
UNKNOWN: Final = 2
RESOURCE_EXHAUSTED: Final = 8

MESSAGE_BYTES_MAX: Final = "MESSAGE_BYTES_MAX"

# Reasons of endings that this process made itself, in place of the sidecar's ErrorInfo.
CLIENT_FAULT: Final = "CLIENT_FAULT"
SILENCE: Final = "SILENCE"


class Course(Enum):
    """What to do next."""

    RETRY_SOON = auto()
    """Reconnect and resume."""
    RETRY_LATER = auto()
    """The same, more slowly: what answered is alive and said no."""
    REPLAY_IN_NEW_SESSION = auto()
    """The sidecar's session is not this run: tell the run again under a new name."""
    GO_ON_IN_NEW_SESSION = auto()
    """The session is over: go on from it under a new name."""
    STOP = auto()
    """Asking again cannot help."""


class Situation(Enum):
    """What the stream was at when it ended."""

    OPENING = auto()
    OPEN = auto()
    DRAINING = auto()
    """The sidecar had said that it was stopping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a stream ended."""

    code: int
    """A gRPC status code."""
    reason: str = ""
    """ErrorInfo.reason, if its domain is the sidecar's."""
    expected: int = 0
    """With SEQUENCE_GAP: the sequence to go on from; 0: not said."""
    message_bytes_max: int = 0
    """With MESSAGE_BYTES_MAX: the largest message that is read, in bytes; 0: not said."""
    retry_delay_s: float = 0.0
    """RetryInfo.retry_delay."""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What to do after an ending, and what to count turns under until it is over."""

    course: Course
    reason: Reason


_BY_REASON: Final[Mapping[str, Judgement]] = {
    name: Judgement(course=course, reason=reason)
    for name, course, reason in (
        ("OPEN_REQUIRED", Course.STOP, Reason.REJECTED),
        ("ALREADY_OPEN", Course.STOP, Reason.REJECTED),
        ("OPEN_MISMATCH", Course.STOP, Reason.REJECTED),
        ("POLICY_UNKNOWN", Course.STOP, Reason.REJECTED),
        ("SESSION_TAKEN_OVER", Course.STOP, Reason.REJECTED),
        ("SESSION_STREAMING", Course.STOP, Reason.REJECTED),
        ("SEQUENCE_GAP", Course.RETRY_SOON, Reason.REJECTED),
        ("SEQUENCE_CONFLICT", Course.REPLAY_IN_NEW_SESSION, Reason.REJECTED),
        ("SESSION_NOT_FOUND", Course.REPLAY_IN_NEW_SESSION, Reason.REJECTED),
        ("SESSION_CLOSED", Course.GO_ON_IN_NEW_SESSION, Reason.REJECTED),
        ("DRAINING", Course.RETRY_SOON, Reason.DRAINING),
        (CLIENT_FAULT, Course.RETRY_LATER, Reason.INTERNAL),
        (SILENCE, Course.RETRY_SOON, Reason.TIMEOUT),
    )
}

_REFUSED = Judgement(course=Course.RETRY_LATER, reason=Reason.REJECTED)
_BROKEN = Judgement(course=Course.RETRY_SOON, reason=Reason.STREAM)

# All codes of gRPC. What a proxy or a sidecar of another version answers lands here too.
_BY_CODE: Final[Mapping[int, Judgement]] = {
    OK: _BROKEN,  # ended though nobody asked it to
    1: _BROKEN,  # CANCELLED
    UNKNOWN: _BROKEN,  # the servicer raised
    3: Judgement(course=Course.STOP, reason=Reason.REJECTED),  # INVALID_ARGUMENT: the same again
    4: _BROKEN,  # DEADLINE_EXCEEDED
    5: _REFUSED,  # NOT_FOUND
    6: _REFUSED,  # ALREADY_EXISTS
    7: _REFUSED,  # PERMISSION_DENIED
    RESOURCE_EXHAUSTED: _REFUSED,
    9: _REFUSED,  # FAILED_PRECONDITION
    10: _BROKEN,  # ABORTED
    11: _REFUSED,  # OUT_OF_RANGE
    12: _REFUSED,  # UNIMPLEMENTED
    13: _BROKEN,  # INTERNAL
    UNAVAILABLE: _BROKEN,
    15: _BROKEN,  # DATA_LOSS
    16: _REFUSED,  # UNAUTHENTICATED
}


def judge(ending: Ending, situation: Situation) -> Judgement:
    """What an ending means in that situation. A code that gRPC does not have is a break."""
    by_reason = _BY_REASON.get(ending.reason)
    if by_reason is not None:
        return by_reason
    by_code = _BY_CODE.get(ending.code, _BROKEN)
    if by_code is not _BROKEN:
        return by_code
    match situation:
        case Situation.DRAINING:
            return Judgement(course=Course.RETRY_SOON, reason=Reason.DRAINING)
        case Situation.OPENING if ending.code == UNAVAILABLE:
            return Judgement(course=Course.RETRY_SOON, reason=Reason.CONNECT)
        case Situation.OPENING | Situation.OPEN:
            return by_code
