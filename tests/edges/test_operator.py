"""Runs that wait for a person, and what a person says to a run: done once, and within bounds."""

import pytest

from sidecar.core.breaker import State
from sidecar.core.directive import PROCEED, Cause, Halt, Rotate
from sidecar.core.limits import Limits
from sidecar.core.opening import Closing, Continue, Mode, Opening, Reset
from sidecar.core.turn import Turn
from sidecar.refusal import Reason, Refusal
from tests.edges.around_sessions import WAIT_MAX_S, Around, Listening, warned


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
    assert "`sidecar explain --session '-a b; reboot'`" in halted.directive.reason


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


@pytest.mark.parametrize("restart", ["none", "journal", "snapshot"])
def test_a_caller_that_cannot_wait_hears_the_same_however_late_it_asks_again(restart: str) -> None:
    around = Around()
    sessions = around.sessions()
    session, decision = warned(sessions, None)
    halt = sessions.without_waiting(session, decision)
    sessions.turn(session, Turn(sequence=2), bytes(8))
    if restart != "none":
        if restart == "snapshot":
            sessions.save_all(within_s=1)
        sessions = around.sessions()
        session = sessions.get("s")
    repeat = sessions.turn(session, Turn(sequence=1, id="aw"), bytes(8))

    assert sessions.without_waiting(session, repeat) == halt


@pytest.mark.parametrize("set_s", [-3600.0, 3600.0])
def test_a_wait_takes_as_long_as_was_said_when_somebody_sets_the_clock(set_s: float) -> None:
    around, listening = Around(), Listening()
    sessions = around.sessions()
    warned(sessions, listening)
    around.clock.set_now_s(around.clock.now_s() + set_s)
    around.clock.advance(WAIT_MAX_S - 1)
    sessions.sweep()
    assert listening.heard == []

    around.clock.advance(1)
    sessions.sweep()
    assert [decision.cause for decision in listening.heard] == [Cause.IDLE]


def test_a_person_lets_a_run_go_on_whose_caller_could_not_wait() -> None:
    sessions = Around().sessions()
    session, decision = warned(sessions, None)
    sessions.without_waiting(session, decision)
    sessions.command(session, Continue(reason="go on"))
    after = sessions.turn(session, Turn(sequence=2), bytes(8))

    assert sessions.without_waiting(session, after).directive is PROCEED


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
