"""What stands around the fold: how runs begin, what bounds them, and waits for a person."""

from dataclasses import dataclass, field, replace

import pytest

from sidecar.core.breaker import State
from sidecar.core.directive import (
    PROCEED,
    Action,
    Cause,
    Commit,
    Decision,
    Halt,
    Rejection,
    Rotate,
)
from sidecar.core.limits import Limits
from sidecar.core.opening import Closing, Continue, Mode, Opening, Reset
from sidecar.core.reading import Severity
from sidecar.core.turn import Turn
from sidecar.nowhere import NoKeeper
from sidecar.policies import Policies
from sidecar.ports import Rejected
from sidecar.presets import preset
from sidecar.refusal import Reason, Refusal
from sidecar.sessions.session import REQUESTS_MAX, TURN_IDS_MAX, Session
from sidecar.sessions.sessions import SessionBounds, Sessions
from sidecar.testing import FakeClock, MemoryRecorder, MemoryStore
from sidecar.testing.recorder import WasClosed, WasDecided, WereHeld
from tests.core.scripted import FOUNDING

PAUSING = replace(
    FOUNDING,
    name="pausing",
    on={Severity.WARNING: Action.PAUSE, Severity.BREAK: Action.COMMIT},
    revision="",
)
WAIT_MAX_S = PAUSING.staging.wait_max_s


@dataclass(slots=True)
class Listening:
    """An agent's end of a stream."""

    heard: list[Decision] = field(default_factory=list)

    def send(self, decision: Decision) -> None:
        self.heard.append(decision)

    def drain(self) -> None:
        raise AssertionError("nobody drains here")

    def end(self, refusal: Refusal) -> None:
        raise AssertionError(refusal)


@dataclass(slots=True)
class Around:
    """Sessions, and what they stand on; `sessions()` again is a restart."""

    ceiling: Limits = field(default_factory=Limits)
    default: str = "default"
    clock: FakeClock = field(default_factory=FakeClock)
    recorder: MemoryRecorder = field(default_factory=MemoryRecorder)
    store: MemoryStore = field(init=False)

    def __post_init__(self) -> None:
        self.store = MemoryStore(lost=self.recorder.lost)

    def sessions(self) -> Sessions:
        policies = {name: preset(name) for name in ("default", "gaia", "debug")}
        return Sessions(
            policies=Policies(
                by_name={**policies, "pausing": PAUSING}, default=self.default, ceiling=self.ceiling
            ),
            bounds=SessionBounds(),
            clock=self.clock,
            journal=self.store,
            snapshots=self.store,
            recorder=self.recorder,
            keeper=NoKeeper(),
        )


def warned(
    sessions: Sessions, listening: Listening | None, *, mode: Mode = Mode.ENFORCE
) -> tuple[Session, Decision]:
    """A run whose first turn is answered with a wait for a person."""
    opening = Opening(session_id="s", policy="pausing", mode=mode)
    session, _ = sessions.open(opening, listening)
    return session, sessions.turn(session, Turn(sequence=1, id="aw"), bytes(8))


def test_when_nobody_decides_in_time_the_waiting_agent_is_halted_once() -> None:
    around, listening = Around(), Listening()
    sessions = around.sessions()
    warned(sessions, listening)
    around.clock.advance(WAIT_MAX_S - 1)
    sessions.sweep()
    assert listening.heard == []

    around.clock.advance(1)
    sessions.sweep()
    sessions.sweep()

    assert [decision.cause for decision in listening.heard] == [Cause.IDLE]
    assert isinstance(listening.heard[0].directive, Halt)


def test_a_halt_names_the_run_as_one_word_of_a_shell() -> None:
    around, listening = Around(), Listening()
    sessions = around.sessions()
    opening = Opening(session_id="-a b; reboot", policy="pausing")
    session, _ = sessions.open(opening, listening)
    sessions.turn(session, Turn(sequence=1, id="aw"), bytes(8))
    around.clock.advance(WAIT_MAX_S)
    sessions.sweep()

    (halted,) = listening.heard
    assert isinstance(halted.directive, Halt)
    assert "`sidecar explain -- '-a b; reboot'`" in halted.directive.reason


def test_a_decision_by_a_person_ends_the_wait() -> None:
    around, listening = Around(), Listening()
    sessions = around.sessions()
    session, _ = warned(sessions, listening)
    sessions.command(session, Continue(reason="go on"))
    around.clock.advance(WAIT_MAX_S)
    sessions.sweep()

    assert [decision.cause for decision in listening.heard] == [Cause.OPERATOR]


def test_a_wait_outlives_a_restart() -> None:
    around, listening = Around(), Listening()
    warned(around.sessions(), Listening())
    sessions = around.sessions()
    sessions.open(Opening(session_id="s", policy="pausing"), listening)
    around.clock.advance(WAIT_MAX_S)
    sessions.sweep()

    assert [decision.cause for decision in listening.heard] == [Cause.IDLE]


def test_an_agent_that_is_only_observed_does_not_wait_and_is_not_halted() -> None:
    around, listening = Around(), Listening()
    sessions = around.sessions()
    session, decision = warned(sessions, listening, mode=Mode.OBSERVE)
    around.clock.advance(WAIT_MAX_S)
    sessions.sweep()

    assert isinstance(decision.directive, Rotate)
    assert listening.heard == []
    assert sessions.without_waiting(session, decision) == decision


def test_a_caller_that_cannot_wait_is_halted_and_hears_the_same_when_it_asks_again() -> None:
    sessions = Around().sessions()
    session, decision = warned(sessions, None)
    halt = sessions.without_waiting(session, decision)
    entries = session.entries
    repeat = sessions.turn(session, Turn(sequence=1, id="aw"), bytes(8))

    assert isinstance(halt.directive, Halt)
    assert (
        "who reports without a stream cannot wait, so the run is stopped" in halt.directive.reason
    )
    assert sessions.without_waiting(session, repeat) == halt
    assert session.entries == entries


def test_a_person_lets_a_run_go_on_whose_caller_could_not_wait() -> None:
    sessions = Around().sessions()
    session, decision = warned(sessions, None)
    sessions.without_waiting(session, decision)
    sessions.command(session, Continue(reason="go on"))
    after = sessions.turn(session, Turn(sequence=2), bytes(8))

    assert sessions.without_waiting(session, after).directive is PROCEED


def test_the_operator_s_limits_lower_a_preset_s_and_never_raise_them() -> None:
    sessions = Around(ceiling=Limits(max_turns=500, input_tokens_max=1000)).sessions()
    session, _ = sessions.open(Opening(session_id="s", policy="gaia"), None)
    limits = session.run.state.limits

    assert (limits.max_turns, limits.input_tokens_max) == (20, 1000)


def test_the_operator_s_limits_bound_a_run_that_asks_for_none_and_one_that_asks_for_more() -> None:
    sessions = Around(ceiling=Limits(max_turns=50)).sessions()
    silent, _ = sessions.open(Opening(session_id="silent"), None)
    greedy, _ = sessions.open(Opening(session_id="greedy", limits=Limits(max_turns=90)), None)

    assert silent.run.state.limits.max_turns == 50
    assert greedy.run.state.limits.max_turns == 50


def test_a_successor_keeps_what_an_operator_granted_its_predecessor() -> None:
    sessions = Around(ceiling=Limits(max_turns=50)).sessions()
    before, _ = sessions.open(Opening(session_id="before"), None)
    sessions.command(before, Continue(reason="more", extra_turns=10))
    after, _ = sessions.open(Opening(session_id="after", previous_session_id="before"), None)

    assert after.run.state.limits.max_turns == 60


def test_a_successor_under_another_policy_keeps_approaches_and_what_was_spent() -> None:
    sessions = Around().sessions()
    before, _ = sessions.open(Opening(session_id="before", limits=Limits(max_turns=3)), None)
    for sequence in (1, 2):
        sessions.turn(before, Turn(sequence=sequence, approach="edit"), bytes(8))
    opening = Opening(session_id="after", policy="debug", previous_session_id="before")
    after, _ = sessions.open(opening, None)
    decision = sessions.turn(after, Turn(sequence=1), bytes(8))

    assert after.run.policy.name == "debug"
    assert after.run.state.story.names == ("edit",)
    assert [(reading.signal, reading.value) for reading in decision.readings] == [("max_turns", 3)]
    assert decision.state_before is State.RECOVERY


def test_an_opening_that_names_no_policy_resumes_whatever_the_default_is_by_now() -> None:
    around = Around()
    around.sessions().open(Opening(session_id="s"), None)
    around.default = "gaia"
    sessions = around.sessions()
    resumed, _ = sessions.open(Opening(session_id="s"), None)
    new, _ = sessions.open(Opening(session_id="t"), None)

    assert resumed.run.policy.name == "default"
    assert new.run.policy.name == "gaia"


@pytest.mark.parametrize(
    ("policy", "reason"),
    [("gaia", Reason.OPEN_MISMATCH), ("nonesuch", Reason.POLICY_UNKNOWN)],
)
def test_an_opening_that_names_another_policy_is_refused(policy: str, reason: Reason) -> None:
    sessions = Around().sessions()
    sessions.open(Opening(session_id="s"), None)
    with pytest.raises(Refusal) as refused:
        sessions.open(Opening(session_id="s", policy=policy), None)

    assert refused.value.reason is reason


@pytest.mark.parametrize("has_snapshot", [True, False])
@pytest.mark.parametrize(
    "command",
    [Continue(reason="more", extra_turns=5, request_id="r1"), Reset(reason="r", request_id="r1")],
)
def test_a_request_that_is_repeated_after_a_crash_does_nothing_more(
    command: Continue | Reset, has_snapshot: bool
) -> None:
    around = Around()
    sessions = around.sessions()
    session, _ = sessions.open(Opening(session_id="s", limits=Limits(max_turns=10)), None)
    sessions.command(session, command)
    if not has_snapshot:
        around.store.break_snapshot("s")
    sessions = around.sessions()
    again = sessions.get("s")
    sessions.command(again, command)

    assert again.entries == session.entries
    assert again.run == session.run


def test_a_reset_under_the_name_of_a_continue_is_done() -> None:
    sessions = Around().sessions()
    session, _ = sessions.open(Opening(session_id="s"), None)
    sessions.command(session, Continue(reason="go on", request_id="r1"))
    sessions.command(session, Reset(reason="again", request_id="r1"))

    assert session.run.state.breaker.state is State.RECOVERY


def test_requests_without_a_name_each_count() -> None:
    sessions = Around().sessions()
    session, _ = sessions.open(Opening(session_id="s", limits=Limits(max_turns=10)), None)
    for _ in range(2):
        sessions.command(session, Continue(reason="more", extra_turns=5))

    assert session.run.state.limits.max_turns == 20


@pytest.mark.parametrize("has_snapshot", [True, False])
def test_the_id_of_a_turn_that_was_not_counted_is_remembered_over_a_restart(
    has_snapshot: bool,
) -> None:
    around, listening = Around(), Listening()
    sessions = around.sessions()
    session, _ = sessions.open(Opening(session_id="s"), listening)
    rejection = Rejection(reason="TOOL_CALLS_MAX")
    sessions.turn(session, Rejected(sequence=1, id="t1", rejection=rejection), bytes(8))
    sessions.turn(session, Turn(sequence=2), bytes(8))
    sessions.detach(session, listening)
    if not has_snapshot:
        around.store.break_snapshot("s")

    assert session.turn_ids == {"t1": 1}
    assert around.sessions().get("s").turn_ids == {"t1": 1}


def test_of_ids_the_latest_are_remembered() -> None:
    sessions = Around().sessions()
    session, _ = sessions.open(Opening(session_id="s"), None)
    for number in range(1, TURN_IDS_MAX + 2):
        sessions.turn(session, Turn(sequence=number, id=f"t{number}"), bytes(8))
    for number in range(1, REQUESTS_MAX + 2):
        sessions.command(session, Continue(reason="go on", request_id=f"r{number}"))

    assert list(session.turn_ids.values()) == list(range(2, TURN_IDS_MAX + 2))
    names = [name for _, name in session.requests]
    assert names == [f"r{number}" for number in range(2, REQUESTS_MAX + 2)]


@pytest.mark.parametrize(
    ("field", "command"),
    [
        ("reason", Continue(reason="\u00e9" * 513)),
        ("reason", Reset(reason="r" * 1025)),
        ("request_id", Continue(reason="r", request_id="i" * 129)),
        ("request_id", Reset(reason="r", request_id="i" * 129)),
        ("extra_turns", Continue(reason="r", extra_turns=-1)),
        ("extra_input_tokens", Continue(reason="r", extra_input_tokens=2**31 + 1)),
    ],
)
def test_what_an_operator_says_beyond_its_bounds_is_refused_and_not_done(
    field: str, command: Continue | Reset
) -> None:
    sessions = Around().sessions()
    session, _ = sessions.open(Opening(session_id="s"), None)
    before = session.entries
    with pytest.raises(Refusal) as refused:
        sessions.command(session, command)

    assert (refused.value.reason, refused.value.field) == (Reason.REQUEST_INVALID, field)
    assert session.entries == before
    assert not session.requests


def test_a_session_is_not_closed_for_a_reason_that_is_too_long_to_be_kept() -> None:
    sessions = Around().sessions()
    session, _ = sessions.open(Opening(session_id="s"), None)
    with pytest.raises(Refusal) as refused:
        sessions.end(session, Closing(reason="r" * 1025))

    assert (refused.value.reason, refused.value.field) == (Reason.REQUEST_INVALID, "reason")
    assert session.closing is None


def test_what_an_operator_says_at_its_bounds_is_done() -> None:
    sessions = Around().sessions()
    session, _ = sessions.open(Opening(session_id="s"), None)
    sessions.command(
        session,
        Continue(reason="r" * 1024, request_id="i" * 128, extra_turns=2**31, extra_input_tokens=0),
    )
    sessions.command(session, Reset(reason="\u00e9" * 512, request_id="j" * 128))
    sessions.end(session, Closing(reason="r" * 1024))

    assert [name for _, name in session.requests] == ["i" * 128, "j" * 128]
    assert session.closing == Closing(reason="r" * 1024)


@pytest.mark.parametrize(
    ("answers", "goodbye", "answered"),
    [
        ((False, False), Closing(), False),
        ((False, True), Closing(), True),
        ((True, False), Closing(reason="over"), True),
        ((False, False), Closing(has_final_answer=True), True),
    ],
)
def test_a_run_has_its_answer_where_its_goodbye_or_a_turn_had_one(
    answers: tuple[bool, ...], goodbye: Closing, answered: bool
) -> None:
    around = Around()
    sessions = around.sessions()
    session, _ = sessions.open(Opening(session_id="s"), None)
    for sequence, has_answer in enumerate(answers, 1):
        sessions.turn(session, Turn(sequence=sequence, has_final_answer=has_answer), bytes(8))
    sessions.close(session, goodbye)

    (closed,) = around.recorder.of(WasClosed)
    assert closed.closing == replace(goodbye, has_final_answer=answered)


def test_a_closed_session_counts_as_held_until_its_idle_time_is_over() -> None:
    around = Around()
    sessions = around.sessions()
    session, _ = sessions.open(Opening(session_id="s"), None)
    sessions.end(session, Closing())
    sessions.sweep()
    around.clock.advance(sessions.bounds.session_idle_ttl_s)
    sessions.sweep()

    counted = [(dict(each.by_state), each.held) for each in around.recorder.of(WereHeld)]
    none_open = {state.value: 0 for state in State}
    assert counted == [(none_open, 1), (none_open, 0)]


@pytest.mark.parametrize(("limits", "left"), [(Limits(max_turns=4), 0.0), (Limits(), None)])
def test_a_commit_is_recorded_with_what_is_left_of_the_limits(
    limits: Limits, left: float | None
) -> None:
    around = Around()
    sessions = around.sessions()
    session, _ = sessions.open(Opening(session_id="s", limits=limits), None)
    for sequence in range(1, 5):
        sessions.turn(session, Turn(sequence=sequence), bytes(8))

    records = around.recorder.of(WasDecided)
    committed = [each for each in records if isinstance(each.decision.directive, Commit)]
    assert [each.budget_left for each in committed] == ([] if left is None else [left])
    assert {each.budget_left for each in records if each not in committed} == {None}
