"""Draining, the end of the run, observing, and waiting for a person, on the client's side."""

from typing import Any

import pytest

from sidecar.client.directive import Kind, Reason
from sidecar.client.line import Phase
from sidecar.client.stream import Lull
from sidecar.v1 import convergence_service_pb2 as wire
from sidecar.v1 import run_pb2 as pb
from tests.edges.exchanges import PROCEED, Talk, commit, halt, rotate

# Draining and the end of the run.


def test_draining_is_obeyed_and_what_is_in_flight_is_still_awaited() -> None:
    talk = Talk()
    talk.opened()
    in_flight = talk.report()
    talk.sent()
    talk.drain()
    afterwards = talk.report()

    assert talk.step() is Lull.END
    assert talk.exchange.awaits(in_flight)
    assert not talk.exchange.awaits(afterwards)
    assert talk.collect(afterwards).fail_open_reason is Reason.DRAINING
    talk.decide(1, **rotate())
    assert talk.collect(in_flight).kind is Kind.ROTATE
    talk.end(0)
    talk.opened(last_sequence=1)
    assert talk.sent_sequences() == [2]


def test_a_half_closed_stream_that_does_not_end_is_cut() -> None:
    talk = Talk()
    talk.opened()
    talk.drain()
    talk.now_s += 5

    assert talk.exchange.gives_up_stream(now_s=talk.now_s)


def test_the_goodbye_comes_after_the_last_turn_and_before_the_half_close() -> None:
    talk = Talk()
    talk.opened()
    talk.report()
    talk.exchange.close(pb.Close(outcome=pb.RUN_OUTCOME_SUCCEEDED))

    assert [one.WhichOneof("message") for one in talk.sent()] == ["turn", "close"]
    assert talk.step() is Lull.END
    assert talk.exchange.awaits_goodbye
    talk.end(0)
    assert talk.exchange.line.goodbye_heard
    assert talk.exchange.line.outage is None
    assert talk.exchange.line.phase is Phase.STOPPED


def test_give_ups_that_were_not_told_are_told_before_the_goodbye() -> None:
    talk = Talk()
    talk.opened()
    talk.miss()
    talk.exchange.close(pb.Close())

    heartbeat, close = talk.sent()
    assert list(heartbeat.heartbeat.give_ups) == [pb.GiveUp(reason="timeout", count=1)]
    assert close.HasField("close")


def test_a_goodbye_whose_echo_was_lost_was_heard() -> None:
    talk = Talk()
    talk.opened()
    talk.exchange.close(pb.Close())
    talk.sent()
    talk.end(14)
    talk.connect()
    talk.end(9, "SESSION_CLOSED")

    assert talk.exchange.line.goodbye_heard


def test_nobody_waits_to_say_goodbye_to_a_sidecar_that_is_away() -> None:
    talk = Talk()
    talk.connect()
    talk.end(14)
    talk.exchange.close(pb.Close())

    assert not talk.exchange.awaits_goodbye


@pytest.mark.parametrize(
    ("timeout_s", "misses", "left_s"),
    [(0.2, 0, 1.0), (0.2, 1, 0.8), (0.2, 3, 0.4), (0.2, 9, 0.4), (0.05, 2, 0.9), (60, 1, 0.4)],
)
def test_an_outage_costs_a_second_in_all_its_goodbye_included(
    timeout_s: float, misses: int, left_s: float
) -> None:
    talk = Talk(timeout_s=timeout_s)
    talk.opened()
    for _ in range(misses):
        talk.miss()

    assert talk.exchange.goodbye_s == pytest.approx(left_s)


def test_what_an_earlier_outage_has_cost_is_not_taken_off() -> None:
    talk = Talk()
    talk.opened()
    talk.miss()
    talk.turn()

    assert talk.exchange.goodbye_s == 1.0


def test_a_report_after_the_end_is_the_caller_s_fault_and_proceeds() -> None:
    talk = Talk()
    talk.opened()
    talk.exchange.close(pb.Close())
    entry = talk.report()

    assert not talk.exchange.awaits(entry)
    assert talk.collect(entry).fail_open_reason is Reason.INTERNAL


# Observing.


def test_nothing_is_awaited_in_observe_mode_and_nothing_given_up() -> None:
    talk = Talk(mode=pb.MODE_OBSERVE)
    talk.opened()
    entry = talk.report()

    assert not talk.exchange.awaits(entry)
    assert talk.collect(entry).fail_open_reason is None
    assert talk.sent_sequences() == [1]
    assert talk.exchange.settled
    assert talk.counted == {}


def test_in_observe_mode_only_turns_that_the_sidecar_does_not_hold_are_sent_again() -> None:
    talk = Talk(mode=pb.MODE_OBSERVE)
    talk.opened()
    for _ in range(3):
        talk.collect(talk.report())
    talk.sent()
    talk.end(14)
    talk.opened(last_sequence=2)

    assert talk.sent_sequences() == [3]


def test_turns_that_go_unobserved_are_counted() -> None:
    talk = Talk(mode=pb.MODE_OBSERVE)
    talk.connect()
    talk.end(14)

    assert talk.collect(talk.report()).fail_open_reason is Reason.CONNECT
    assert talk.counted == {"connect": 1}


def test_a_stream_that_answers_nothing_by_nature_is_not_cut_after_an_outage() -> None:
    talk = Talk(mode=pb.MODE_OBSERVE)
    talk.connect()
    talk.end(14)
    for _ in range(4):
        talk.collect(talk.report())
    talk.opened()
    assert talk.sent_sequences() == [1, 2, 3, 4]

    assert not talk.exchange.gives_up_stream(now_s=talk.now_s + 60)
    assert talk.exchange.awaits_goodbye


# Waiting for a person.


def pausing(seconds: int) -> dict[str, Any]:
    return {"rotate": pb.Rotate(wait_max={"seconds": seconds})}


def test_a_person_is_awaited_for_as_long_as_the_directive_says_and_then_the_sidecar() -> None:
    talk = Talk()
    talk.opened()
    directive = talk.turn(**pausing(600))

    assert directive.wait_max_s == 600
    assert talk.exchange.operator_awaited_until_s() == pytest.approx(talk.now_s + 602.5)


@pytest.mark.parametrize("cause", [pb.CAUSE_OPERATOR, pb.CAUSE_IDLE])
def test_what_a_person_or_the_end_of_the_time_says_ends_the_wait(cause: "pb.Cause") -> None:
    talk = Talk()
    talk.opened()
    talk.turn(**pausing(600))
    talk.decide(1, cause, **halt("no"))

    assert talk.exchange.operator_awaited_until_s() < talk.now_s
    assert talk.exchange.collect_operator(now_s=talk.now_s).instruction == "no"


def test_a_late_directive_of_a_turn_does_not_end_the_wait() -> None:
    talk = Talk()
    talk.opened()
    talk.miss()
    talk.turn(**pausing(600))
    talk.decide(1, **commit())

    assert talk.exchange.operator_awaited_until_s() > talk.now_s


def test_nobody_is_awaited_unless_a_directive_says_so() -> None:
    talk = Talk()
    talk.opened()
    talk.turn(**rotate())

    assert talk.exchange.operator_awaited_until_s() < talk.now_s
    directive = talk.exchange.collect_operator(now_s=talk.now_s)
    assert (directive.kind, directive.fail_open_reason) == (Kind.PROCEED, None)


def test_an_agent_that_went_on_is_not_made_to_wait_by_an_older_directive() -> None:
    talk = Talk()
    talk.opened()
    talk.turn(**pausing(600))
    talk.turn(**PROCEED)

    assert talk.exchange.operator_awaited_until_s() < talk.now_s


def test_a_sidecar_that_stays_away_ends_the_wait_after_10_s() -> None:
    talk = Talk()
    talk.opened()
    talk.turn(**pausing(600))
    talk.end(14)

    assert talk.exchange.operator_awaited_until_s() == pytest.approx(talk.now_s + 10)
    directive = talk.exchange.collect_operator(now_s=talk.now_s + 10)
    assert (directive.kind, directive.fail_open_reason) == (Kind.PROCEED, Reason.STREAM)


def test_a_sidecar_that_comes_back_restores_the_wait() -> None:
    talk = Talk()
    talk.opened()
    talk.turn(**pausing(600))
    until_s = talk.exchange.operator_awaited_until_s()
    talk.end(14)
    talk.opened(last_sequence=1)

    assert talk.exchange.operator_awaited_until_s() == until_s


def test_a_session_that_was_closed_ends_the_wait_and_nothing_is_given_up() -> None:
    """In the session that follows nobody was asked, so nobody answers."""
    talk = Talk()
    talk.opened()
    talk.turn(**pausing(600))
    talk.end(9, "SESSION_CLOSED")

    assert talk.exchange.operator_awaited_until_s() < talk.now_s
    directive = talk.exchange.collect_operator(now_s=talk.now_s)
    assert (directive.kind, directive.fail_open_reason) == (Kind.PROCEED, None)
    assert talk.counted == {}


@pytest.mark.parametrize("reason", ["SESSION_NOT_FOUND", "SEQUENCE_CONFLICT"])
def test_a_session_that_is_told_all_turns_again_is_waited_in(reason: str) -> None:
    talk = Talk()
    talk.opened()
    talk.turn(**pausing(600))
    until_s = talk.exchange.operator_awaited_until_s()
    talk.end(5, reason)
    talk.opened()
    assert talk.sent_sequences() == [1]

    assert talk.exchange.operator_awaited_until_s() == until_s
    talk.decide(1, pb.CAUSE_OPERATOR, **halt("no"))
    assert talk.exchange.collect_operator(now_s=talk.now_s).instruction == "no"


def test_no_directive_makes_an_agent_wait_longer_than_a_day() -> None:
    talk = Talk()
    talk.opened()

    assert talk.turn(**pausing(10**9)).wait_max_s == 86_400


def test_a_message_of_a_later_version_is_passed_over() -> None:
    talk = Talk()
    talk.opened()
    entry = talk.report()
    talk.sent()
    talk.say(wire.ObserveResponse.FromString(b"\xa2\x06\x02hi"))  # field 100, and no other
    talk.decide(1, **rotate())

    assert talk.collect(entry).kind is Kind.ROTATE
