"""The line to the sidecar: when to connect, and what the end of a stream means. Knows no I/O.

PAUSED --begin--> STREAMING --ended--> PAUSED ... --ended or stop--> STOPPED
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from sidecar.client.directive import Reason
from sidecar.client.give_ups import GiveUps
from sidecar.client.naming import successor
from sidecar.client.patience import later_s, soon_s
from sidecar.client.refusal import (
    MESSAGE_BYTES_MAX,
    OK,
    RESOURCE_EXHAUSTED,
    SILENCE,
    UNAVAILABLE,
    Course,
    Ending,
    Situation,
    judge,
)
from sidecar.client.ring import Ring
from sidecar.client.stream import (
    ENVELOPE_BYTES,
    TURN_BYTES_MIN,
    Resumption,
    Stage,
    Stream,
)
from sidecar.v1 import run_pb2 as pb

# Before the sidecar has stated its limit: gRPC's default for a message, less the envelope.
TURN_BYTES_MAX: Final = 4 * 1024 * 1024 - ENVELOPE_BYTES
# No sidecar makes an agent wait longer than this before it asks again.
RETRY_DELAY_MAX_S: Final = 3600.0
RENEWALS: Final = frozenset({Course.REPLAY_IN_NEW_SESSION, Course.GO_ON_IN_NEW_SESSION})


class Phase(Enum):
    """Where the line stands."""

    PAUSED = auto()
    STREAMING = auto()
    STOPPED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """Why the agent goes on without the sidecar."""

    reason: Reason
    description: str = ""
    final: bool = False


class Line:
    """Makes one stream after another, for as long as that can help."""

    def __init__(
        self,
        *,
        opening: pb.Open,
        ring: Ring,
        give_ups: GiveUps,
        random: Callable[[], float],
    ) -> None:
        self.phase = Phase.PAUSED
        self.stream: Stream | None = None
        self.outage: Outage | None = None
        self.goodbye: pb.Close | None = None
        self.goodbye_heard = False
        self.is_renewing = False
        """Whether the last stream ended for another session's sake."""
        self.is_reopening = False
        """Whether it ended since the client itself had turns to tell of that are lost."""
        self._goodbye_said = False
        self._opening = opening
        self._first_session_id = opening.session_id
        self._sessions = 1
        self._ring = ring
        self._give_ups = give_ups
        self._random = random
        self._streams = 0
        self._attempts = 0
        self._connect_at_s = float("-inf")
        self._resumption = Resumption(turn_bytes_max=TURN_BYTES_MAX)

    def __repr__(self) -> str:
        return f"Line({self.phase.name}, {self.stream}, {self.outage})"

    @property
    def session_id(self) -> str:
        """The session's name; another one once the sidecar cannot go on with it."""
        return self._opening.session_id

    @property
    def was_refused(self) -> bool:
        """Whether nobody listened at the last attempt, of which gRPC says no more than the word."""
        outage = self.outage
        return (
            outage is not None
            and outage.reason is Reason.CONNECT
            and "refused" in outage.description
        )

    def pause_s(self, now_s: float) -> float | None:
        """Time until the next attempt; None: there will be none."""
        match self.phase:
            case Phase.PAUSED:
                return max(0.0, self._connect_at_s - now_s)
            case Phase.STREAMING | Phase.STOPPED:
                return None

    def begin(self, now_s: float) -> int:
        """A stream is being made; returns its number."""
        self._streams += 1
        self.phase = Phase.STREAMING
        self.stream = Stream(
            number=self._streams,
            opening=self._opening,
            ring=self._ring,
            give_ups=self._give_ups,
            resumption=self._resumption,
            now_s=now_s,
        )
        return self._streams

    def current(self, number: int) -> Stream | None:
        """The stream of that number, if it is the one in use."""
        stream = self.stream
        return stream if stream is not None and stream.number == number else None

    def decided(self, stream: Stream) -> None:
        """A turn was answered: the outage, if there was one, is over."""
        stream.decided = True
        self.outage = None

    def let_go(self) -> None:
        """The stream is gone by the client's own doing: make another, at once."""
        self.stream = None
        self.phase = Phase.PAUSED
        self._connect_at_s = float("-inf")

    def stop(self, outage: Outage) -> None:
        """Never connects again."""
        self.phase = Phase.STOPPED
        self.outage = outage
        self.stream = None

    def shut(self) -> None:
        """Never connects again, since nobody needs it to."""
        self.phase = Phase.STOPPED
        self.stream = None

    def ended(self, stream: Stream, ending: Ending, now_s: float) -> Course:
        """The stream ended; returns what is to become of the session."""
        ending = _of_cut(stream) if stream.is_cut else ending
        judgement = judge(ending, _situation(stream))
        self.is_reopening = stream.hole_before > 0 and ending.code == OK
        if self.is_reopening or stream.was_healthy(now_s):
            self._attempts = 0
        self._resumption = Resumption(
            first_available=stream.hole_before,
            expected=ending.expected,
            turn_bytes_max=_turn_bytes_max(stream, ending),
        )
        self.stream = None
        self.is_renewing = judgement.course in RENEWALS
        self._goodbye_said = self._goodbye_said or stream.goodbye_said
        if self._is_over(stream, ending):
            self.goodbye_heard = True
            self.phase = Phase.STOPPED
            return Course.STOP
        if not self.is_reopening:
            self.outage = Outage(
                reason=judgement.reason,
                description=ending.description or ending.reason,
                final=judgement.course is Course.STOP,
            )
        self._follow(judgement.course, ending, now_s)
        return judgement.course

    def _is_over(self, stream: Stream, ending: Ending) -> bool:
        if self.is_renewing:
            return self._goodbye_said  # on this stream or an earlier one, and it was heard
        return stream.goodbye_said and ending.code == OK

    def _follow(self, course: Course, ending: Ending, now_s: float) -> None:
        pause_s = soon_s(self._attempts, self._random)
        self.phase = Phase.PAUSED
        match course:
            case Course.RETRY_SOON:
                pass
            case Course.RETRY_LATER:
                pause_s = later_s(self._attempts, self._random)
            case Course.REPLAY_IN_NEW_SESSION:
                self._rename(previous_session_id="")
            case Course.GO_ON_IN_NEW_SESSION:
                self._rename(previous_session_id=self._opening.session_id)
            case Course.STOP:
                self.phase = Phase.STOPPED
        self._attempts += 1
        pause_s = max(pause_s, min(ending.retry_delay_s, RETRY_DELAY_MAX_S))
        self._connect_at_s = now_s + pause_s

    def _rename(self, *, previous_session_id: str) -> None:
        self._opening.previous_session_id = previous_session_id
        self._opening.session_id = successor(
            self._first_session_id,
            client_instance=self._opening.client_instance,
            number=self._sessions,
        )
        self._sessions += 1


def _situation(stream: Stream) -> Situation:
    if stream.draining:
        return Situation.DRAINING
    match stream.stage:
        case Stage.OPENING:
            return Situation.OPENING
        case Stage.OPEN | Stage.LEAVING:
            return Situation.OPEN


def _of_cut(stream: Stream) -> Ending:
    match stream.stage:
        case Stage.OPENING:
            return Ending(code=UNAVAILABLE, description="no answer to open")
        case Stage.OPEN:
            return Ending(code=UNAVAILABLE, reason=SILENCE, description="turns stay unanswered")
        case Stage.LEAVING:
            return Ending(code=UNAVAILABLE, description="the half-closed stream does not end")


def _turn_bytes_max(stream: Stream, ending: Ending) -> int:
    if not _was_too_large(ending):
        return stream.turn_bytes_max
    stated = ending.message_bytes_max - ENVELOPE_BYTES
    # Without a limit, and with one that the turns were within, something between here and there
    # has a lower one: without smaller turns the same one would end every stream.
    is_news = 0 < stated < stream.turn_bytes_max
    return max(TURN_BYTES_MIN, stated if is_news else stream.turn_bytes_max // 4)


def _was_too_large(ending: Ending) -> bool:
    # gRPC itself, in the sidecar or in a proxy, gives no reason but these words.
    is_grpc_s_own = ending.code == RESOURCE_EXHAUSTED and "larger than max" in ending.description
    return ending.reason == MESSAGE_BYTES_MAX or is_grpc_s_own
