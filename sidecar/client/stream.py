"""One stream, from `open` to its end: what goes out on it, and when it counts as dead."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from sidecar.client.decision import seconds
from sidecar.client.give_ups import GiveUps
from sidecar.client.ring import Entry, Ring
from sidecar.client.shrink import shrink
from sidecar.v1 import convergence_service_pb2 as wire
from sidecar.v1 import run_pb2 as pb

# Time for one attempt to connect and open: a lost SYN is sent again after 1 s (RFC 6298).
ATTEMPT_S: Final = 3.0
# A stream that was open for this long was no failed attempt, decisions or not.
HEALTHY_S: Final = 5.0
# How long a half-closed stream may take to end: a sidecar stops within 5 s.
LEAVING_S: Final = 5.0
LEAVING_MAX_S: Final = 30.0
# An idle agent is heard of twice a minute, and at least three times within the idle time.
HEARTBEAT_S: Final = 30.0
HEARTBEATS_PER_IDLE_TTL: Final = 3
# Give-ups are told this soon: nobody scrapes an agent.
GIVE_UPS_TOLD_S: Final = 5.0
# What an ObserveRequest adds to its turn, and more: gRPC holds the limit against the whole message.
ENVELOPE_BYTES: Final = 16
# Room for a turn's measurements. A lower limit is not heeded: it would let nothing through.
TURN_BYTES_MIN: Final = 1024


class Stage(Enum):
    """How far the stream has come."""

    OPENING = auto()
    OPEN = auto()
    LEAVING = auto()
    """Half-closed, or about to be; answers may still come."""


class Lull(Enum):
    """Why there is nothing to send."""

    PAUSE = auto()
    """Nothing now."""
    END = auto()
    """Nothing more: half-close."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """What an earlier stream left behind for the next one."""

    first_available: int = 0
    """Turns before this sequence are not sent, though they are kept; 0: all are."""
    expected: int = 0
    """The sidecar asked to go on from this sequence; 0: it did not."""
    turn_bytes_max: int
    """Largest turn worth sending, whatever the sidecar says."""


class Stream:
    """Sends what the ring holds, in order; told of whatever the sidecar sends."""

    def __init__(
        self,
        *,
        number: int,
        opening: pb.Open,
        ring: Ring,
        give_ups: GiveUps,
        resumption: Resumption,
        now_s: float,
    ) -> None:
        self.number = number
        self.stage = Stage.OPENING
        self.enforcing = opening.mode != pb.MODE_OBSERVE
        self.received_s = now_s
        self.decided = False
        """Whether a turn was answered on it."""
        self.draining = False
        self.goodbye_said = False
        self.is_cut = False
        """Whether the client gave it up as dead."""
        self.hole_before = 0
        """Sequence that the sidecar is to go on from, which only another `open` can tell it."""
        self._opening = opening
        self._ring = ring
        self._give_ups = give_ups
        self._resumption = resumption
        self._first_available = max(ring.first_sequence, resumption.first_available)
        self._open_sent = False
        self._since_s = now_s
        self._held = 0
        self._next_sequence = 1
        self._cursor = 0
        self._sent_s = now_s
        self._told_s = now_s
        self._told_total = 0
        self._heartbeat_s = HEARTBEAT_S
        self.turn_bytes_max = resumption.turn_bytes_max
        self._leaving_until_s = 0.0

    def __repr__(self) -> str:
        return f"Stream({self.number}, {self.stage.name}, next={self._next_sequence})"

    # What goes out.

    def next_request(self, goodbye: pb.Close | None, now_s: float) -> wire.ObserveRequest | Lull:
        """What to send next; `goodbye` goes after the last turn."""
        match self.stage:
            case Stage.OPENING if self._open_sent:
                return Lull.PAUSE
            case Stage.OPENING:
                return self._open(now_s)
            case Stage.OPEN:
                entry = self._next_entry()
                if entry is not None:
                    return self._turn(entry, now_s)
                return self._without_turn(goodbye, now_s)
            case Stage.LEAVING:
                return Lull.END

    def _open(self, now_s: float) -> wire.ObserveRequest:
        self._open_sent = True
        opening = pb.Open()
        opening.CopyFrom(self._opening)
        opening.first_available_sequence = self._first_available
        opening.give_ups.extend(self._tell_give_ups(now_s))
        return wire.ObserveRequest(open=opening)

    def _next_entry(self) -> Entry | None:
        entry = self._ring.at_or_after(self._cursor)
        while entry is not None and not self._is_wanted(entry):
            self._cursor = entry.position + 1
            entry = self._ring.at_or_after(self._cursor)
        return entry

    def _is_wanted(self, entry: Entry) -> bool:
        if 0 < entry.sequence < self._first_available:
            return False
        if not entry.sequence or entry.sequence > self._held:
            return True
        # The sidecar holds it. If its decision was lost on the way, sending it again gets the same
        # decision again.
        lost = self.enforcing and not entry.answered
        return lost or 0 < self._resumption.expected <= entry.sequence

    def _turn(self, entry: Entry, now_s: float) -> wire.ObserveRequest | Lull:
        if not entry.sequence:
            self._ring.number(entry)
        if entry.sequence > self._next_sequence:
            # Turns have fallen out of the ring since `open` said which was the first.
            self.hole_before = entry.sequence
            return self._leave(now_s + LEAVING_S)
        if entry.bytes > self.turn_bytes_max:
            shrink(entry.turn, self.turn_bytes_max)
            self._ring.resized(entry)
        self._next_sequence = max(self._next_sequence, entry.sequence + 1)
        self._cursor = entry.position + 1
        self._sent_s = entry.sent_s = now_s
        entry.stream = self.number
        return wire.ObserveRequest(turn=entry.turn)

    def _without_turn(self, goodbye: pb.Close | None, now_s: float) -> wire.ObserveRequest | Lull:
        if now_s >= self.heartbeat_at_s or (goodbye is not None and self._untold):
            self._sent_s = now_s
            told = self._tell_give_ups(now_s)
            return wire.ObserveRequest(heartbeat=wire.Heartbeat(give_ups=told))
        if goodbye is None:
            return Lull.PAUSE
        self.goodbye_said = True
        # At once: a report that comes while it goes out must not put anything after it.
        self._leave(now_s + LEAVING_S)
        return wire.ObserveRequest(close=goodbye)

    def _leave(self, until_s: float) -> Lull:
        self.stage = Stage.LEAVING
        self._leaving_until_s = until_s
        return Lull.END

    def _tell_give_ups(self, now_s: float) -> list[pb.GiveUp]:
        counts = self._give_ups.by_reason()
        self._told_s, self._told_total = now_s, sum(counts.values())
        return [pb.GiveUp(reason=name, count=count) for name, count in counts.items() if count]

    @property
    def _untold(self) -> bool:
        return self._give_ups.total > self._told_total

    @property
    def heartbeat_at_s(self) -> float:
        """When the next sign of life is due."""
        due_s = self._sent_s + self._heartbeat_s
        return min(due_s, self._told_s + GIVE_UPS_TOLD_S) if self._untold else due_s

    @property
    def has_sent_all(self) -> bool:
        """Whether it is open and every turn that it is to carry has been sent."""
        return self.stage is Stage.OPEN and self._next_entry() is None

    # What comes in.

    def opened(self, opened: wire.Opened, now_s: float) -> None:
        """The sidecar answered `open`. Raises ValueError for a sequence that cannot be."""
        if self.stage is not Stage.OPENING:
            return
        self._ring.skip_to(opened.last_sequence)
        self.stage = Stage.OPEN
        self._since_s = now_s
        self._held = opened.last_sequence
        self._next_sequence = max(self._held + 1, self._first_available)
        idle_ttl_s = seconds(opened.idle_ttl)
        if idle_ttl_s > 0:
            self._heartbeat_s = min(HEARTBEAT_S, max(1.0, idle_ttl_s / HEARTBEATS_PER_IDLE_TTL))
        if opened.turn_bytes_max:
            stated = max(opened.turn_bytes_max - ENVELOPE_BYTES, TURN_BYTES_MIN)
            self.turn_bytes_max = min(self.turn_bytes_max, stated)

    def drains(self, draining: wire.Draining, now_s: float) -> None:
        """The sidecar is about to stop: half-close, so that it can."""
        if self.stage is not Stage.LEAVING:
            self.draining = True
            self._leave(now_s + min(seconds(draining.grace) or LEAVING_S, LEAVING_MAX_S))

    # Its end.

    def dead_at_s(self, silence_ends_s: float) -> float:
        """When it counts as dead if nothing comes; `silence_ends_s` holds for one that is open."""
        match self.stage:
            case Stage.OPENING:
                return self._since_s + ATTEMPT_S
            case Stage.OPEN:
                return silence_ends_s
            case Stage.LEAVING:
                return self._leaving_until_s

    def was_healthy(self, now_s: float) -> bool:
        """Whether it was more than a failed attempt."""
        lasted = self.stage is not Stage.OPENING and now_s - self._since_s >= HEALTHY_S
        return self.decided or lasted
