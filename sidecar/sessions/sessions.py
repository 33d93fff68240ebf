"""The sessions: sequence, repeats, take-over, expiry and bounds around the fold.

All that changes in sessions is here, on one thread (the event loop's), and every method
is synchronous: a turn is folded, journalled and kept without letting anything in between. It is
long because all that turns, streams, operators and time do to that state is read in one place.
"""

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from sidecar.core.breaker import State
from sidecar.core.directive import Cause, Commit, Decision
from sidecar.core.opening import Closing, Command, Idle, Opening
from sidecar.core.turn import Turn
from sidecar.policies import Policies
from sidecar.ports import Clock, Entry, Event, Journal, Recorder, Rejected, SnapshotStore
from sidecar.printable import shown
from sidecar.refusal import Reason, Refusal, all_attached, not_held, session_closed, stopping
from sidecar.sessions.archive import Archive
from sidecar.sessions.beginning import begun, check_resumable, session_of
from sidecar.sessions.commands import require_valid as require_valid_command
from sidecar.sessions.openings import require_valid
from sidecar.sessions.repeats import UNNUMBERED, gap, not_counted, repeated
from sidecar.sessions.restoring import Unusable, saved
from sidecar.sessions.session import KEPT_ALIVE_SHARE, Keeper, Outbox, Session
from sidecar.sessions.table import SessionTable

SNAPSHOT_EVERY = 64
"""Entries between snapshots: a resume folds at most so many again, a few milliseconds."""

Found: TypeAlias = Mapping[str, Session | Unusable | None]
"""What the store has, by session id, where that was looked up before; None: nothing."""
NOT_LOOKED_UP: Final[Found] = MappingProxyType({})

OnSession: TypeAlias = Callable[[Session], None]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionBounds:
    """How much is held, and for how long."""

    sessions_max: int = 10_000
    decisions_kept_max: int = 256
    session_idle_ttl_s: float = 3600.0


class Sessions:
    """All sessions that are held, the longest silent first."""

    def __init__(
        self,
        *,
        policies: Policies,
        bounds: SessionBounds,
        clock: Clock,
        journal: Journal,
        snapshots: SnapshotStore,
        recorder: Recorder,
        keeper: Keeper,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self.policies = policies
        self.bounds = bounds
        self._clock = clock
        self.archive = Archive(
            policies=policies,
            journal=journal,
            snapshots=snapshots,
            decisions_kept_max=bounds.decisions_kept_max,
        )
        self._journal = journal
        self._snapshots = snapshots
        self._recorder = recorder
        self._keeper = keeper
        self._new_id = new_id
        self._table = SessionTable()
        self._epoch_s = clock.now_s() - clock.monotonic_s()
        self._watchers: list[tuple[OnSession, OnSession]] = []
        self._draining = False

    # What agents do.

    def require_open(self, opening: Opening) -> None:
        """Raise Refusal for an opening that is none, and for any once the sidecar is stopping."""
        if self._draining:
            raise stopping()
        require_valid(opening)

    def open(
        self, opening: Opening, outbox: Outbox | None, found: Found = NOT_LOOKED_UP
    ) -> tuple[Session, int]:
        """Begin or resume a session; with an outbox, take it over from whoever listens.

        Returns the session and the turns that neither side has any more. Raises Refusal.
        """
        self.require_open(opening)
        known = self._look_up(opening.session_id, found)
        resumed = isinstance(known, Session)
        match known:
            case Session() as session:
                check_resumable(session, opening, self.policies)
            case None:
                session = self._begin(opening, found)
            case Unusable():
                session = self._begin(opening, found)
                self._begun_over(session, known)
        if outbox is None and session.outbox is not None:
            raise Refusal(Reason.SESSION_STREAMING, "a stream is attached to this session")
        missing = self._skip_missing(session, opening)
        if outbox is not None:
            session.attach(outbox)
        if outbox is not None or not resumed:
            self._recorder.opened(session.facts, resumed=resumed)
        self._touch(session)
        if outbox is not None or missing or not resumed:
            # Otherwise it is the turn that comes with it that is a change.
            self._changed(session)
        return session, missing

    def turn(
        self,
        session: Session,
        event: Turn | Rejected,
        content: bytes,
        *,
        received_s: float | None = None,
    ) -> Decision:
        """The decision on a turn, the same one when it is sent again.

        `content` is 8 bytes over what was sent; `received_s`, in seconds since the epoch, is when.
        Raises Refusal.
        """
        last = session.last_sequence
        if event.sequence <= last:
            return self._again(session, event.sequence, content)
        if session.closing is not None:
            raise session_closed()
        if event.sequence > last + 1:
            raise gap(expected=last + 1, given=event.sequence)
        before = session.run.state.breaker.state
        match event:
            case Turn():
                session.run, decision = session.run.advance(event)
                session.folded(event)
            case Rejected():
                session.run, decision = session.run.reject(event.sequence, event.rejection)
        now_s = self._journalled(session, event, decision, content)
        match event:
            case Turn():
                left = session.budget_left(decision)
                self._recorder.decided(
                    session.facts, event, decision, received_s=received_s or now_s, budget_left=left
                )
            case Rejected():
                self._recorder.rejected(session.facts, event, decision)
        session.remember_turn_id(event.id, event.sequence)
        session.answered.remember(content, decision)
        self._settle(session, decision, before)
        return decision

    def close(self, session: Session, closing: Closing) -> None:
        """End a session; a second time does nothing."""
        if session.closing is not None:
            return
        if session.has_final_answer and not closing.has_final_answer:
            closing = replace(closing, has_final_answer=True)
        session.closing = closing
        session.waits_until_s = None
        self._table.closed(session)
        self._journalled(session, closing, None)
        self._recorder.closed(
            session.facts,
            closing,
            turns=session.run.state.totals.turns - session.turns_before,
            opened_s=session.opened_s,
            strongest=session.strongest,
        )
        self._save(session)
        self._changed(session)

    def detach(self, session: Session, outbox: Outbox) -> None:
        """The stream is gone; the session stays."""
        if session.outbox is outbox:
            session.outbox = None
            self._touch(session)
            self._save(session)
            self._changed(session)

    def alive(self, session: Session) -> None:
        """A sign of life, kept now and then: agents may be silent for long before a crash."""
        self._touch(session)
        unkept_s = session.active_s - session.kept_active_s
        if unkept_s >= KEPT_ALIVE_SHARE * self.bounds.session_idle_ttl_s:
            self._save(session)

    # What operators do.

    def in_memory(self, session_id: str) -> bool:
        """Whether the store need not be asked for the session."""
        return self._table.get(session_id) is not None

    def find(self, session_id: str, found: Found = NOT_LOOKED_UP) -> Session | None:
        """The session, from memory or the store, which is waited for where it was not asked
        before."""
        known = self._look_up(session_id, found)
        return known if isinstance(known, Session) else None

    def get(self, session_id: str, found: Found = NOT_LOOKED_UP) -> Session:
        """The session; raises Refusal when it is not held."""
        session = self.find(session_id, found)
        if session is None:
            raise not_held(session_id)
        return session

    def held(self) -> Iterable[Session]:
        """The sessions in memory, the latest active first."""
        return self._table.latest_first

    def command(self, session: Session, command: Command) -> None:
        """Do to a run what its agent did not ask for, and tell the agent. A repeated request id
        does nothing more. Raises Refusal."""
        require_valid_command(command)
        if session.closing is not None:
            raise session_closed()
        if session.has_obeyed(command):
            return
        decision = self._obey(session, command)
        if session.outbox is not None and decision.cause is not Cause.JUDGE:
            session.outbox.send(decision)

    def end(self, session: Session, closing: Closing) -> None:
        """Close a session from outside, and end its stream. Raises Refusal."""
        require_valid_command(closing)
        self.close(session, closing)
        if session.outbox is not None:
            session.outbox.end(Refusal(Reason.SESSION_CLOSED, "an operator closed this session"))

    def watch(
        self, on_change: OnSession, *, on_leave: OnSession = lambda _: None
    ) -> Callable[[], None]:
        """Call these for every session that changes, and that leaves memory; returns what ends it.

        A session that leaves open is kept in the store, and changes when it comes back.
        """
        watcher = (on_change, on_leave)
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    # What time does.

    def sweep(self) -> None:
        """Let go of what is over: waits, idle sessions. Called every second or so."""
        now_s, steady_s = self._clock.now_s(), self._steady_s()
        for session in self._table.idle_first:
            if session.waits_until_s is not None and steady_s >= session.waits_until_s:
                self._wait_is_over(session)
            if now_s - session.active_s < self.bounds.session_idle_ttl_s:
                continue
            if session.outbox is None:
                self._expire(session)
            else:
                # An open stream is a sign of life, also where its agent is silent or the clock was
                # set forward: the store is told before it lets the session go, or once it has.
                self.alive(session)
        table = self._table
        self._recorder.sessions(table.by_state, held=len(table), streams=table.streams)

    def drain(self) -> None:
        """Refuse new sessions, and ask every stream to go."""
        self._draining = True
        for session in self._table.idle_first:
            if session.outbox is not None:
                session.outbox.drain()

    def nothing_is_saved(self) -> None:
        """The store has begun anew: what it had of the sessions that are held is gone."""
        for session in self._table.latest_first:
            session.saved_at = 0

    def save_all(self, within_s: float) -> int:
        """Snapshot what changed since its last snapshot, the latest active first, for so long.

        Returns how many are left to the journal, which has all of them.
        """
        until_s = self._clock.monotonic_s() + within_s
        changed = [one for one in self._table.latest_first if not one.is_saved]
        for done, session in enumerate(changed):
            if self._clock.monotonic_s() >= until_s:
                return len(changed) - done
            self._save(session)
        return 0

    def keep_give_ups(
        self, session: Session, client_instance: str, totals: tuple[tuple[str, int], ...]
    ) -> None:
        """Keep what was counted of a client's give-ups, in a snapshot: the journal has none."""
        session.keep_give_ups(client_instance, totals)
        self._save(session)

    def without_waiting(self, session: Session, decision: Decision) -> Decision:
        """What a caller that cannot wait gets instead of a rotate that asks it to: the end of the
        wait, the same one whenever it asks again."""
        if decision.sequence != session.last_sequence:
            return decision
        if session.waits_until_s is not None:
            ended_at_once = self._obey(session, Idle(waited_s=0.0))
            session.answered.put_right(ended_at_once)
            return ended_at_once
        last = session.last_directive
        ended = last is not None and last.cause is Cause.IDLE and last.sequence == decision.sequence
        return last if last is not None and ended else decision

    # How.

    def _again(self, session: Session, sequence: int, content: bytes) -> Decision:
        if sequence == 0:
            return self._not_counted(session, UNNUMBERED)
        if session.lacks_answer(sequence):
            session.recall(self.archive.answers(session.id))
        known = repeated(session, sequence, content)
        return self._not_counted(session, known) if isinstance(known, Rejected) else known

    def _not_counted(self, session: Session, rejected: Rejected) -> Decision:
        decision = not_counted(session, rejected)
        self._recorder.rejected(session.facts, rejected, decision)
        return decision

    def _look_up(self, session_id: str, found: Found) -> Session | Unusable | None:
        session = self._table.get(session_id)
        if session is not None or not session_id:
            return session
        kept = found[session_id] if session_id in found else self.archive.session(session_id)
        return self._held_again(kept) if isinstance(kept, Session) else kept

    def _begun_over(self, session: Session, unusable: Unusable) -> None:
        # Lost only now: an earlier version of the sidecar, or its policy given again, would have
        # gone on from what was kept.
        self._recorder.lost("snapshot", unusable.value)
        logger.warning(
            "session %s begins anew: what was kept of it cannot be used (%s)",
            shown(session.id),
            unusable.value,
        )

    def _begin(self, opening: Opening, found: Found) -> Session:
        opening = replace(opening, session_id=opening.session_id or self._new_id())
        previous = self.find(opening.previous_session_id, found)
        first, run = begun(opening, self.policies, previous.run if previous else None)
        self._make_room()
        now_s, kept_max = self._clock.now_s(), self.bounds.decisions_kept_max
        session = session_of(first, run, now_s=now_s, decisions_kept_max=kept_max)
        if previous is not None:
            session.client_instance, session.give_ups = previous.client_instance, previous.give_ups
        self._table.add(session)
        self._journalled(session, first, None)
        # From the start there is something to resume from, whatever becomes of the journal.
        self._save(session)
        return session

    def _skip_missing(self, session: Session, opening: Opening) -> int:
        first = opening.first_available_sequence
        missing = first - 1 - session.last_sequence
        if missing <= 0:
            return 0
        session.run = session.run.skip_to(first)
        gap = replace(session.facts.opening, first_available_sequence=first)
        self._journalled(session, gap, None)
        self._recorder.missing(missing)
        return missing

    def _obey(self, session: Session, command: Command) -> Decision:
        before = session.run.state.breaker.state
        session.run, decision = session.run.obey(command, session.entries + 1)
        session.remember_request(command)
        self._journalled(session, command, decision)
        self._recorder.commanded(session.facts, command, decision)
        self._settle(session, decision, before)
        return decision

    def _steady_s(self) -> float:
        """Seconds since the epoch by a clock that nobody sets: an agent was told how long it is to
        wait."""
        return self._clock.monotonic_s() + self._epoch_s

    def _settle(self, session: Session, decision: Decision, before: State) -> None:
        session.told(decision, self._steady_s())
        self._table.moved(before, decision.state)
        tripped = decision.state is State.TRIPPED and before is not State.TRIPPED
        rests = type(decision.directive) is Commit
        if tripped or rests:
            session.saved_path = self._keeper.keep(session)
        if tripped or rests or session.entries - session.saved_at >= SNAPSHOT_EVERY:
            self._save(session)
        if self._watchers:
            self._changed(session)

    def _journalled(
        self, session: Session, event: Event, decision: Decision | None, content: bytes = b""
    ) -> float:
        now_s = self._clock.now_s()
        session.entries += 1
        self._journal.append(
            Entry(
                session_id=session.id,
                number=session.entries,
                time_s=now_s,
                event=event,
                decision=decision,
                content=content,
            )
        )
        self._table.touch(session, now_s)
        session.kept_active_s = now_s
        return now_s

    def _save(self, session: Session) -> None:
        if not session.is_saved:
            session.saved()
            self._snapshots.save(saved(session))

    def _held_again(self, session: Session) -> Session:
        self._make_room()
        self._table.add(session)
        self._changed(session)
        idle_s = self._clock.now_s() - session.active_s
        if session.closing is None and idle_s >= self.bounds.session_idle_ttl_s:
            self.close(session, Closing(reason="expired"))
        return session

    def _touch(self, session: Session) -> None:
        self._table.touch(session, self._clock.now_s())

    def _make_room(self) -> None:
        if len(self._table) < self.bounds.sessions_max:
            return
        session = self._table.longest_silent()
        if session is not None:
            self._save(session)
            self._let_go(session, "evicted")
            return
        raise all_attached(self.bounds.sessions_max)

    def _expire(self, session: Session) -> None:
        if session.closing is None:
            self.close(session, Closing(reason="expired"))
        self._let_go(session, "expired")

    def _let_go(self, session: Session, reason: str) -> None:
        self._table.remove(session)
        self._recorder.detached(session.facts, reason=reason)
        for _, on_leave in self._watchers:
            on_leave(session)

    def _wait_is_over(self, session: Session) -> None:
        waited_s = session.facts.policy.staging.wait_max_s
        decision = self._obey(session, Idle(waited_s=waited_s))
        if session.outbox is not None:
            session.outbox.send(decision)

    def _changed(self, session: Session) -> None:
        for on_change, _ in self._watchers:
            on_change(session)
