"""What stands around the fold: how runs begin, what bounds them, and what is remembered of them."""

from dataclasses import replace

import pytest

from sidecar.core.breaker import State
from sidecar.core.directive import Commit, Rejection, Strength
from sidecar.core.limits import Limits
from sidecar.core.opening import Closing, Continue, Mode, Opening
from sidecar.core.turn import Turn
from sidecar.ports import Rejected
from sidecar.refusal import Reason, Refusal
from sidecar.sessions.session import REQUESTS_MAX, TURN_IDS_MAX
from sidecar.testing.recorder import WasClosed, WasDecided, WasRejected, WereHeld
from tests.edges.around_sessions import Around, Listening


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


@pytest.mark.parametrize(
    ("why", "limits", "mode", "left"),
    [
        ("the first commit of two, where nothing is left", Limits(max_turns=4), Mode.ENFORCE, [0]),
        ("no limits, no share of them", Limits(), Mode.ENFORCE, []),
        ("an observed agent is told nothing", Limits(max_turns=4), Mode.OBSERVE, []),
    ],
)
def test_the_first_commit_of_a_run_is_recorded_with_what_is_left_of_its_limits(
    why: str, limits: Limits, mode: Mode, left: list[float]
) -> None:
    around = Around()
    sessions = around.sessions()
    session, _ = sessions.open(Opening(session_id="s", limits=limits, mode=mode), None)
    for sequence in range(1, 5):
        sessions.turn(session, Turn(sequence=sequence), bytes(8))
    sessions.command(session, Continue(reason="go on", extra_turns=1))
    for sequence in range(5, 8):
        sessions.turn(session, Turn(sequence=sequence), bytes(8))

    records = around.recorder.of(WasDecided)
    commits = [each for each in records if isinstance(each.decision.directive, Commit)]
    assert len(commits) == (2 if limits.max_turns else 0), why
    assert [each.budget_left for each in records if each.budget_left is not None] == left, why


@pytest.mark.parametrize(
    ("mode", "strongest"), [(Mode.ENFORCE, Strength.COMMIT), (Mode.OBSERVE, Strength.PROCEED)]
)
def test_a_session_is_closed_with_the_strongest_directive_that_was_sent_to_its_agent(
    mode: Mode, strongest: Strength
) -> None:
    around = Around()
    sessions = around.sessions()
    opening = Opening(session_id="s", limits=Limits(max_turns=2), mode=mode)
    session, _ = sessions.open(opening, None)
    for sequence in (1, 2):
        sessions.turn(session, Turn(sequence=sequence), bytes(8))
    sessions.command(session, Continue(reason="go on", extra_turns=9))
    sessions.turn(session, Turn(sequence=3), bytes(8))
    sessions.close(session, Closing())

    (closed,) = around.recorder.of(WasClosed)
    assert closed.strongest is strongest


def test_a_turn_that_is_too_old_to_be_answered_again_is_counted_as_not_counted() -> None:
    around = Around()
    sessions = around.sessions()
    opening = Opening(session_id="s", first_available_sequence=5)
    session, _ = sessions.open(opening, None)
    decision = sessions.turn(session, Turn(sequence=2), bytes(8))

    assert decision.rejection is not None
    assert decision.rejection.reason == "DUPLICATE_TOO_OLD"
    (rejected,) = around.recorder.of(WasRejected)
    assert (rejected.rejected.sequence, rejected.decision) == (2, decision)
