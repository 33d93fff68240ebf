"""Decisions on the wire, and read back from a journal."""

from sidecar.adapters.convert.enums import (
    CAUSES,
    CAUSES_OUT,
    SEVERITIES,
    SEVERITIES_OUT,
    STATES,
    STATES_OUT,
)
from sidecar.adapters.convert.turns_out import duration
from sidecar.core.breaker import State
from sidecar.core.directive import (
    PROCEED,
    Cause,
    Commit,
    Decision,
    Directive,
    Halt,
    Proceed,
    Rejection,
    Rotate,
)
from sidecar.core.reading import Reading, Severity
from sidecar.v1 import run_pb2 as pb


def decision_out(decision: Decision) -> pb.Decision:
    """The decision as the agent gets it."""
    wire = pb.Decision()
    write_decision(decision, wire)
    return wire


def write_decision(decision: Decision, wire: pb.Decision) -> None:
    """Fill an empty message, which saves a copy where it is part of another."""
    wire.decision_id = decision.decision_id
    wire.sequence = decision.sequence
    wire.cause = CAUSES_OUT[decision.cause]
    wire.state = STATES_OUT[decision.state]
    wire.policy_revision = decision.policy_revision
    wire.overridden = decision.overridden
    if decision.directive is PROCEED and not decision.readings and decision.rejection is None:
        wire.proceed.SetInParent()
        return
    if decision.readings:
        wire.readings.extend([reading_out(reading) for reading in decision.readings])
    if decision.rejection is not None:
        wire.rejection.CopyFrom(rejection_out(decision.rejection))
    match decision.directive:
        case Proceed(notice=notice):
            wire.proceed.notice = notice
            wire.proceed.SetInParent()
        case Rotate() as rotate:
            wire.rotate.instruction = rotate.instruction
            wire.rotate.approaches_tried.extend(rotate.approaches_tried)
            wire.rotate.suggestions.extend(rotate.suggestions)
            if wait := duration(rotate.wait_max_s):
                wire.rotate.wait_max.CopyFrom(wait)
        case Commit() as commit:
            wire.commit.instruction = commit.instruction
            wire.commit.handover = commit.handover
        case Halt() as halt:
            wire.halt.reason = halt.reason


def decision_in(wire: pb.Decision, *, state_before: State, signal: str) -> Decision:
    """The decision as it was made; the state before it and the signal it names are not on the
    wire, so the journal keeps them beside it."""
    return Decision(
        decision_id=wire.decision_id,
        sequence=wire.sequence,
        cause=CAUSES.get(wire.cause, Cause.TURN),
        state=STATES.get(wire.state, State.HEALTHY),
        state_before=state_before,
        readings=tuple(_reading_in(reading) for reading in wire.readings),
        directive=_directive_in(wire),
        signal=signal,
        overridden=wire.overridden,
        rejection=rejection_in(wire.rejection) if wire.HasField("rejection") else None,
        policy_revision=wire.policy_revision,
    )


def rejection_out(rejection: Rejection) -> pb.Rejection:
    """Why a turn was not counted, on the wire."""
    return pb.Rejection(
        reason=rejection.reason, field=rejection.field, description=rejection.description
    )


def rejection_in(wire: pb.Rejection) -> Rejection:
    """Why a turn was not counted."""
    return Rejection(reason=wire.reason, field=wire.field, description=wire.description)


def reading_out(reading: Reading) -> pb.Reading:
    """The reading; of severity NONE that is not set."""
    return pb.Reading(
        signal=reading.signal,
        severity=SEVERITIES_OUT.get(reading.severity),
        value=reading.value,
        threshold=reading.threshold,
        summary=reading.summary,
    )


def _reading_in(wire: pb.Reading) -> Reading:
    return Reading(
        signal=wire.signal,
        severity=SEVERITIES.get(wire.severity, Severity.NONE),
        value=wire.value,
        threshold=wire.threshold,
        summary=wire.summary,
    )


def _directive_in(wire: pb.Decision) -> Directive:
    match wire.WhichOneof("directive"):
        case "rotate":
            wait = wire.rotate.wait_max
            return Rotate(
                instruction=wire.rotate.instruction,
                approaches_tried=tuple(wire.rotate.approaches_tried),
                suggestions=tuple(wire.rotate.suggestions),
                wait_max_s=wait.seconds + wait.nanos / 1e9
                if wire.rotate.HasField("wait_max")
                else None,
            )
        case "commit":
            return Commit(instruction=wire.commit.instruction, handover=wire.commit.handover)
        case "halt":
            return Halt(reason=wire.halt.reason)
        case _:
            notice = wire.proceed.notice
            return Proceed(notice=notice) if notice else PROCEED
