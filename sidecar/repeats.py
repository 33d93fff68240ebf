"""Turns sent again: the same decision, a conflict, or too old to tell."""

from sidecar.core.directive import Cause, Decision, Rejection, decision_id
from sidecar.core.turn import Turn
from sidecar.ports import Journal, Rejected
from sidecar.refusal import Reason, Refusal
from sidecar.session import Session


def repeated(
    session: Session, sequence: int, content: bytes, *, journal: Journal, kept_max: int
) -> Decision:
    """The decision that was given on a turn of this sequence and content.

    One that is kept no more is answered with a rejection. Raises Refusal for other content.
    """
    found = session.answered.find(
        sequence, session_id=session.id, revision=session.facts.policy.revision
    ) or _journalled(session, sequence, journal, kept_max)
    if found is None:
        return _too_old(session, sequence)
    known, decision = found
    if known != content:
        raise Refusal(
            Reason.SEQUENCE_CONFLICT,
            f"turn {sequence} was sent before with other content",
            field="turn.sequence",
        )
    return decision


def _journalled(
    session: Session, sequence: int, journal: Journal, kept_max: int
) -> tuple[bytes, Decision] | None:
    """From before a restart, which memory does not reach back to."""
    if sequence <= session.last_sequence - kept_max:
        return None
    for entry in journal.read(session.id, last=2 * kept_max):
        match entry.event:
            case Turn(sequence=found) | Rejected(sequence=found) if (
                found == sequence and entry.decision is not None
            ):
                return entry.content, entry.decision
            case _:
                pass
    return None


def _too_old(session: Session, sequence: int) -> Decision:
    state, revision = session.run.state.breaker.state, session.facts.policy.revision
    return Decision(
        decision_id=decision_id(session.id, sequence, Cause.TURN, revision),
        sequence=sequence,
        cause=Cause.TURN,
        state=state,
        state_before=state,
        rejection=Rejection(
            reason="DUPLICATE_TOO_OLD",
            field="turn.sequence",
            description=f"turn {sequence} was answered and its decision is kept no more",
        ),
        policy_revision=revision,
    )
