"""Turns out of their sequence: those sent again, those too early, those without one."""

from typing import Final

from sidecar.core.directive import Cause, Decision, Rejection, decision_id
from sidecar.ports import Rejected
from sidecar.refusal import Reason, Refusal
from sidecar.sessions.session import Session

UNNUMBERED: Final = Rejected(
    sequence=0,
    rejection=Rejection(
        reason="SEQUENCE_INVALID",
        field="turn.sequence",
        description="the first turn has sequence 1; only RecordTurn numbers turns that have none",
    ),
)


def repeated(session: Session, sequence: int, content: bytes) -> Decision | Rejected:
    """The decision that was given on a turn of this sequence and content, or why there is none any
    more. Raises Refusal for other content.
    """
    found = session.answered.find(sequence)
    if found is None:
        rejection = Rejection(
            reason="DUPLICATE_TOO_OLD",
            field="turn.sequence",
            description=f"turn {sequence} is past: its decision is kept no more, or it never came",
        )
        return Rejected(sequence=sequence, rejection=rejection)
    known, decision = found
    if known != content:
        raise Refusal(
            Reason.SEQUENCE_CONFLICT,
            f"turn {sequence} was sent before with other content",
            field="turn.sequence",
        )
    return decision


def not_counted(session: Session, rejected: Rejected) -> Decision:
    """The answer to a turn that does not even use up its sequence."""
    state, revision = session.run.state.breaker.state, session.facts.policy.revision
    return Decision(
        decision_id=decision_id(session.id, rejected.sequence, Cause.TURN, revision),
        sequence=rejected.sequence,
        cause=Cause.TURN,
        state=state,
        state_before=state,
        rejection=rejected.rejection,
        policy_revision=revision,
    )


def gap(*, expected: int, given: int) -> Refusal:
    """The refusal of a turn that is further on than the next."""
    return Refusal(
        Reason.SEQUENCE_GAP,
        f"turn {expected} expected, not {given}",
        field="turn.sequence",
        metadata={"expected": str(expected)},
    )
