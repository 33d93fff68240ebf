"""Sessions and their turns as the operator sees them: without content."""

from sidecar.adapters.convert.decisions import decision_out, write_decision
from sidecar.adapters.convert.enums import MODES_OUT, RUN_OUTCOMES_OUT, STATES_OUT
from sidecar.adapters.convert.openings import limits_out
from sidecar.adapters.convert.turns_out import timestamp
from sidecar.core.bounds import COUNT_MAX
from sidecar.core.turn import Turn
from sidecar.ports import Entry, Rejected
from sidecar.session import Session
from sidecar.v1 import run_pb2 as pb
from sidecar.v1 import session_service_pb2 as admin_pb

ERROR_DIGITS = 4
"""Of an error's keyed fingerprint: enough to tell the errors of one run apart, as founded."""

TOOLS_MAX = 16


def session_out(session: Session) -> admin_pb.Session:
    """The session as it is."""
    opening, policy = session.facts.opening, session.facts.policy
    state, closing = session.run.state, session.closing
    totals = state.totals
    wire = admin_pb.Session(
        session_id=session.id,
        agent_name=opening.agent_name,
        agent_version=opening.agent_version,
        model=opening.model,
        policy=policy.name,
        policy_revision=policy.revision,
        mode=MODES_OUT[opening.mode],
        limits=limits_out(state.limits),
        labels=dict(opening.labels),
        previous_session_id=opening.previous_session_id,
        state=STATES_OUT[state.breaker.state],
        last_sequence=state.sequence,
        open_time=timestamp(session.opened_s),
        active_time=timestamp(session.active_s),
        connected=session.outbox is not None,
        closed=closing is not None,
        saved_path=session.saved_path,
        outcome=None if closing is None else RUN_OUTCOMES_OUT.get(closing.outcome),
        totals=admin_pb.Totals(
            turns=totals.turns,
            files_changed=min(totals.files_changed, COUNT_MAX),
            errors_distinct=totals.errors_distinct,
            input_tokens=min(totals.input_tokens, COUNT_MAX),
            output_tokens=min(totals.output_tokens, COUNT_MAX),
            cost_usd=totals.cost_usd,
            turns_missing=totals.turns_missing,
        ),
        approaches=[
            admin_pb.Approach(
                name=approach.name,
                first_sequence=approach.first_sequence,
                last_sequence=approach.last_sequence,
                outcome=approach.outcome,
            )
            for approach in state.story.approaches
        ],
        rotations=[
            admin_pb.Rotation(
                sequence=rotation.sequence,
                signal=rotation.signal,
                previous=rotation.previous,
                next=rotation.next,
            )
            for rotation in state.story.rotations
        ],
    )
    if session.last_directive is not None:
        write_decision(session.last_directive, wire.last_directive)
    return wire


def record_out(entry: Entry) -> admin_pb.TurnRecord | None:
    """A turn as the journal keeps it; None for an entry that is no turn."""
    decision = entry.decision
    match entry.event:
        case Turn() as turn:
            record = admin_pb.TurnRecord(
                sequence=turn.sequence,
                files_changed=turn.progress.files_changed,
                error=turn.failures[0].fingerprint.hex()[:ERROR_DIGITS] if turn.failures else "",
                output_lines=turn.output_lines,
                approach=turn.approach,
                time=timestamp(entry.time_s if turn.end_s is None else turn.end_s),
                tools=[call.name for call in turn.tool_calls[:TOOLS_MAX]],
            )
        case Rejected(sequence=sequence):
            record = admin_pb.TurnRecord(sequence=sequence, time=timestamp(entry.time_s))
        case _:
            return None
    if decision is not None:
        record.state_before = STATES_OUT[decision.state_before]
        record.decision.CopyFrom(decision_out(decision))
    else:
        record.state_before = pb.STATE_HEALTHY
    return record
