"""The client's side of the protocol, without I/O: what is sent when, what is handed over."""

from typing import Any

import pytest

from sidecar.client.directive import Kind, Reason
from sidecar.client.held import Held
from sidecar.client.stream import Lull
from sidecar.v1 import convergence_service_pb2 as wire
from sidecar.v1 import run_pb2 as pb
from tests.edges.exchanges import INSTANCE, PROCEED, Talk, commit, halt, rotate

# Sequence and ring.


def test_the_first_message_is_open_and_turns_wait_for_its_answer() -> None:
    talk = Talk()
    talk.report()
    opening = talk.connect()

    assert opening.session_id == "s"
    assert opening.client_instance == INSTANCE
    assert talk.sent() == []
    talk.say(wire.ObserveResponse(opened=wire.Opened()))
    assert talk.sent_sequences() == [1]


def test_turns_are_numbered_from_1_without_gaps() -> None:
    talk = Talk()
    talk.opened()
    for _ in range(3):
        talk.report()

    assert talk.sent_sequences() == [1, 2, 3]


def test_the_turns_that_the_sidecar_does_not_hold_are_sent_again() -> None:
    talk = Talk()
    talk.opened()
    for _ in range(5):
        talk.turn()
    talk.end(14)
    talk.opened(last_sequence=3)

    assert talk.sent_sequences() == [4, 5]


def test_a_sidecar_that_forgot_all_is_told_all_again_and_the_agent_hears_nothing_twice() -> None:
    talk = Talk()
    talk.opened()
    talk.turn(**rotate())
    talk.turn()
    talk.end(14)
    talk.opened(last_sequence=0)

    assert talk.sent_sequences() == [1, 2]
    talk.decide(1, **rotate())
    assert talk.turn().kind is Kind.PROCEED


def test_a_turn_whose_decision_was_lost_is_sent_again_though_the_sidecar_holds_it() -> None:
    talk = Talk()
    talk.opened()
    talk.turn()
    talk.report()
    talk.sent()
    talk.end(14)
    talk.opened(last_sequence=2)

    assert talk.sent_sequences() == [2]


def test_a_session_that_another_process_began_is_gone_on_with_where_it_stands() -> None:
    talk = Talk()
    entry = talk.report()
    talk.opened(last_sequence=57)

    assert talk.sent_sequences() == [58]
    assert entry.sequence == 58


def test_the_last_256_turns_are_kept_and_the_first_of_them_is_declared() -> None:
    talk = Talk()
    for _ in range(300):
        talk.report()

    assert talk.opened().first_available_sequence == 45
    assert talk.sent_sequences() == list(range(45, 301))


def test_turns_that_fall_out_while_a_stream_is_stuck_are_declared_on_another_stream() -> None:
    talk = Talk()
    talk.opened()
    for _ in range(300):
        talk.report()

    assert talk.sent() == []
    assert talk.step() is Lull.END
    talk.end(0)
    assert talk.opened().first_available_sequence == 45
    assert talk.sent_sequences() == list(range(45, 301))


def test_what_failed_before_does_not_delay_the_stream_that_declares_them() -> None:
    talk = Talk()
    for _ in range(10):
        talk.connect()
        talk.end(14)
    talk.opened()
    for _ in range(300):
        talk.report()
    assert talk.sent() == []
    assert talk.step() is Lull.END
    talk.end(0)

    assert talk.exchange.line.pause_s(talk.now_s) == pytest.approx(0.025)


def test_a_hole_that_another_process_left_is_declared_once_the_sidecar_has_forgotten_it() -> None:
    talk = Talk()
    talk.opened()
    talk.turn()
    talk.end(14)
    talk.opened(last_sequence=50)
    talk.turn()
    talk.end(14)
    talk.opened(last_sequence=0)

    assert talk.sent_sequences() == [1]
    talk.end(0)
    assert talk.opened(last_sequence=1).first_available_sequence == 51
    assert talk.sent_sequences() == [51]


def test_nonsense_for_a_last_sequence_is_refused_and_the_numbers_stay_sound() -> None:
    talk = Talk()
    with pytest.raises(ValueError, match="leaves no numbers"):
        talk.opened(last_sequence=2**32 - 1)
    talk.end(2, "CLIENT_FAULT")
    talk.report()
    talk.opened()

    assert talk.sent_sequences() == [1]


# What the agent has seen.


def test_directive_seen_is_the_sequence_of_the_last_decision_that_was_returned() -> None:
    talk = Talk()
    talk.opened()
    first, second = talk.report(), talk.report()
    talk.sent()
    talk.decide(1)
    talk.collect(first)
    third = talk.report()
    talk.decide(2)
    talk.collect(second)
    fourth = talk.report()

    seen = [entry.turn.directive_seen for entry in (first, third, fourth)]
    assert seen == [0, 1, 2]
    assert first.turn.HasField("directive_seen")


def test_a_late_proceed_has_not_reached_the_agent() -> None:
    talk = Talk()
    talk.opened()
    talk.turn()
    talk.miss()
    talk.decide(2)

    assert talk.report().turn.directive_seen == 1


# Late directives, and those that no turn asked for.


def test_a_late_directive_is_handed_over_with_the_next_report_and_the_stream_is_kept() -> None:
    talk = Talk()
    talk.opened()
    missed = talk.miss()
    talk.decide(1, **rotate("now"))
    directive = talk.turn(**PROCEED)

    assert (missed.kind, missed.fail_open_reason) == (Kind.PROCEED, Reason.TIMEOUT)
    assert (directive.kind, directive.instruction, directive.late) == (Kind.ROTATE, "now", True)
    assert directive.fail_open_reason is None
    assert talk.exchange.wants(talk.number)
    assert talk.turn(**PROCEED).kind is Kind.PROCEED


@pytest.mark.parametrize(
    ("why", "held", "own", "handed_over"),
    [
        ("the stronger is first, and the weaker that is newer follows", commit(), rotate(), "cr"),
        ("the weaker that is older is settled by the stronger", rotate(), commit(), "cp"),
        ("of two alike the newer", rotate("old"), rotate("new"), "rp"),
        ("a plain proceed does not take its place", rotate(), PROCEED, "rp"),
        ("a halt before all", halt(), commit(), "hc"),
    ],
)
def test_the_strongest_is_handed_over_first(
    why: str, held: dict[str, Any], own: dict[str, Any], handed_over: str
) -> None:
    talk = Talk()
    talk.opened()
    talk.miss()
    talk.decide(1, **held)
    kinds = [talk.turn(**own).kind, talk.turn(**PROCEED).kind]

    assert "".join(kind[0] for kind in kinds) == handed_over


def test_of_two_alike_the_newer_is_handed_over() -> None:
    talk = Talk()
    talk.opened()
    talk.miss()
    talk.decide(1, **rotate("old"))

    assert talk.turn(**rotate("new")).instruction == "new"


@pytest.mark.parametrize("cause", [pb.CAUSE_OPERATOR, pb.CAUSE_IDLE])
def test_a_decision_that_no_turn_asked_for_is_handed_over_with_the_next_report(
    cause: "pb.Cause",
) -> None:
    talk = Talk()
    talk.opened()
    talk.turn()
    talk.decide(1, cause, **halt("enough"))
    directive = talk.turn(**PROCEED)

    assert (directive.kind, directive.instruction) == (Kind.HALT, "enough")
    assert directive.late is False


def test_what_was_said_before_a_person_let_the_run_go_on_is_settled() -> None:
    talk = Talk()
    talk.opened()
    talk.miss()
    talk.decide(1, **commit())
    talk.decide(1, pb.CAUSE_OPERATOR, **PROCEED)
    directive = talk.turn(**PROCEED)

    assert (directive.kind, directive.cause) == (Kind.PROCEED, "operator")
    assert talk.turn(**PROCEED).cause == "turn"


def test_a_run_that_has_its_answer_is_not_told_to_change_course() -> None:
    talk = Talk()
    talk.opened()
    talk.miss()
    talk.decide(1, **rotate())
    last = talk.report(final_answer="42")
    talk.sent()
    talk.decide(2, **PROCEED)

    assert talk.collect(last).kind is Kind.PROCEED


def test_a_directive_whose_caller_was_torn_away_is_handed_over_with_the_next_report() -> None:
    talk = Talk()
    talk.opened()
    entry = talk.report()
    talk.sent()
    talk.decide(1, **rotate())
    talk.exchange.abandon(entry)

    assert talk.turn(**PROCEED).late is True


def test_an_answer_to_nothing_is_passed_over() -> None:
    talk = Talk()
    talk.opened()
    talk.decide(7, **halt())

    assert talk.turn(**PROCEED).kind is Kind.PROCEED


def test_an_answer_to_a_turn_of_an_earlier_stream_is_passed_over() -> None:
    talk = Talk()
    talk.opened()
    entry = talk.report()
    talk.sent()
    talk.end(14)
    talk.opened(last_sequence=1)
    talk.decide(1, **halt())
    assert not entry.answered

    assert talk.sent_sequences() == [1]


def test_an_older_directive_that_comes_after_a_newer_one_is_passed_over() -> None:
    held = Held()
    for sequence, instruction in ((7, "new"), (3, "old")):
        held.add(pb.Decision(sequence=sequence, cause=pb.CAUSE_TURN, **rotate(instruction)))
    directive = held.strongest(None)

    assert directive is not None
    assert directive.rotate.instruction == "new"
    assert held.strongest(None) is None


def test_a_directive_of_a_later_version_means_proceed() -> None:
    talk = Talk()
    talk.opened()
    entry = talk.report()
    talk.sent()
    decision = pb.Decision(sequence=1, cause=pb.CAUSE_TURN, state=99)  # type: ignore[arg-type]
    decision.MergeFromString(b"\xa2\x06\x02hi")  # field 100, which no version has yet
    talk.say(wire.ObserveResponse(decision=decision))
    directive = talk.collect(entry)

    assert (directive.kind, directive.state) == (Kind.PROCEED, "")
    assert directive.fail_open_reason is None
