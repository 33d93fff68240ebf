"""A Recorder that keeps what it is told."""

from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from sidecar.core.directive import Decision, Strength
from sidecar.core.opening import Closing, Command
from sidecar.core.turn import Turn
from sidecar.ports import ModelCall, Rejected, SessionFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class WasOpened:
    """A session was opened, or resumed."""

    session: SessionFacts
    resumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WasDecided:
    """A turn was counted and decided on."""

    session: SessionFacts
    turn: Turn
    decision: Decision
    received_s: float
    budget_left: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WasRejected:
    """A turn was not counted."""

    session: SessionFacts
    rejected: Rejected
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class WasCommanded:
    """Somebody other than the agent acted on the run."""

    session: SessionFacts
    command: Command
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class WasClosed:
    """The run is over."""

    session: SessionFacts
    closing: Closing
    turns: int
    opened_s: float
    strongest: Strength


@dataclass(frozen=True, slots=True, kw_only=True)
class WasDetached:
    """A session left memory."""

    session: SessionFacts
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WereHeld:
    """So many sessions and streams were held."""

    by_state: tuple[tuple[str, int], ...]
    """Open ones, sorted by state."""
    held: int
    streams: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WasRefused:
    """A call or stream was refused or ended."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WasLost:
    """Something accepted was given up."""

    what: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WereMissing:
    """Turns that neither side has any more."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveUp:
    """The client of a session went on without a decision."""

    agent: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WasCommitted:
    """A forced commit was made."""

    source: str
    signal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WasReviewed:
    """An answer was reviewed."""

    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WasJudged:
    """A run was to be judged."""

    verdict: str


Record: TypeAlias = (
    WasOpened
    | WasDecided
    | WasRejected
    | WasCommanded
    | WasClosed
    | WasDetached
    | WereHeld
    | WasRefused
    | WasLost
    | WereMissing
    | GaveUp
    | ModelCall
    | WasCommitted
    | WasReviewed
    | WasJudged
)

R = TypeVar("R")


class MemoryRecorder:
    """The port `Recorder`, for tests: one record per call, in the order of the calls."""

    def __init__(self) -> None:
        """Begin with nothing recorded."""
        self.records: list[Record] = []

    def of(self, kind: type[R]) -> list[R]:
        """The records of one kind."""
        return [record for record in self.records if isinstance(record, kind)]

    def opened(self, session: SessionFacts, *, resumed: bool) -> None:
        """A session was opened, or resumed."""
        self.records.append(WasOpened(session=session, resumed=resumed))

    def decided(
        self,
        session: SessionFacts,
        turn: Turn,
        decision: Decision,
        *,
        received_s: float,
        budget_left: float | None = None,
    ) -> None:
        """A turn was counted and decided on; `received_s` in seconds since the epoch."""
        self.records.append(
            WasDecided(
                session=session,
                turn=turn,
                decision=decision,
                received_s=received_s,
                budget_left=budget_left,
            )
        )

    def rejected(self, session: SessionFacts, rejected: Rejected, decision: Decision) -> None:
        """A turn was not counted."""
        self.records.append(WasRejected(session=session, rejected=rejected, decision=decision))

    def commanded(self, session: SessionFacts, command: Command, decision: Decision) -> None:
        """Somebody other than the agent acted on the run."""
        self.records.append(WasCommanded(session=session, command=command, decision=decision))

    def closed(
        self,
        session: SessionFacts,
        closing: Closing,
        *,
        turns: int,
        opened_s: float,
        strongest: Strength,
    ) -> None:
        """The run is over."""
        self.records.append(
            WasClosed(
                session=session,
                closing=closing,
                turns=turns,
                opened_s=opened_s,
                strongest=strongest,
            )
        )

    def detached(self, session: SessionFacts, *, reason: str) -> None:
        """A session left memory: expired or evicted."""
        self.records.append(WasDetached(session=session, reason=reason))

    def sessions(self, by_state: dict[str, int], *, held: int, streams: int) -> None:
        """Open sessions by state of the breaker, all that are in memory, and open streams."""
        states = tuple(sorted(by_state.items()))
        self.records.append(WereHeld(by_state=states, held=held, streams=streams))

    def refused(self, reason: str) -> None:
        """A call or stream was refused or ended, by the reason of the error table."""
        self.records.append(WasRefused(reason=reason))

    def lost(self, what: str, reason: str, count: int = 1) -> None:
        """Something accepted was given up: what (journal, snapshot, span, ...) and why."""
        self.records.append(WasLost(what=what, reason=reason, count=count))

    def missing(self, count: int) -> None:
        """Turns that neither side has any more."""
        self.records.append(WereMissing(count=count))

    def gave_up(self, session: SessionFacts, reason: str, count: int) -> None:
        """The client of a session went on without a decision so many times."""
        agent = session.opening.agent_name
        self.records.append(GaveUp(agent=agent, reason=reason, count=count))

    def asked(self, call: ModelCall) -> None:
        """A model was asked."""
        self.records.append(call)

    def committed(self, source: str, signal: str) -> None:
        """A forced commit was made: where its answer is from, and the signal that caused it."""
        self.records.append(WasCommitted(source=source, signal=signal))

    def reviewed(self, verdict: str) -> None:
        """An answer was reviewed: the verdict, or `error`."""
        self.records.append(WasReviewed(verdict=verdict))

    def judged(self, verdict: str) -> None:
        """A run was to be judged: what the judge found, or why it found nothing."""
        self.records.append(WasJudged(verdict=verdict))
