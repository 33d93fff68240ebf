"""The sidecar's decisions, read. What this client does not know means proceed."""

from collections.abc import Mapping
from typing import Final

from google.protobuf.duration_pb2 import Duration

from sidecar.client.directive import Directive, Kind, Reading, Reason
from sidecar.v1 import run_pb2 as pb

# Nobody waits longer than a day for a person, whatever the message says.
WAIT_MAX_S: Final = 86_400.0

_STATES: Final[Mapping[int, str]] = {
    pb.STATE_HEALTHY: "healthy",
    pb.STATE_WARNING: "warning",
    pb.STATE_TRIPPED: "tripped",
    pb.STATE_RECOVERY: "recovery",
}
_SEVERITIES: Final[Mapping[int, str]] = {
    pb.SEVERITY_WARNING: "warning",
    pb.SEVERITY_BREAK: "break",
}
_CAUSES: Final[Mapping[int, str]] = {
    pb.CAUSE_TURN: "turn",
    pb.CAUSE_OPERATOR: "operator",
    pb.CAUSE_IDLE: "idle",
    pb.CAUSE_JUDGE: "judge",
}


def is_unasked(decision: pb.Decision) -> bool:
    """Whether no turn asked for it."""
    return decision.cause not in (pb.CAUSE_TURN, pb.CAUSE_UNSPECIFIED)


def kind_of(decision: pb.Decision) -> Kind:
    """Its directive's kind; one that is unset or not known is a proceed."""
    named = decision.WhichOneof("directive")
    return Kind.PROCEED if named is None else Kind(named)


def says_nothing(decision: pb.Decision) -> bool:
    """Whether it is a turn's plain proceed, which nobody misses."""
    plain = kind_of(decision) is Kind.PROCEED and not decision.proceed.notice
    return plain and not is_unasked(decision)


def directive_of(decision: pb.Decision, *, late: bool, reason: Reason | None) -> Directive:
    """The directive as the agent gets it."""
    kind = kind_of(decision)
    match kind:
        case Kind.PROCEED:
            instruction = decision.proceed.notice
        case Kind.ROTATE:
            instruction = decision.rotate.instruction
        case Kind.COMMIT:
            instruction = decision.commit.instruction
        case Kind.HALT:
            instruction = decision.halt.reason
    return Directive(
        kind=kind,
        instruction=instruction,
        suggestions=tuple(decision.rotate.suggestions),
        approaches_tried=tuple(decision.rotate.approaches_tried),
        handover=decision.commit.handover,
        wait_max_s=_wait_max_s(decision),
        late=late,
        fail_open_reason=reason,
        cause=_CAUSES.get(decision.cause, ""),
        state=_STATES.get(decision.state, ""),
        readings=tuple(map(_reading, decision.readings)),
        decision=decision,
    )


def seconds(duration: Duration) -> float:
    """A duration in seconds; 0 for a negative one."""
    return max(0.0, duration.seconds + duration.nanos / 1e9)


def _wait_max_s(decision: pb.Decision) -> float | None:
    if not decision.rotate.HasField("wait_max"):
        return None
    return min(WAIT_MAX_S, seconds(decision.rotate.wait_max))


def _reading(reading: pb.Reading) -> Reading:
    return Reading(
        signal=reading.signal,
        severity=_SEVERITIES.get(reading.severity, ""),
        value=reading.value,
        threshold=reading.threshold,
        summary=reading.summary,
    )
