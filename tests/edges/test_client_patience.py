"""When the client stops waiting, when it gives a stream up, and its signs of life."""

import pytest

from sidecar.client.directive import Reason
from sidecar.client.patience import Patience
from sidecar.v1 import run_pb2 as pb
from tests.edges.exchanges import Talk, rotate

# Patience.


def test_three_misses_in_a_row_end_the_waiting() -> None:
    talk = Talk()
    talk.opened()
    waited = []
    for _ in range(5):
        before_s = talk.now_s
        talk.miss()
        waited.append(round(talk.now_s - before_s, 3))

    assert waited == [0.2, 0.2, 0.2, 0, 0]
    assert talk.counted == {"timeout": 5}


def test_one_decision_in_time_starts_the_count_again() -> None:
    talk = Talk()
    talk.opened()
    talk.miss()
    talk.miss()
    talk.turn()
    talk.miss()

    assert talk.exchange.awaits(talk.report())


def test_a_silent_stream_is_cut_after_three_misses() -> None:
    talk = Talk()
    talk.opened()
    talk.miss()
    talk.miss()
    assert not talk.exchange.gives_up_stream(now_s=talk.now_s)
    talk.miss()

    assert talk.exchange.gives_up_stream(now_s=talk.now_s)
    assert not talk.exchange.wants(talk.number)
    talk.end(1)
    assert talk.collect(talk.report()).fail_open_reason is Reason.TIMEOUT


def test_a_stream_that_answers_late_is_kept() -> None:
    talk = Talk()
    talk.opened()
    for sequence in range(1, 10):
        talk.miss()
        talk.now_s += 0.3
        assert not talk.exchange.gives_up_stream(now_s=talk.now_s)
        talk.decide(sequence, **rotate())


def test_a_slow_sidecar_is_waited_for_again_once_an_answer_comes_in_time() -> None:
    talk = Talk()
    talk.opened()
    for _ in range(3):
        talk.miss()
    talk.now_s += 0.1
    late = talk.report()
    assert not talk.exchange.awaits(late)
    talk.collect(late)
    talk.sent()
    talk.now_s += 0.1
    talk.decide(4)

    assert talk.exchange.awaits(talk.report())


def test_every_cut_for_silence_doubles_the_patience_with_it() -> None:
    patience = Patience(timeout_s=0.2)
    limits = []
    for _ in range(6):
        limits.append(round(patience.silence_max_s(), 3))
        patience.cut()
    assert limits == [0.6, 1.2, 2.4, 4.8, 9.6, 10.0]

    patience.answered(after_s=0.1)
    assert patience.silence_max_s() == pytest.approx(0.6)


# Signs of life.


def test_an_idle_agent_sends_a_heartbeat_twice_a_minute() -> None:
    talk = Talk()
    talk.opened()
    assert talk.exchange.look_again_at_s(talk.number) == talk.now_s + 30
    talk.now_s += 30

    assert [one.WhichOneof("message") for one in talk.sent()] == ["heartbeat"]
    assert talk.sent() == []


def test_a_short_idle_time_asks_for_more_heartbeats() -> None:
    talk = Talk()
    talk.opened(idle_ttl={"seconds": 9})

    assert talk.exchange.look_again_at_s(talk.number) == talk.now_s + 3


def test_give_ups_are_told_within_5_s_and_on_every_open_as_sums() -> None:
    talk = Talk()
    assert list(talk.opened().give_ups) == []
    talk.miss()
    talk.now_s += 5
    (request,) = talk.sent()
    assert list(request.heartbeat.give_ups) == [pb.GiveUp(reason="timeout", count=1)]
    talk.miss()
    talk.end(14)

    assert list(talk.opened().give_ups) == [pb.GiveUp(reason="timeout", count=2)]
