"""Turns out, decisions in: the whole client but for its I/O. Start reading here.

A caller reports a turn, waits as long as `awaits` says, and collects a directive; meanwhile a shell
(`threads`, `tasks`) makes streams when `line.pause_s` says so, sends what `next_request` gives and
hands in what arrives. Nothing here blocks, reads a clock or knows about gRPC.
"""

from collections.abc import Callable

from sidecar.client.decision import directive_of, is_unasked
from sidecar.client.directive import Directive, Reason
from sidecar.client.give_ups import GiveUps
from sidecar.client.held import Held
from sidecar.client.line import Line, Phase
from sidecar.client.patience import Patience
from sidecar.client.refusal import Course, Ending
from sidecar.client.ring import TURNS_MAX, Entry, Ring
from sidecar.client.stream import Lull, Stage, Stream
from sidecar.v1 import convergence_service_pb2 as wire
from sidecar.v1 import run_pb2 as pb

# A sidecar that restarts is back within 6 s (5 to stop, 1 to be ready); one that stays away for
# longer will not bring a person's answer.
OPERATOR_OUTAGE_MAX_S = 10.0
# When nobody has spoken in time the sidecar says so, and it looks once a second whether time is up.
LAST_WORD_S = 2.5


class Exchange:
    """The state of one client. Not safe to use from several threads at once."""

    def __init__(
        self,
        *,
        opening: pb.Open,
        timeout_s: float,
        give_ups: GiveUps,
        random: Callable[[], float],
        turns_max: int = TURNS_MAX,
    ) -> None:
        self._ring = Ring(turns_max=turns_max)
        self._held = Held()
        self._patience = Patience(timeout_s=timeout_s)
        self._give_ups = give_ups
        self.enforcing = opening.mode != pb.MODE_OBSERVE
        """Whether turns are answered."""
        self._seen = 0
        self._person_until_s: float | None = None
        self._down_since_s: float | None = None
        self.line = Line(opening=opening, ring=self._ring, give_ups=give_ups, random=random)

    def __repr__(self) -> str:
        return f"Exchange({self.line}, {self._ring}, {self._patience}, {self._held})"

    # The caller's side.

    def report(self, turn: pb.Turn) -> Entry:
        """Takes a turn to be sent; its answer is to be awaited and collected, or abandoned."""
        if self._is_over:
            return Entry(turn=turn, position=0, bytes=0)
        turn.directive_seen = self._seen
        return self._ring.add(turn)

    def awaits(self, entry: Entry) -> bool:
        """Whether waiting for the turn's decision can help."""
        if entry.answered or not self.enforcing or self._patience.spent or self._is_over:
            return False
        stream = self.line.stream
        if stream is None:
            return self.line.outage is None
        match stream.stage:
            case Stage.OPENING | Stage.OPEN:
                return True
            case Stage.LEAVING:
                return entry.stream == stream.number or stream.hole_before > 0

    def collect(self, entry: Entry, *, now_s: float) -> Directive:
        """What the agent is to do now, whether the turn's decision has come or not."""
        own, entry.decision = entry.decision, None
        entry.given_up = True
        reason = None if own is not None else self._give_up()
        # A run that has its answer is not told to change course.
        best = own if entry.turn.final_answer else self._held.strongest(own)
        late = best is not None and best is not own and not is_unasked(best)
        return self._hand_over(best, late=late, reason=reason, now_s=now_s)

    def abandon(self, entry: Entry) -> None:
        """The caller was torn away: what answers the turn goes with the next report."""
        if entry.given_up:
            return
        entry.given_up = True
        if entry.decision is not None:
            self._held.add(entry.decision)

    def _give_up(self) -> Reason | None:
        reason = self._trouble()
        if reason is not None:
            self._give_ups.count(reason)
            if self.enforcing:  # where nothing is answered, silence says nothing
                self._patience.missed()
        return reason

    def _trouble(self) -> Reason | None:
        outage = self.line.outage
        if self.line.goodbye is not None:
            return Reason.INTERNAL  # a report after the end
        if not self.enforcing:
            return None if outage is None else outage.reason
        stream = self.line.stream
        if stream is not None and stream.stage is Stage.OPEN:
            return Reason.TIMEOUT
        if stream is not None and stream.draining:
            return Reason.DRAINING
        return Reason.CONNECT if outage is None else outage.reason

    def _hand_over(
        self, decision: pb.Decision | None, *, late: bool, reason: Reason | None, now_s: float
    ) -> Directive:
        self._person_until_s = None
        if decision is None:
            return Directive(fail_open_reason=reason)
        self._seen = max(self._seen, decision.sequence)
        directive = directive_of(decision, late=late, reason=reason)
        if directive.wait_max_s is not None:
            self._person_until_s = now_s + directive.wait_max_s
        return directive

    # Waiting for a person.

    def operator_awaited_until_s(self) -> float:
        """Until when to wait for what no turn asked for; -inf: it is here, or none is expected."""
        if self._person_until_s is None or self._held.has_unasked or self._is_over:
            return float("-inf")
        until_s = self._person_until_s + LAST_WORD_S
        if self._down_since_s is not None:
            until_s = min(until_s, self._down_since_s + OPERATOR_OUTAGE_MAX_S)
        return until_s

    def collect_operator(self, *, now_s: float) -> Directive:
        """What a person, or the end of the time, had to say; a proceed if nothing came."""
        decision = self._held.strongest_unasked()
        reason = None
        if decision is None and self._person_until_s is not None:
            reason = self._trouble() or Reason.TIMEOUT
            self._give_ups.count(reason)
        return self._hand_over(decision, late=False, reason=reason, now_s=now_s)

    # The end of the run.

    def close(self, goodbye: pb.Close) -> None:
        """The run is over; the goodbye goes after its last turn."""
        if not self._is_over:
            self.line.goodbye = goodbye

    @property
    def goodbye_s(self) -> float:
        """How long to wait for the goodbye to be heard, unless the caller says."""
        return self._patience.goodbye_s

    @property
    def awaits_goodbye(self) -> bool:
        """Whether waiting for the goodbye to be heard can help."""
        if self.line.phase is Phase.STOPPED:
            return False
        if self.line.is_renewing or self.line.is_reopening:
            return True  # whoever asks for another session, or is told of a hole, is there
        stream = self.line.stream
        if stream is None:
            return self.line.outage is None
        # Whoever has opened one is there too, whatever turns have missed.
        return stream.stage is not Stage.OPENING or not self._patience.spent

    @property
    def settled(self) -> bool:
        """Whether the sidecar has answered every turn kept or, in observe mode, was sent it."""
        stream = self.line.stream
        if stream is None or not stream.has_sent_all:
            return False
        return not self.enforcing or all(entry.answered for entry in self._ring)

    @property
    def _is_over(self) -> bool:
        return self.line.goodbye is not None or self.line.phase is Phase.STOPPED

    # The stream's side.

    def next_request(self, number: int, *, now_s: float) -> wire.ObserveRequest | Lull:
        """What to send next on the stream of that number."""
        stream = self.line.current(number)
        return Lull.END if stream is None else stream.next_request(self.line.goodbye, now_s)

    def wants(self, number: int) -> bool:
        """Whether the stream of that number is of any use."""
        stream = self.line.current(number)
        return stream is not None and not stream.is_cut

    def received(self, number: int, response: wire.ObserveResponse, *, now_s: float) -> None:
        """The stream of that number brought this. Raises ValueError for nonsense in `opened`."""
        stream = self.line.current(number)
        if stream is None:
            return
        stream.received_s = now_s
        match response.WhichOneof("message"):
            case "opened":
                stream.opened(response.opened, now_s)
                self._down_since_s = None
                if not self.enforcing:
                    self.line.outage = None
            case "decision":
                self._decided(stream, response.decision, now_s)
            case "draining":
                stream.drains(response.draining, now_s)
            case None:
                pass  # a message of a later version

    def _decided(self, stream: Stream, decision: pb.Decision, now_s: float) -> None:
        if is_unasked(decision):
            self._held.add_unasked(decision)
            return
        entry = self._ring.find(decision.sequence)
        if entry is None or entry.stream != stream.number:
            return  # an answer to nothing that was asked
        self.line.decided(stream)
        self._patience.answered(after_s=now_s - entry.sent_s)
        if entry.answered:
            return  # sent again for the sidecar's sake, which had lost it
        entry.answered = True
        if not entry.given_up:
            entry.decision = decision
        elif self.enforcing:
            self._held.add(decision)

    def ended(self, number: int, ending: Ending, *, now_s: float) -> None:
        """The stream of that number is over."""
        stream = self.line.current(number)
        if stream is None:
            return
        if self._down_since_s is None:
            self._down_since_s = now_s
        match self.line.ended(stream, ending, now_s):
            case Course.REPLAY_IN_NEW_SESSION:
                self._change_session(self._ring.begin_again())
            case Course.GO_ON_IN_NEW_SESSION:
                self._person_until_s = None  # in the new session nobody was asked
                self._change_session(self._ring.begin_with_unanswered())
            case Course.RETRY_SOON | Course.RETRY_LATER | Course.STOP:
                pass

    def _change_session(self, numbers_fell_by: int) -> None:
        self._seen = max(0, self._seen - numbers_fell_by)
        self._held.part()

    def look_again_at_s(self, number: int) -> float:
        """When the stream of that number needs a look though nothing has happened."""
        stream = self.line.current(number)
        if stream is None:
            return float("-inf")
        dead_at_s = stream.dead_at_s(self._silence_ends_s(stream))
        match stream.stage:
            case Stage.OPEN:
                return min(dead_at_s, stream.heartbeat_at_s)
            case Stage.OPENING | Stage.LEAVING:
                return dead_at_s

    def gives_up_stream(self, *, now_s: float) -> bool:
        """Whether the stream in use counts as dead; then it is to be cancelled, once."""
        stream = self.line.stream
        if stream is None or stream.is_cut:
            return False
        stream.is_cut = now_s >= stream.dead_at_s(self._silence_ends_s(stream))
        if stream.is_cut and stream.stage is Stage.OPEN:
            self._patience.cut()
        return stream.is_cut

    def _silence_ends_s(self, stream: Stream) -> float:
        if not self._patience.spent:
            return float("inf")
        in_flight = (
            entry.sent_s
            for entry in self._ring
            if entry.stream == stream.number and not entry.answered
        )
        since_s = max(min(in_flight, default=float("inf")), stream.received_s)
        return since_s + self._patience.silence_max_s()
