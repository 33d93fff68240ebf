"""Sessions to snapshots, and back from a snapshot and the journal after it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sidecar.core import snapshot
from sidecar.core.directive import Decision, Strength
from sidecar.core.opening import (
    Beginning,
    Closing,
    Continue,
    Idle,
    Mode,
    Opening,
    Reset,
    Succession,
    Verdict,
    is_answer,
)
from sidecar.core.run import Run
from sidecar.core.snapshot import SnapshotInvalid
from sidecar.core.turn import Turn
from sidecar.policies import Policies
from sidecar.ports import Entry, Journal, Rejected, Saved, SnapshotStore
from sidecar.sessions.beginning import begun, session_of
from sidecar.sessions.inheritance import read_back
from sidecar.sessions.session import Session


class Unusable(StrEnum):
    """Why a session of which something is kept cannot come back."""

    VERSION = "version"
    """Another version of the sidecar has written it, in another form."""
    POLICY_GONE = "policy_gone"
    """Its policy is configured no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What of a session a snapshot keeps beside its run."""

    opening: Opening
    opened_s: float
    closing: Closing | None = None
    last_directive: Decision | None = None
    strongest: Strength = Strength.PROCEED
    ended_by: str = ""
    has_final_answer: bool = False
    unasked: Decision | None = None
    waits_until_s: float | None = None
    requests: tuple[str, ...] = ()
    """In snapshots of before `obeyed`: names of requests, of either kind."""
    obeyed: tuple[tuple[str, str], ...] = ()
    turn_ids: Mapping[str, int]
    turns_before: int = 0
    saved_path: str = ""
    previous_missing: bool = False
    client_instance: str = ""
    give_ups: tuple[tuple[str, int], ...] = ()


def saved(session: Session) -> Saved:
    """The session as the store keeps it."""
    facts = _Facts(
        opening=session.facts.opening,
        opened_s=session.opened_s,
        closing=session.closing,
        last_directive=session.last_directive,
        strongest=session.strongest,
        ended_by=session.ended_by,
        has_final_answer=session.has_final_answer,
        unasked=session.unasked,
        waits_until_s=session.waits_until_s,
        obeyed=session.requests,
        turn_ids=session.turn_ids,
        turns_before=session.turns_before,
        saved_path=session.saved_path,
        previous_missing=session.facts.previous_missing,
        client_instance=session.client_instance,
        give_ups=session.give_ups,
    )
    return Saved(
        session_id=session.id,
        number=session.entries,
        active_s=session.active_s,
        closed=session.closing is not None,
        session={"facts": snapshot.encode(facts), "run": session.run.encode()},
    )


def restore(
    session_id: str,
    *,
    policies: Policies,
    journal: Journal,
    snapshots: SnapshotStore,
    decisions_kept_max: int,
) -> Session | Unusable | None:
    """The session as it was: its snapshot, with the journal's later entries folded again.

    Without a readable snapshot the journal is folded from its beginning, where it still has it.
    None when the session is not known.
    """
    kept = snapshots.load(session_id)
    session = _thaw(kept, policies, decisions_kept_max) if kept is not None else None
    if isinstance(session, Session):
        entries = journal.read(session_id, after=session.entries)
    else:
        entries = journal.read(session_id)
        session = _first(entries, policies, decisions_kept_max) or session
        if not isinstance(session, Session):
            return session
        entries = entries[1:]
    for entry in entries:
        # The journal may have lost entries that a later snapshot holds, never the reverse.
        if entry.number != session.entries + 1:
            break
        _refold(session, entry)
    session.saved_at = 0 if entries else session.entries
    return session


def _thaw(kept: Saved, policies: Policies, decisions_kept_max: int) -> Session | Unusable:
    try:
        facts = snapshot.decode(_Facts, kept.session.get("facts"))
        policy = policies.by_name.get(facts.opening.policy)
        if policy is None:
            return Unusable.POLICY_GONE
        run = Run.decode(
            kept.session_id,
            policy,
            kept.session.get("run"),
            observed=facts.opening.mode is Mode.OBSERVE,
        )
    except SnapshotInvalid:
        # The store found it whole, so it is what was written.
        return Unusable.VERSION
    session = Session(
        opening=facts.opening,
        policy=policy,
        run=run,
        now_s=facts.opened_s,
        decisions_kept_max=decisions_kept_max,
        previous_missing=facts.previous_missing,
    )
    session.active_s = session.kept_active_s = kept.active_s
    session.entries = kept.number
    session.closing = facts.closing
    session.last_directive = facts.last_directive
    session.strongest = facts.strongest
    session.ended_by = facts.ended_by
    session.has_final_answer = facts.has_final_answer
    session.unasked = facts.unasked
    session.waits_until_s = facts.waits_until_s
    of_either = [(kind.__name__, name) for name in facts.requests for kind in (Continue, Reset)]
    session.requests = (*of_either, *facts.obeyed)
    session.turn_ids.update(facts.turn_ids)
    session.turns_before = facts.turns_before
    session.saved_path = facts.saved_path
    session.client_instance, session.give_ups = facts.client_instance, facts.give_ups
    return session


def _first(
    entries: Sequence[Entry], policies: Policies, decisions_kept_max: int
) -> Session | Unusable | None:
    if not entries or entries[0].number != 1:
        return None
    first = entries[0].event
    match first:
        case Beginning(opening=opening) | Succession(opening=opening) | (Opening() as opening):
            policy = policies.by_name.get(opening.policy)
        case _:
            return None
    if policy is None:
        return Unusable.POLICY_GONE
    observed = opening.mode is Mode.OBSERVE
    match first:
        case Beginning(limits=limits):
            run = Run.start(
                opening.session_id, policy, limits=limits, asked=opening.limits, observed=observed
            )
        case Succession(inherited=inherited):
            try:
                run = read_back(
                    inherited, session_id=opening.session_id, policy=policy, observed=observed
                )
            except SnapshotInvalid:
                return Unusable.VERSION
        case Opening():
            first, run = begun(opening, policies)
    session = session_of(first, run, now_s=entries[0].time_s, decisions_kept_max=decisions_kept_max)
    session.entries = 1
    return session


def _refold(session: Session, entry: Entry) -> None:
    decision: Decision | None = None
    match entry.event:
        case Turn() as turn:
            session.run, decision = session.run.advance(turn)
            session.folded(turn)
            session.remember_turn_id(turn.id, turn.sequence)
        case Rejected() as rejected:
            session.run, decision = session.run.reject(rejected.sequence, rejected.rejection)
            session.remember_turn_id(rejected.id, rejected.sequence)
        case Opening() as gap:
            session.run = session.run.skip_to(gap.first_available_sequence)
        case Closing() as closing:
            session.closing = closing
            session.waits_until_s = None
        case Continue() | Reset() | Idle() | Verdict() as command:
            session.run, decision = session.run.obey(command, entry.number)
            session.remember_request(command)
    if decision is not None:
        if entry.content:
            # What was said counts, also where the policy has changed since.
            session.answered.remember(entry.content, entry.decision or decision)
        elif is_answer(entry.event):
            session.answered.put_right(entry.decision or decision)
        session.told(decision, entry.time_s)
    session.entries = entry.number
    session.active_s = session.kept_active_s = entry.time_s
