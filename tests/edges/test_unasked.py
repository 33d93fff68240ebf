"""What a run was told while nobody listened: it comes with the next stream."""

from sidecar.core.directive import Cause, Halt
from sidecar.core.opening import Continue, Opening, Reset
from sidecar.core.turn import Turn
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import Sessions
from tests.edges.around_sessions import WAIT_MAX_S, Around, Listening, warned

OPENING = Opening(session_id="s", policy="pausing")


def left_waiting(around: Around) -> tuple[Sessions, Session]:
    """A run that waits for a person, and its agent is gone."""
    sessions, listening = around.sessions(), Listening()
    session, _ = warned(sessions, listening)
    sessions.detach(session, listening)
    return sessions, session


def heard_on_coming_back(sessions: Sessions) -> list[Cause]:
    listening = Listening()
    session, _ = sessions.open(OPENING, listening)
    sessions.detach(session, listening)
    return [decision.cause for decision in listening.heard]


def test_the_end_of_a_wait_reaches_the_agent_when_it_comes_back() -> None:
    around, listening = Around(), Listening()
    sessions, _ = left_waiting(around)
    around.clock.advance(WAIT_MAX_S)
    sessions.sweep()
    sessions.open(OPENING, listening)

    (halt,) = listening.heard
    assert (halt.cause, halt.sequence) == (Cause.IDLE, 1)
    assert isinstance(halt.directive, Halt)


def test_a_person_s_word_reaches_the_agent_when_it_comes_back() -> None:
    sessions, session = left_waiting(Around())
    sessions.command(session, Continue(reason="go on"))

    assert heard_on_coming_back(sessions) == [Cause.OPERATOR]


def test_the_last_word_is_the_one_that_counts() -> None:
    around = Around()
    sessions, session = left_waiting(around)
    around.clock.advance(WAIT_MAX_S)
    sessions.sweep()
    sessions.command(session, Reset(reason="begin again"))

    assert heard_on_coming_back(sessions) == [Cause.OPERATOR]


def test_it_comes_again_until_a_turn_shows_that_the_agent_has_gone_on() -> None:
    sessions, session = left_waiting(Around())
    sessions.command(session, Continue(reason="go on"))
    twice = [heard_on_coming_back(sessions) for _ in range(2)]
    sessions.turn(session, Turn(sequence=2), bytes(8))

    assert twice == [[Cause.OPERATOR]] * 2
    assert heard_on_coming_back(sessions) == []


def test_what_an_agent_heard_on_its_stream_may_have_been_lost_with_the_stream() -> None:
    sessions, first = Around().sessions(), Listening()
    session, _ = warned(sessions, first)
    sessions.command(session, Continue(reason="go on"))
    sessions.detach(session, first)

    assert len(first.heard) == 1
    assert heard_on_coming_back(sessions) == [Cause.OPERATOR]


def test_it_outlives_a_restart_in_the_snapshot() -> None:
    around = Around()
    sessions, _ = left_waiting(around)
    around.clock.advance(WAIT_MAX_S)
    sessions.sweep()
    assert sessions.save_all(1.0) == 0

    assert heard_on_coming_back(around.sessions()) == [Cause.IDLE]


def test_it_outlives_a_crash_in_the_journal() -> None:
    around = Around()
    sessions, session = left_waiting(around)
    sessions.command(session, Continue(reason="go on"))

    assert heard_on_coming_back(around.sessions()) == [Cause.OPERATOR]
