"""P3 as a state machine: whatever happens between an agent and its sidecar, every turn is decided
once, as if nothing had happened."""

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sidecar.core.directive import Decision
from sidecar.core.opening import Opening
from sidecar.core.run import Run
from sidecar.core.turn import ToolCall, Turn
from sidecar.core.value import replace
from sidecar.nowhere import NoKeeper
from sidecar.policies import Policies
from sidecar.presets import preset
from sidecar.refusal import Reason, Refusal
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import SessionBounds, Sessions
from sidecar.testing import FakeClock, MemoryRecorder, MemoryStore

POLICY = preset("default")
CALLS = 3
"""Few different calls, so that runs loop, warn and trip."""


class Nobody:
    """Where an agent would listen."""

    def __init__(self) -> None:
        self.ended: Refusal | None = None

    def send(self, decision: Decision) -> None:
        raise AssertionError(f"nobody asked: {decision}")

    def drain(self) -> None:
        raise AssertionError("nobody drains")

    def end(self, refusal: Refusal) -> None:
        self.ended = refusal


def turn(sequence: int, which: int) -> Turn:
    call = ToolCall(name="tool", call=bytes([which]) * 8, result=bytes([which]) * 8)
    return Turn(sequence=sequence, tool_calls=(call,))


def told(decision: Decision) -> Decision:
    """Without what no agent is told, and so is not kept for one that asks again."""
    return replace(decision, below=())


class OneRun(RuleBasedStateMachine):
    """An agent that keeps its turns, a sidecar that crashes, and a model that folds."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.recorder = MemoryRecorder()
        self.store = MemoryStore(lost=self.recorder.lost)
        self.sent: list[tuple[Turn, bytes]] = []
        self.heard: dict[int, Decision] = {}
        self.model = Run.start("s", POLICY)
        self.expected: list[Decision] = []
        self.sessions = self._fresh()
        self.session: Session | None = None
        self.outbox = Nobody()

    def _fresh(self) -> Sessions:
        return Sessions(
            policies=Policies(by_name={"default": POLICY}),
            bounds=SessionBounds(sessions_max=2),
            clock=self.clock,
            journal=self.store,
            snapshots=self.store,
            recorder=self.recorder,
            keeper=NoKeeper(),
        )

    def _send(self, index: int) -> None:
        assert self.session is not None
        event, content = self.sent[index]
        decision = told(self.sessions.turn(self.session, event, content))
        assert self.heard.setdefault(event.sequence, decision) == decision

    @precondition(lambda self: self.session is None)
    @rule()
    def connect(self) -> None:
        self.outbox = Nobody()
        self.session, _ = self.sessions.open(Opening(session_id="s"), self.outbox)
        for index in range(self.session.last_sequence, len(self.sent)):
            self._send(index)

    @precondition(lambda self: self.session is not None)
    @rule(which=st.integers(0, CALLS - 1))
    def take_a_turn(self, which: int) -> None:
        sequence = len(self.sent) + 1
        event = turn(sequence, which)
        self.sent.append((event, bytes([which]) * 8))
        self.model, decision = self.model.advance(event)
        self.expected.append(told(decision))
        self._send(sequence - 1)

    @rule(which=st.integers(0, CALLS - 1))
    def take_a_turn_that_is_lost_on_the_way(self, which: int) -> None:
        sequence = len(self.sent) + 1
        event = turn(sequence, which)
        self.sent.append((event, bytes([which]) * 8))
        self.model, decision = self.model.advance(event)
        self.expected.append(told(decision))
        self.disconnect()

    @precondition(lambda self: self.session is not None and self.sent)
    @rule(data=st.data())
    def send_again(self, data: Any) -> None:
        self._send(data.draw(st.integers(0, len(self.sent) - 1)))

    @precondition(lambda self: self.session is not None and self.sent)
    @rule(data=st.data())
    def send_something_else_under_an_old_number(self, data: Any) -> None:
        assert self.session is not None
        index = data.draw(st.integers(0, len(self.sent) - 1))
        with pytest.raises(Refusal) as refused:
            self.sessions.turn(self.session, self.sent[index][0], b"\xff" * 8)
        assert refused.value.reason is Reason.SEQUENCE_CONFLICT

    @precondition(lambda self: self.session is not None)
    @rule(ahead=st.integers(2, 5))
    def send_out_of_order(self, ahead: int) -> None:
        assert self.session is not None
        with pytest.raises(Refusal) as refused:
            self.sessions.turn(self.session, turn(len(self.sent) + ahead, 0), bytes(8))
        assert refused.value.reason is Reason.SEQUENCE_GAP
        assert refused.value.metadata["expected"] == str(len(self.sent) + 1)

    @rule()
    def disconnect(self) -> None:
        if self.session is not None:
            self.sessions.detach(self.session, self.outbox)
        self.session = None

    @precondition(lambda self: self.session is not None)
    @rule()
    def be_taken_over(self) -> None:
        assert self.session is not None
        newer = Nobody()
        self.session, _ = self.sessions.open(Opening(session_id="s"), newer)
        assert self.outbox.ended is not None
        assert self.outbox.ended.reason is Reason.SESSION_TAKEN_OVER
        self.outbox = newer

    @rule(writes=st.integers(0, 6))
    def crash(self, writes: int) -> None:
        """The sidecar dies with the last writes not on disk; another starts over the rest."""
        self.store = self.store.after_crash(writes_lost=writes)
        self.sessions = self._fresh()
        self.session = None

    @rule()
    def make_room(self) -> None:
        """Other sessions come and push this one out of memory, when nobody listens on it."""
        for name in ("x", "y"):
            # At most one session is attached here, and two are held, so there is always room.
            self.sessions.open(Opening(session_id=name), None)

    @invariant()
    def every_answer_is_the_model_s(self) -> None:
        for sequence, decision in self.heard.items():
            assert decision == self.expected[sequence - 1]


OneRun.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestOneRun = OneRun.TestCase
