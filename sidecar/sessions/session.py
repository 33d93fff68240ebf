"""One session: a run, where its agent listens, and what was answered."""

from collections.abc import Iterable
from typing import Any, Protocol

from sidecar.core.directive import (
    PROCEED,
    Cause,
    Commit,
    Decision,
    Halt,
    Rotate,
    Strength,
    strength_of,
)
from sidecar.core.opening import Closing, Command, Mode, Opening, request_of
from sidecar.core.policy import Policy
from sidecar.core.run import Run
from sidecar.core.turn import Turn
from sidecar.ports import SessionFacts
from sidecar.refusal import Reason, Refusal
from sidecar.sessions.answered import Answered

REQUESTS_MAX = 64
"""Admin requests remembered by name, so that a repeat does nothing more."""

KEPT_ALIVE_SHARE = 1 / 8
"""Share of the idle time after which a sign of life alone is kept in the store. After a crash a
session can be resumed for what is left of it, and 10,000 silent agents make 22 snapshots a second.
"""

TURN_IDS_MAX = 256
"""Ids of turns remembered for callers that do not number theirs; as many as an agent keeps."""


class Outbox(Protocol):
    """The way to the agent of a session, where one is listening. No method blocks or raises."""

    def send(self, decision: Decision) -> None:
        """Send a decision that no turn asked for."""
        ...

    def drain(self) -> None:
        """Say that the sidecar is about to stop."""
        ...

    def end(self, refusal: Refusal) -> None:
        """End the stream."""
        ...


class Keeper(Protocol):
    """Where the state of tripped and rested runs is saved for a person to read."""

    def keep(self, session: "Session") -> str:
        """Save the run as it is now, without blocking; where it will be, empty: nowhere."""
        ...


class Session:
    """A run and what surrounds it. Changed only by `sidecar.sessions.sessions.Sessions`."""

    __slots__ = (
        "active_s",
        "answered",
        "client_instance",
        "closing",
        "ended_by",
        "entries",
        "facts",
        "give_ups",
        "has_final_answer",
        "kept_active_s",
        "last_directive",
        "opened_s",
        "outbox",
        "recalled",
        "requests",
        "run",
        "saved_at",
        "saved_path",
        "strongest",
        "turn_ids",
        "turns_before",
        "unasked",
        "waits_until_s",
    )

    def __init__(
        self,
        *,
        opening: Opening,
        policy: Policy,
        run: Run,
        now_s: float,
        decisions_kept_max: int,
        previous_missing: bool = False,
    ) -> None:
        self.facts = SessionFacts(opening=opening, policy=policy, previous_missing=previous_missing)
        self.run = run
        self.opened_s = now_s
        self.active_s = now_s
        self.kept_active_s = now_s
        """The last sign of life that the store knows of."""
        self.entries = 0
        """Entries in the journal."""
        self.saved_at = 0
        """Entries when the last snapshot was taken."""
        self.answered = Answered(
            decisions_kept_max, session_id=opening.session_id, revision=policy.revision
        )
        self.recalled = False
        """Whether the answers that the journal has from before it was in memory are back."""
        self.closing: Closing | None = None
        self.outbox: Outbox | None = None
        self.last_directive: Decision | None = None
        self.strongest = Strength.PROCEED
        """Of the directives that were sent to its agent; one that is observed is sent none."""
        self.ended_by = ""
        """Signal of the commit or halt that the run was told last; empty: none was, or a person has
        spoken since."""
        self.has_final_answer = False
        """Whether a turn had one."""
        self.unasked: Decision | None = None
        """What the run was told last, where no turn asked for it; None: a turn came after it."""
        self.saved_path = ""
        """Where the state of the run was saved for a person; empty: nowhere."""
        self.waits_until_s: float | None = None
        """When the wait for a person is over; None: nobody waits."""
        self.requests: tuple[tuple[str, str], ...] = ()
        """Kind and name of the latest admin requests, the latest last; no deque, which takes 760
        bytes empty."""
        self.turn_ids: dict[str, int] = {}
        self.turns_before = 0
        """Of the totals of its run: turns of the sessions that it goes on from."""
        self.client_instance = ""
        """The client that reported give-ups last."""
        self.give_ups: tuple[tuple[str, int], ...] = ()
        """Its totals by reason, which are not counted again after a restart."""

    @property
    def id(self) -> str:
        """The session's id."""
        return self.facts.opening.session_id

    @property
    def last_sequence(self) -> int:
        """The last turn held."""
        return self.run.state.sequence

    @property
    def is_saved(self) -> bool:
        """Whether the latest snapshot has all there is to know of it."""
        return self.saved_at == self.entries and self.kept_active_s == self.active_s

    def folded(self, turn: Turn) -> None:
        """Keep what of a turn that was folded is not in the run's state."""
        self.ended_by = "" if turn.user_input else self.ended_by
        self.has_final_answer = self.has_final_answer or turn.has_final_answer

    def saved(self) -> None:
        """A snapshot was taken."""
        self.saved_at = self.entries
        self.kept_active_s = self.active_s

    def keep_give_ups(self, client_instance: str, totals: tuple[tuple[str, int], ...]) -> None:
        """Take what was counted of a client's give-ups; it is not saved yet."""
        self.client_instance, self.give_ups = client_instance, totals
        self.saved_at = min(self.saved_at, self.entries - 1)

    def budget_left(self, decision: Decision) -> float | None:
        """Share of the run's limits that is left where its agent is first told to commit; None: it
        is not, or has no limits."""
        if (
            type(decision.directive) is not Commit
            or self.strongest >= Strength.COMMIT
            or self.facts.opening.mode is Mode.OBSERVE
        ):
            return None
        return self.run.state.limits.left(self.run.state.totals)

    def attach(self, outbox: Outbox) -> None:
        """Let this stream listen, in place of whichever did. What the run was told last comes to
        it first, since nobody may have heard it."""
        if self.outbox is not None:
            taken_over = "a newer stream took this session"
            self.outbox.end(Refusal(Reason.SESSION_TAKEN_OVER, taken_over))
        self.outbox = outbox
        if self.unasked is not None:
            outbox.send(self.unasked)

    def told(self, decision: Decision, now_s: float) -> None:
        """Keep what the latest decision was, and until when its agent waits for a person. An agent
        that is only observed hears nothing, so it does not wait. What a judge said is told to
        nobody, and ends no wait."""
        if decision.cause is Cause.JUDGE:
            return
        self.unasked = None if decision.cause is Cause.TURN else decision
        observed = self.facts.opening.mode is Mode.OBSERVE
        if decision.directive is not PROCEED:
            self.last_directive = decision
            if not observed:
                self.strongest = max(self.strongest, strength_of(decision.directive))
        if decision.cause is Cause.OPERATOR:
            self.ended_by = ""
        if decision.signal and isinstance(decision.directive, Commit | Halt):
            self.ended_by = decision.signal
        match decision.directive:
            case Rotate(wait_max_s=wait_max_s) if wait_max_s is not None and not observed:
                self.waits_until_s = now_s + wait_max_s
            case _:
                self.waits_until_s = None

    def has_obeyed(self, command: Command) -> bool:
        """Whether this is the repeat of a request that was met before."""
        return _request(command) in self.requests

    def remember_request(self, command: Command) -> None:
        """Keep the name of the request, where it has one."""
        if request_of(command):
            self.requests = (*self.requests, _request(command))[-REQUESTS_MAX:]

    def lacks_answer(self, sequence: int) -> bool:
        """Whether the answer to a turn of before may be in the journal, and is not here."""
        last = self.last_sequence
        if self.recalled or not last - self.answered.kept_max < sequence <= last:
            return False
        return sequence > 0 and self.answered.find(sequence) is None

    def recall(self, answers: Iterable[tuple[bytes, Decision]]) -> None:
        """Take back the answers that the journal has, in the order of their turns."""
        self.answered = self.answered.preceded_by(answers)
        self.recalled = True

    def remember_turn_id(self, turn_id: str, sequence: int) -> None:
        """Keep which turn an id stands for; an empty one stands for none."""
        if not turn_id:
            return
        self.turn_ids[turn_id] = sequence
        if len(self.turn_ids) > TURN_IDS_MAX:
            del self.turn_ids[next(iter(self.turn_ids))]

    def __repr__(self) -> str:
        """The state at a glance, as tests and logs want it."""
        facts: dict[str, Any] = {
            "turns": self.last_sequence,
            "state": self.run.state.breaker.state.value,
            "streaming": self.outbox is not None,
            "closed": self.closing is not None,
        }
        shown = ", ".join(f"{name}: {fact}" for name, fact in facts.items())
        return f"<Session {self.id} [{shown}]>"


def _request(command: Command) -> tuple[str, str]:
    # With its kind: a reset under the name of an earlier continue is no repeat of it.
    return type(command).__name__, request_of(command)
