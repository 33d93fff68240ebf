"""Openings, closings and commands, both ways."""

import math
from heapq import nsmallest
from typing import assert_never

from sidecar.adapters.convert.enums import (
    FINDINGS,
    FINDINGS_OUT,
    MODES,
    MODES_OUT,
    RUN_OUTCOMES,
    RUN_OUTCOMES_OUT,
)
from sidecar.adapters.convert.numbers import COUNT_MAX
from sidecar.adapters.convert.turns_in import identifier
from sidecar.adapters.convert.turns_out import duration
from sidecar.core.limits import Limits
from sidecar.core.opening import (
    CITED_MAX,
    Closing,
    Command,
    Continue,
    Finding,
    Idle,
    Mode,
    Opening,
    Reset,
    RunOutcome,
    Verdict,
)
from sidecar.v1 import run_pb2 as pb


def opening_in(wire: pb.Open, *, labels_max: int = 16) -> Opening:
    """What the agent says of its run.

    Limits that make no sense are taken as not set; of the labels the first `labels_max` are kept,
    in the order of their keys.
    """
    return Opening(
        session_id=wire.session_id,
        agent_name=identifier(wire.agent_name),
        agent_version=identifier(wire.agent_version),
        model=identifier(wire.model),
        policy=wire.policy,
        limits=limits_in(wire.limits),
        mode=MODES.get(wire.mode, Mode.ENFORCE),
        previous_session_id=wire.previous_session_id,
        first_available_sequence=wire.first_available_sequence,
        labels=tuple(
            (identifier(key), identifier(label))
            for key, label in nsmallest(labels_max, wire.labels.items())
        ),
    )


def opening_out(opening: Opening) -> pb.Open:
    """The opening as a journal keeps it."""
    return pb.Open(
        session_id=opening.session_id,
        agent_name=opening.agent_name,
        agent_version=opening.agent_version,
        model=opening.model,
        policy=opening.policy,
        limits=limits_out(opening.limits),
        mode=MODES_OUT[opening.mode],
        previous_session_id=opening.previous_session_id,
        first_available_sequence=opening.first_available_sequence,
        labels=dict(opening.labels),
    )


def limits_in(wire: pb.Limits) -> Limits:
    """The limits; zero, negative and unbounded numbers are no limit."""
    cost = wire.cost_usd_max
    span = wire.duration_max.seconds + wire.duration_max.nanos / 1e9
    return Limits(
        max_turns=_positive(wire.max_turns),
        input_tokens_max=_positive(wire.input_tokens_max),
        cost_usd_max=cost if math.isfinite(cost) and cost > 0 else None,
        duration_max_s=span if span > 0 else None,
    )


def limits_out(limits: Limits) -> pb.Limits | None:
    """The limits on the wire; None where none is set."""
    if limits == Limits():
        return None
    return pb.Limits(
        max_turns=limits.max_turns,
        input_tokens_max=limits.input_tokens_max,
        cost_usd_max=limits.cost_usd_max,
        duration_max=duration(limits.duration_max_s),
    )


def closing_in(wire: pb.Close) -> Closing:
    """The agent's goodbye, without the answer itself."""
    return Closing(
        outcome=RUN_OUTCOMES.get(wire.outcome, RunOutcome.UNSPECIFIED),
        has_final_answer=bool(wire.final_answer),
        reason=identifier(wire.reason),
    )


def closing_out(closing: Closing) -> pb.Close:
    """The goodbye as a journal keeps it."""
    return pb.Close(
        outcome=RUN_OUTCOMES_OUT.get(closing.outcome),
        final_answer="-" if closing.has_final_answer else "",
        reason=closing.reason,
    )


def command_in(wire: pb.Command) -> Command | None:
    """The command, or None for an action that this version does not know."""
    match wire.WhichOneof("action"):
        case "continue":
            action: pb.ContinueCommand = getattr(wire, "continue")
            return Continue(
                reason=action.reason,
                extra_turns=action.extra_turns,
                extra_input_tokens=action.extra_input_tokens,
                request_id=action.request_id,
            )
        case "reset":
            return Reset(reason=wire.reset.reason, request_id=wire.reset.request_id)
        case "idle":
            waited = wire.idle.waited
            return Idle(waited_s=waited.seconds + waited.nanos / 1e9)
        case "verdict":
            verdict = wire.verdict
            return Verdict(
                stuck=verdict.stuck,
                confidence=verdict.confidence,
                summary=verdict.summary,
                finding=FINDINGS.get(
                    verdict.finding, Finding.CIRCLING if verdict.stuck else Finding.UNSURE
                ),
                since=verdict.since_sequence,
                cited=tuple(verdict.cited_sequences[:CITED_MAX]),
                texts_seen=verdict.texts_seen,
            )
        case _:
            return None


def command_out(command: Command, *, after_sequence: int) -> pb.Command:
    """The command as a journal keeps it."""
    wire = pb.Command(after_sequence=after_sequence)
    match command:
        case Continue():
            action: pb.ContinueCommand = getattr(wire, "continue")
            action.SetInParent()
            action.reason = command.reason
            action.extra_turns = command.extra_turns
            action.extra_input_tokens = command.extra_input_tokens
            action.request_id = command.request_id
        case Reset():
            wire.reset.SetInParent()
            wire.reset.reason = command.reason
            wire.reset.request_id = command.request_id
        case Idle():
            wire.idle.SetInParent()
            if waited := duration(command.waited_s):
                wire.idle.waited.CopyFrom(waited)
        case Verdict():
            wire.verdict.stuck = command.stuck
            wire.verdict.confidence = command.confidence
            wire.verdict.summary = command.summary
            wire.verdict.finding = FINDINGS_OUT[command.finding]
            wire.verdict.since_sequence = command.since
            wire.verdict.cited_sequences.extend(command.cited)
            wire.verdict.texts_seen = command.texts_seen
        case _:
            assert_never(command)
    return wire


def _positive(count: int) -> int | None:
    return count if 0 < count <= COUNT_MAX else None
