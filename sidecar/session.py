"""One session: a run, where its agent listens, and what was answered."""

from collections import deque
from typing import Any, Protocol

from sidecar.answered import Answered
from sidecar.core.directive import PROCEED, Decision, Rotate
from sidecar.core.opening import Closing, Mode, Opening
from sidecar.core.policy import Policy
from sidecar.core.run import Run
from sidecar.ports import SessionFacts
from sidecar.refusal import Refusal

REQUESTS_MAX = 64
"""Names of admin requests remembered, so that a repeat does nothing more."""

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
    """A run and what surrounds it. Changed only by `sidecar.sessions.Sessions`."""

    __slots__ = (
        "active_s",
        "answered",
        "closing",
        "entries",
        "facts",
        "last_directive",
        "opened_s",
        "outbox",
        "requests",
        "run",
        "saved_at",
        "saved_path",
        "turn_ids",
        "waits_until_s",
    )

    def __init__(
        self, *, opening: Opening, policy: Policy, run: Run, now_s: float, decisions_kept_max: int
    ) -> None:
        self.facts = SessionFacts(opening=opening, policy=policy)
        self.run = run
        self.opened_s = now_s
        self.active_s = now_s
        self.entries = 0
        """Entries in the journal."""
        self.saved_at = 0
        """Entries when the last snapshot was taken."""
        self.answered = Answered(decisions_kept_max)
        self.closing: Closing | None = None
        self.outbox: Outbox | None = None
        self.last_directive: Decision | None = None
        self.saved_path = ""
        """Where the state of the run was saved for a person; empty: nowhere."""
        self.waits_until_s: float | None = None
        """When the wait for a person is over; None: nobody waits."""
        self.requests: deque[str] = deque(maxlen=REQUESTS_MAX)
        self.turn_ids: dict[str, int] = {}

    @property
    def id(self) -> str:
        """The session's id."""
        return self.facts.opening.session_id

    @property
    def last_sequence(self) -> int:
        """The last turn held."""
        return self.run.state.sequence

    def told(self, decision: Decision, now_s: float) -> None:
        """Keep what the latest decision was, and until when its agent waits for a person. An agent
        that is only observed hears nothing, so it does not wait."""
        if decision.directive is not PROCEED:
            self.last_directive = decision
        observed = self.facts.opening.mode is Mode.OBSERVE
        match decision.directive:
            case Rotate(wait_max_s=wait_max_s) if wait_max_s is not None and not observed:
                self.waits_until_s = now_s + wait_max_s
            case _:
                self.waits_until_s = None

    def remember_turn_id(self, turn_id: str, sequence: int) -> None:
        """Keep which turn an id stands for."""
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
