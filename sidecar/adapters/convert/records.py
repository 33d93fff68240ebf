"""Sessions and their turns as the operator sees them: without content."""

from collections.abc import Iterable
from typing import Any, TypeVar

from sidecar.adapters.convert.decisions import decision_out, reading_out, write_decision
from sidecar.adapters.convert.enums import MODES_OUT, RUN_OUTCOMES_OUT, STATES_OUT
from sidecar.adapters.convert.openings import command_out, limits_out
from sidecar.adapters.convert.turns_out import duration, timestamp
from sidecar.core.bounds import COUNT_MAX
from sidecar.core.opening import Continue, Idle, Reset, Verdict
from sidecar.core.story import Story, Totals
from sidecar.core.turn import Turn
from sidecar.ports import Entry, Rejected
from sidecar.sessions.session import Session
from sidecar.v1 import convergence_service_pb2 as turns_pb
from sidecar.v1 import run_pb2 as pb
from sidecar.v1 import session_service_pb2 as admin_pb

ERROR_DIGITS = 4
"""Of an error's keyed fingerprint: enough to tell the errors of one run apart, as founded."""

TOOLS_MAX = 16

SEQUENCE_MAX = 2**32 - 1
"""What the wire's uint32 can carry: turns summed over sessions that follow one another may be
more, and what a run file says that a session inherited may be anything."""


def opened_out(
    session: Session, *, missing: int, idle_ttl_s: float, turn_bytes_max: int
) -> turns_pb.Opened:
    """Where a session stands that was opened; `missing` turns are lost to both sides."""
    policy = session.facts.policy
    return turns_pb.Opened(
        session_id=session.id,
        last_sequence=session.last_sequence,
        missing=missing,
        idle_ttl=duration(idle_ttl_s),
        policy=policy.name,
        policy_revision=policy.revision,
        turn_bytes_max=turn_bytes_max,
        previous_missing=session.facts.previous_missing,
    )


def session_out(session: Session) -> admin_pb.Session:
    """The session as it is."""
    opening, policy = session.facts.opening, session.facts.policy
    state, closing = session.run.state, session.closing
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
        close_reason="" if closing is None else closing.reason,
        saved_path=session.saved_path,
        previous_missing=session.facts.previous_missing,
        outcome=None if closing is None else RUN_OUTCOMES_OUT.get(closing.outcome),
        totals=totals_out(state.totals),
        **story_out(state.story),
    )
    if session.last_directive is not None:
        write_decision(session.last_directive, wire.last_directive)
    return wire


def totals_out(totals: Totals) -> admin_pb.Totals:
    """Sums over the run."""
    return admin_pb.Totals(
        turns=min(totals.turns, SEQUENCE_MAX),
        files_changed=min(totals.files_changed, COUNT_MAX),
        errors_distinct=totals.errors_distinct,
        input_tokens=min(totals.input_tokens, COUNT_MAX),
        output_tokens=min(totals.output_tokens, COUNT_MAX),
        cost_usd=totals.cost_usd,
        turns_missing=min(totals.turns_missing, SEQUENCE_MAX),
    )


def story_out(story: Story) -> dict[str, Any]:
    """The fields of a session that tell what was tried."""
    return {
        "approaches": [
            admin_pb.Approach(
                name=approach.name,
                first_sequence=min(approach.first_sequence, SEQUENCE_MAX),
                last_sequence=min(approach.last_sequence, SEQUENCE_MAX),
                outcome=approach.outcome,
            )
            for approach in story.approaches
        ],
        "rotations": [
            admin_pb.Rotation(
                sequence=min(rotation.sequence, SEQUENCE_MAX),
                signal=rotation.signal,
                previous=rotation.previous,
                next=rotation.next,
            )
            for rotation in story.rotations
        ],
    }


def history_out(
    session: admin_pb.Session, entries: Iterable[Entry], *, turns_max: int | None = None
) -> admin_pb.GetSessionResponse:
    """The session with its turns and what was done to it among them, as the entries of its journal
    have them; with `turns_max`, of the latest turns only."""
    turns: list[admin_pb.TurnRecord] = []
    commands: list[admin_pb.CommandRecord] = []
    for entry in entries:
        match entry.event:
            case Turn() as turn:
                record = turn_record(turn)
                if entry.decision is not None:
                    record.readings_below.extend(map(reading_out, entry.decision.below))
                turns.append(_decided(entry, record))
            case Rejected(sequence=sequence):
                turns.append(_decided(entry, admin_pb.TurnRecord(sequence=sequence)))
            case Continue() | Reset() | Idle() | Verdict() as command:
                # A command's decision repeats the sequence of the last turn.
                after = 0 if entry.decision is None else entry.decision.sequence
                wire = command_out(command, after_sequence=after)
                commands.append(_decided(entry, admin_pb.CommandRecord(command=wire)))
            case _:
                pass
    if turns_max is not None and len(turns) > turns_max:
        turns = turns[len(turns) - turns_max :]
        first = turns[0].sequence if turns else SEQUENCE_MAX
        commands = [record for record in commands if record.command.after_sequence >= first]
    return admin_pb.GetSessionResponse(session=session, turns=turns, commands=commands)


def turn_record(turn: Turn) -> admin_pb.TurnRecord:
    """What is told of a turn, without its decision."""
    return admin_pb.TurnRecord(
        sequence=turn.sequence,
        files_changed=turn.progress.files_changed,
        error=turn.failures[0].fingerprint.hex()[:ERROR_DIGITS] if turn.failures else "",
        output_lines=turn.output_lines,
        approach=turn.approach,
        time=timestamp(turn.end_s),
        tools=[call.name for call in turn.tool_calls[:TOOLS_MAX]],
        context_tokens=turn.usage.context_tokens,
        context_window=turn.usage.context_window,
        actor=turn.actor,
    )


R = TypeVar("R", admin_pb.TurnRecord, admin_pb.CommandRecord)


def _decided(entry: Entry, record: R) -> R:
    """The record, with the decision and, where it has none of its own, the time of its entry."""
    # A replay has no clock, and its entries are all of the epoch.
    time = timestamp(entry.time_s or None)
    if time is not None and not record.HasField("time"):
        record.time.CopyFrom(time)
    decision = entry.decision
    record.state_before = pb.STATE_HEALTHY
    if decision is not None:
        record.state_before = STATES_OUT[decision.state_before]
        record.decision.CopyFrom(decision_out(decision))
    return record
