"""For any schedule of faults: nothing raises, every turn gets a directive, turns go in order and
without a gap, and once the faults are over the sidecar has every turn.

The exchange is driven without I/O, by random events, against a sidecar of a few lines.
"""

from collections import deque
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sidecar.client.directive import Directive, Kind
from sidecar.client.exchange import LAST_WORD_S
from sidecar.client.ring import Entry
from sidecar.client.stream import Lull
from sidecar.v1 import convergence_service_pb2 as wire
from sidecar.v1 import run_pb2 as pb
from tests.edges.exchanges import Talk

DIRECTIVES: tuple[dict[str, Any], ...] = (
    {},
    {"proceed": pb.Proceed()},
    {"proceed": pb.Proceed(notice="80 % of the budget")},
    {"rotate": pb.Rotate(instruction="r")},
    {"rotate": pb.Rotate(instruction="w", wait_max={"seconds": 60})},
    {"commit": pb.Commit(instruction="c")},
    {"halt": pb.Halt(reason="h")},
)
BREAKS = st.sampled_from([0, 1, 2, 4, 6, 7, 8, 12, 13, 14, 15, 16])


class Held:
    """What the sidecar holds of one session."""

    def __init__(self) -> None:
        self.tags: dict[int, str] = {}
        self.last = 0
        self.closed = False


class HonestSidecar(RuleBasedStateMachine):
    """Keeps the protocol, but breaks, forgets, delays and drains as it likes."""

    turns_max = 256

    def __init__(self) -> None:
        super().__init__()
        self.talk = Talk(turns_max=self.turns_max)
        self.sessions: dict[str, Held] = {}
        self.session = Held()
        self.opened = False
        self.half_closed = False
        self.in_flight: deque[wire.ObserveResponse] = deque()
        self.waiting: deque[Entry] = deque()
        self.reported = 0
        self.told: set[str] = set()
        self.handed_over: set[str] = set()
        self.forgot = False
        self.returned = 0
        self.reasons = 0
        self.counted = 0

    # The agent.

    @precondition(lambda self: self.reported < 200)
    @rule(turns=st.integers(1, 6))
    def report(self, turns: int) -> None:
        for _ in range(turns):
            self.reported += 1
            entry = self.talk.report(id=f"t{self.reported}")
            assert entry.turn.directive_seen <= self.returned
            self.waiting.append(entry)

    @precondition(lambda self: self.waiting)
    @rule(turns=st.integers(1, 6))
    def collect(self, turns: int) -> None:
        for _ in range(min(turns, len(self.waiting))):
            self.take(self.talk.collect(self.waiting.popleft()))

    @precondition(lambda self: self.opened and self.reported < 200)
    @rule(directive=st.sampled_from(DIRECTIVES))
    def turn(self, directive: dict[str, Any]) -> None:
        """A turn as it goes when nothing is wrong."""
        self.report(1)
        self.send(1000, directive)
        self.deliver(1000)
        self.collect(1000)

    @precondition(lambda self: self.waiting)
    @rule()
    def abandon(self) -> None:
        self.talk.exchange.abandon(self.waiting.pop())

    @rule()
    def ask_a_person(self) -> None:
        self.take(self.talk.exchange.collect_operator(now_s=self.talk.now_s))

    def take(self, directive: Directive) -> None:
        assert directive.kind in Kind
        self.reasons += directive.fail_open_reason is not None
        if directive.decision is None:
            return
        self.returned = max(self.returned, directive.decision.sequence)
        answers = directive.decision.decision_id
        assert answers not in self.handed_over, "a decision on a turn is handed over once"
        self.handed_over |= {answers} - {""}

    # The wire.

    @precondition(lambda self: self.is_paused)
    @rule()
    def reconnect(self) -> None:
        """An attempt as it goes when nothing is wrong."""
        self.connect()
        self.deliver(1)

    @precondition(lambda self: self.is_paused)
    @rule()
    def connect(self) -> None:
        talk = self.talk
        talk.now_s += talk.exchange.line.pause_s(talk.now_s) or 0.0
        talk.number = talk.exchange.line.begin(talk.now_s)
        self.opened, self.half_closed = False, False
        self.in_flight.clear()
        request = talk.step()
        assert isinstance(request, wire.ObserveRequest)
        assert request.WhichOneof("message") == "open"
        self.open(request.open)

    @property
    def is_paused(self) -> bool:
        return self.talk.exchange.line.pause_s(self.talk.now_s) is not None

    def open(self, opening: pb.Open) -> None:
        self.session = self.sessions.setdefault(opening.session_id, Held())
        if self.session.closed:
            self.talk.end(9, "SESSION_CLOSED")
            return
        self.session.last = max(self.session.last, opening.first_available_sequence - 1)
        opened = wire.Opened(last_sequence=self.session.last)
        self.in_flight.append(wire.ObserveResponse(opened=opened))

    @rule(at_most=st.integers(1, 30), directive=st.sampled_from(DIRECTIVES))
    def send(self, at_most: int, directive: dict[str, Any]) -> None:
        for _ in range(at_most):
            step = self.talk.step()
            if isinstance(step, Lull):
                self.half_closed = self.half_closed or step is Lull.END
                return
            assert not self.half_closed, "nothing follows a half-close"
            self.receive(step, directive)

    def receive(self, request: wire.ObserveRequest, directive: dict[str, Any]) -> None:
        assert self.opened, "nothing but open comes before its answer"
        assert request.WhichOneof("message") in ("turn", "heartbeat")
        if not request.HasField("turn"):
            return
        turn, session = request.turn, self.session
        assert turn.sequence <= session.last + 1, "no gap"
        assert session.tags.setdefault(turn.sequence, turn.id) == turn.id, "no conflict"
        session.last = max(session.last, turn.sequence)
        self.told.add(turn.id)
        decision = pb.Decision(
            decision_id=turn.id, sequence=turn.sequence, cause=pb.CAUSE_TURN, **directive
        )
        self.in_flight.append(wire.ObserveResponse(decision=decision))

    @precondition(lambda self: self.in_flight)
    @rule(at_most=st.integers(1, 30))
    def deliver(self, at_most: int) -> None:
        for _ in range(min(at_most, len(self.in_flight))):
            response = self.in_flight.popleft()
            self.opened = self.opened or response.HasField("opened")
            self.talk.say(response)

    @rule(cause=st.sampled_from([pb.CAUSE_OPERATOR, pb.CAUSE_IDLE]), which=st.integers(0, 6))
    def speak_unasked(self, cause: "pb.Cause", which: int) -> None:
        if self.opened:
            self.talk.decide(self.session.last, cause, **DIRECTIVES[which])

    @precondition(lambda self: self.opened)
    @rule()
    def drain(self) -> None:
        self.talk.drain()

    # Faults.

    @rule(seconds=st.floats(0, 40))
    def time_passes(self, seconds: float) -> None:
        self.talk.now_s += seconds
        if self.talk.exchange.gives_up_stream(now_s=self.talk.now_s):
            self.talk.end(1)

    @precondition(lambda self: not self.is_paused)
    @rule(code=BREAKS, retry_delay_s=st.floats(0, 5))
    def break_off(self, code: int, retry_delay_s: float) -> None:
        self.talk.end(code, retry_delay_s=retry_delay_s)

    @precondition(lambda self: self.opened)
    @rule()
    def restart_without_memory(self) -> None:
        self.forgot = True
        for session in self.sessions.values():
            if not session.closed:
                session.tags.clear()
                session.last = 0
        self.talk.end(14)

    @precondition(lambda self: self.is_paused and self.sessions and not self.forgot)
    @rule(turns=st.integers(1, 5))
    def another_process_adds_turns(self, turns: int) -> None:
        for _ in range(turns):
            self.session.last += 1
            self.session.tags[self.session.last] = "another's"

    @precondition(lambda self: self.opened and len(self.sessions) < 3)
    @rule()
    def close_by_operator(self) -> None:
        self.session.closed = True
        self.talk.end(9, "SESSION_CLOSED")

    # What holds.

    @invariant()
    def give_ups_are_counted_and_never_fall(self) -> None:
        total = self.talk.give_ups.total
        assert total == self.reasons
        assert total >= self.counted
        self.counted = total

    def teardown(self) -> None:
        """The faults are over: the sidecar gets all that is kept, and every turn an answer."""
        for _ in range(20):
            if self.is_paused:
                self.connect()
            for _ in range(3):
                self.send(1000, {})
                self.deliver(1000)
            if self.talk.exchange.settled:
                break
            if self.half_closed:
                self.talk.end(0)
        assert self.talk.exchange.settled, self.talk.exchange
        reported = [f"t{number + 1}" for number in range(self.reported)]
        kept = reported[-self.turns_max :]
        assert self.told >= set(kept)
        if len(self.sessions) == 1:
            tags = [self.session.tags[sequence] for sequence in sorted(self.session.tags)]
            assert [tag for tag in tags if tag in kept] == kept
        while self.waiting:
            self.collect(1000)


class HonestSidecarOfAForgetfulAgent(HonestSidecar):
    """As above, with a client that keeps so few turns that some are always lost.

    Nobody else uses its session: a client that has forgotten a turn cannot tell its own number
    from another's, and two that share a session are told so by SEQUENCE_CONFLICT.
    """

    turns_max = 4
    another_process_adds_turns = None  # type: ignore[assignment]


SCHEDULES = settings(
    max_examples=100, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
)
TestHonestSidecar = HonestSidecar.TestCase
TestHonestSidecar.settings = SCHEDULES
TestForgetfulAgent = HonestSidecarOfAForgetfulAgent.TestCase
TestForgetfulAgent.settings = SCHEDULES

SEQUENCES = st.integers(0, 2**32 - 1) | st.integers(0, 12)
DECISIONS = st.builds(
    lambda sequence, cause, directive, unknown: _with_unknown(
        pb.Decision(sequence=sequence, cause=cause, **directive), unknown
    ),
    SEQUENCES,
    st.sampled_from([0, 1, 2, 3, 9]),
    st.sampled_from(DIRECTIVES),
    st.booleans(),
)
RESPONSES = st.one_of(
    st.builds(lambda decision: wire.ObserveResponse(decision=decision), DECISIONS),
    st.builds(
        lambda last, limit, ttl: wire.ObserveResponse(
            opened=wire.Opened(last_sequence=last, turn_bytes_max=limit, idle_ttl={"seconds": ttl})
        ),
        SEQUENCES,
        st.integers(0, 2**32 - 1),
        st.integers(-(2**62), 2**62),
    ),
    st.builds(
        lambda grace: wire.ObserveResponse(draining=wire.Draining(grace={"seconds": grace})),
        st.integers(-(2**62), 2**62),
    ),
    st.just(wire.ObserveResponse()),
)
ENDINGS = st.builds(
    lambda code, reason, expected, delay_s: (code, reason, expected, delay_s),
    st.integers(-1, 20),
    st.sampled_from(
        [
            "",
            "OPEN_MISMATCH",
            "SEQUENCE_GAP",
            "SEQUENCE_CONFLICT",
            "SESSION_CLOSED",
            "SESSION_NOT_FOUND",
            "STREAMS_MAX",
            "MESSAGE_BYTES_MAX",
            "DRAINING",
            "LATER",
        ]
    ),
    SEQUENCES,
    st.floats(0, 1e18),
)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("turn"), st.none()),
        st.tuples(st.just("report"), st.none()),
        st.tuples(st.just("person"), st.none()),
        st.tuples(st.just("connect"), st.none()),
        st.tuples(st.just("send"), st.none()),
        st.tuples(st.just("say"), RESPONSES),
        st.tuples(st.just("end"), ENDINGS),
        st.tuples(st.just("wait"), st.floats(0, 1e6)),
        st.tuples(st.just("close"), st.none()),
    ),
    max_size=60,
)


def _with_unknown(decision: pb.Decision, unknown: bool) -> pb.Decision:
    if unknown:
        decision.MergeFromString(b"\xa2\x06\x02hi")  # field 100, which no version has yet
    return decision


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([pb.MODE_ENFORCE, pb.MODE_OBSERVE]), st.sampled_from([0.0, 0.2, 60.0]), EVENTS
)
def test_whatever_a_sidecar_says_every_turn_gets_a_directive(
    mode: "pb.Mode", timeout_s: float, events: list[tuple[str, Any]]
) -> None:
    talk = Talk(mode=mode, timeout_s=timeout_s)
    for kind, content in events:
        happen(talk, kind, content)
    assert talk.miss().kind in Kind


def happen(talk: Talk, kind: str, content: Any) -> None:
    exchange = talk.exchange
    match kind:
        case "turn":
            assert talk.miss().kind in Kind
        case "report":
            talk.report()
        case "person":
            assert exchange.operator_awaited_until_s() <= talk.now_s + 86_400 + LAST_WORD_S
            assert exchange.collect_operator(now_s=talk.now_s).kind in Kind
        case "connect" if exchange.line.pause_s(talk.now_s) is not None:
            talk.connect()
        case "send":
            assert len(talk.sent()) <= 256 + 3
        case "say":
            try:
                talk.say(content)
            except ValueError:  # a sequence that cannot be, which ends the stream
                talk.end(2, "CLIENT_FAULT")
        case "end":
            code, reason, expected, delay_s = content
            talk.end(
                code,
                reason,
                expected=expected,
                message_bytes_max=expected,
                retry_delay_s=delay_s,
            )
        case "wait":
            talk.now_s += content
            if exchange.gives_up_stream(now_s=talk.now_s):
                talk.end(1)
        case "close":
            exchange.close(pb.Close())
