"""What the client does when a stream ends, a session is over, or a person is waited for."""

import pytest

from sidecar.client.directive import Reason
from sidecar.client.patience import later_s, soon_s
from sidecar.client.refusal import Course, Ending, Situation, judge
from sidecar.v1 import run_pb2 as pb
from tests.edges.exchanges import INSTANCE, PROCEED, Talk, halt

SOON, LATER, STOP = Course.RETRY_SOON, Course.RETRY_LATER, Course.STOP
REPLAY, GO_ON = Course.REPLAY_IN_NEW_SESSION, Course.GO_ON_IN_NEW_SESSION


@pytest.mark.parametrize(
    ("code", "reason", "course", "counted"),
    [
        (3, "OPEN_REQUIRED", STOP, Reason.REJECTED),
        (3, "ALREADY_OPEN", STOP, Reason.REJECTED),
        (3, "OPEN_MISMATCH", STOP, Reason.REJECTED),
        (3, "POLICY_UNKNOWN", STOP, Reason.REJECTED),
        (3, "A_LATER_REASON", STOP, Reason.REJECTED),
        (9, "SEQUENCE_GAP", SOON, Reason.REJECTED),
        (10, "SEQUENCE_CONFLICT", REPLAY, Reason.REJECTED),
        (10, "SESSION_TAKEN_OVER", STOP, Reason.REJECTED),
        (9, "SESSION_STREAMING", STOP, Reason.REJECTED),
        (9, "SESSION_CLOSED", GO_ON, Reason.REJECTED),
        (5, "SESSION_NOT_FOUND", REPLAY, Reason.REJECTED),
        (8, "STREAMS_MAX", LATER, Reason.REJECTED),
        (14, "DRAINING", SOON, Reason.DRAINING),
        (0, "", SOON, Reason.STREAM),
        (1, "", SOON, Reason.STREAM),
        (2, "", SOON, Reason.STREAM),
        (3, "", STOP, Reason.REJECTED),
        (4, "", SOON, Reason.STREAM),
        (5, "", LATER, Reason.REJECTED),
        (6, "", LATER, Reason.REJECTED),
        (7, "", LATER, Reason.REJECTED),
        (8, "", LATER, Reason.REJECTED),
        (9, "", LATER, Reason.REJECTED),
        (10, "", SOON, Reason.STREAM),
        (11, "", LATER, Reason.REJECTED),
        (12, "", LATER, Reason.REJECTED),
        (13, "", SOON, Reason.STREAM),
        (14, "", SOON, Reason.STREAM),
        (15, "", SOON, Reason.STREAM),
        (16, "", LATER, Reason.REJECTED),
        (99, "", SOON, Reason.STREAM),
    ],
)
def test_the_error_table(code: int, reason: str, course: Course, counted: Reason) -> None:
    judgement = judge(Ending(code=code, reason=reason), Situation.OPEN)

    assert (judgement.course, judgement.reason) == (course, counted)


def test_a_sidecar_that_cannot_be_reached_is_another_matter_than_a_stream_that_breaks() -> None:
    assert judge(Ending(code=14), Situation.OPENING).reason is Reason.CONNECT
    assert judge(Ending(code=13), Situation.OPENING).reason is Reason.STREAM
    assert judge(Ending(code=0), Situation.DRAINING).reason is Reason.DRAINING
    assert judge(Ending(code=14), Situation.DRAINING).reason is Reason.DRAINING


def test_back_off_doubles_up_to_its_bound_and_half_of_it_is_chance() -> None:
    assert [soon_s(n, lambda: 1.0) for n in range(7)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert [later_s(n, lambda: 1.0) for n in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert soon_s(10_000, lambda: 0.0) == pytest.approx(0.5)


def test_attempts_in_vain_come_ever_later_and_a_decision_starts_afresh() -> None:
    talk = Talk()
    pauses = []
    for _ in range(3):
        talk.connect()
        talk.end(14)
        pauses.append(talk.exchange.line.pause_s(talk.now_s))
    talk.opened()
    talk.turn()
    talk.end(14)
    pauses.append(talk.exchange.line.pause_s(talk.now_s))

    assert pauses == pytest.approx([0.025, 0.05, 0.1, 0.025])


def test_a_stream_that_opens_and_breaks_again_and_again_is_in_vain_too() -> None:
    talk = Talk()
    for _ in range(10):
        talk.opened()
        talk.report()
        talk.sent()
        talk.end(2)

    assert talk.exchange.line.pause_s(talk.now_s) == pytest.approx(0.5)


def test_at_least_the_delay_that_the_sidecar_asks_for_passes() -> None:
    talk = Talk()
    talk.connect()
    talk.end(8, "STREAMS_MAX", retry_delay_s=7.0)

    assert talk.exchange.line.pause_s(talk.now_s) == pytest.approx(7.0)
    assert talk.miss().fail_open_reason is Reason.REJECTED


def test_no_sidecar_asks_for_more_than_an_hour() -> None:
    talk = Talk()
    talk.connect()
    talk.end(8, "STREAMS_MAX", retry_delay_s=1e12)

    assert talk.exchange.line.pause_s(talk.now_s) == pytest.approx(3600)


def test_an_attempt_that_is_not_answered_is_cut_after_3_s() -> None:
    talk = Talk()
    talk.connect()
    talk.now_s += 2.9
    assert not talk.exchange.gives_up_stream(now_s=talk.now_s)
    talk.now_s += 0.1

    assert talk.exchange.gives_up_stream(now_s=talk.now_s)
    talk.end(1)
    assert talk.miss().fail_open_reason is Reason.CONNECT


def test_nobody_waits_while_the_sidecar_is_known_to_be_away() -> None:
    talk = Talk()
    assert talk.exchange.awaits(talk.report())
    talk.connect()
    assert talk.exchange.awaits(talk.report())
    talk.end(14)

    assert not talk.exchange.awaits(talk.report())


def test_a_caller_that_waits_is_let_go_when_the_stream_breaks() -> None:
    talk = Talk()
    talk.opened()
    entry = talk.report()
    talk.sent()
    assert talk.exchange.awaits(entry)
    talk.end(13)

    assert not talk.exchange.awaits(entry)
    assert talk.collect(entry).fail_open_reason is Reason.STREAM
    assert talk.counted == {"stream": 1}


# Courses.


def test_after_a_gap_the_turns_from_the_expected_one_are_sent_again() -> None:
    talk = Talk()
    talk.opened()
    for _ in range(4):
        talk.turn()
    talk.end(9, "SEQUENCE_GAP", expected=3)
    talk.opened(last_sequence=2)

    assert talk.sent_sequences() == [3, 4]


def test_after_a_gap_what_the_sidecar_expects_counts_more_than_what_it_says_it_holds() -> None:
    talk = Talk()
    talk.opened()
    for _ in range(4):
        talk.turn()
    talk.end(9, "SEQUENCE_GAP", expected=3)
    talk.opened(last_sequence=4)

    assert talk.sent_sequences() == [3, 4]


def test_a_session_that_is_not_this_run_is_told_again_under_another_name() -> None:
    talk = Talk(previous_session_id="before")
    talk.opened()
    talk.turn()
    talk.turn()
    talk.end(10, "SEQUENCE_CONFLICT")
    opening = talk.opened()

    assert opening.session_id == f"s.{INSTANCE[:8]}.1"
    assert opening.previous_session_id == ""
    assert talk.sent_sequences() == [1, 2]
    assert talk.exchange.line.session_id == opening.session_id


def test_a_session_that_is_over_is_gone_on_with_under_another_name() -> None:
    talk = Talk()
    talk.opened(last_sequence=10)
    talk.turn()
    talk.report()
    talk.sent()
    talk.end(9, "SESSION_CLOSED")
    opening = talk.opened()

    assert opening.session_id == f"s.{INSTANCE[:8]}.1"
    assert opening.previous_session_id == "s"
    (request,) = talk.sent()
    assert request.turn.sequence == 1
    assert request.turn.directive_seen == 0


def test_the_second_session_that_is_over_gets_a_third_name() -> None:
    talk = Talk()
    names = [talk.opened().session_id]
    for _ in range(2):
        talk.end(9, "SESSION_CLOSED")
        names.append(talk.opened().session_id)

    assert names == ["s", f"s.{INSTANCE[:8]}.1", f"s.{INSTANCE[:8]}.2"]


def test_what_a_closed_session_had_to_say_is_handed_over_in_the_next() -> None:
    talk = Talk()
    talk.opened()
    for _ in range(5):
        talk.turn()
    talk.decide(5, pb.CAUSE_OPERATOR, **halt("enough"))
    talk.end(9, "SESSION_CLOSED")
    talk.opened()

    assert talk.turn(**PROCEED).instruction == "enough"
    assert talk.report().turn.directive_seen <= 1


@pytest.mark.parametrize(
    ("code", "reason"), [(10, "SESSION_TAKEN_OVER"), (3, "POLICY_UNKNOWN"), (3, "")]
)
def test_a_client_that_is_refused_for_good_goes_on_alone_for_ever(code: int, reason: str) -> None:
    talk = Talk()
    talk.opened()
    talk.end(code, reason)

    assert talk.exchange.line.pause_s(talk.now_s) is None
    for _ in range(5):
        assert talk.miss().fail_open_reason is Reason.REJECTED
    assert talk.now_s == 1000.0
    assert talk.counted == {"rejected": 5}


def test_a_turn_that_is_too_large_for_the_server_is_sent_smaller() -> None:
    talk = Talk()
    talk.opened()
    call = pb.ToolCall(name="read", result_text="x" * 60_000)
    talk.report(tool_calls=[call] * 60)
    sizes = []
    for _ in range(4):
        (request,) = talk.sent()
        sizes.append(request.ByteSize())
        talk.end(8, description="SERVER: Received message larger than max (9 vs. 8)")
        talk.opened()

    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4


def test_a_turn_that_is_too_large_is_sent_again_as_large_as_the_sidecar_says() -> None:
    talk = Talk()
    talk.opened()
    talk.report(tool_calls=[pb.ToolCall(name="read", result_text="x" * 40_000)] * 100)
    sizes = []
    for _ in range(3):
        (request,) = talk.sent()
        sizes.append(request.ByteSize())
        talk.end(8, "MESSAGE_BYTES_MAX", message_bytes_max=2_000_000)
        talk.opened()

    first, second, third = sizes
    assert first > 4_000_000
    assert 2_000_000 // 2 < second <= 2_000_000
    # Refused though it was within what is said: less and less, as where nothing is said.
    assert third <= 2_000_000 // 4


def test_no_turn_is_larger_than_the_sidecar_said() -> None:
    talk = Talk()
    talk.opened(turn_bytes_max=20_000)
    call = pb.ToolCall(name="read", arguments_json='{"a": 1}', result_text="x" * 60_000)
    talk.report(tool_calls=[call] * 3, text="y" * 60_000, output_lines=7)
    (request,) = talk.sent()

    assert request.ByteSize() <= 20_000
    assert len(request.turn.tool_calls) == 3
    assert request.turn.tool_calls[0].arguments_json == '{"a": 1}'
    assert request.turn.output_lines == 7
