"""Sessions that come back from the store: what is told of them, where they stand, their limits."""

import pytest

from sidecar.core.directive import Strength
from sidecar.core.limits import Limits
from sidecar.core.opening import Beginning, Closing, Opening
from sidecar.core.turn import Turn
from sidecar.policies import Policies
from sidecar.ports import Entry
from sidecar.presets import preset
from sidecar.sessions.archive import Archive
from sidecar.sessions.session import Session
from sidecar.testing import MemoryStore
from sidecar.testing.recorder import WasClosed
from tests.edges.around_sessions import Around, warned


@pytest.mark.parametrize("has_snapshot", [True, False])
def test_a_session_that_goes_on_from_another_is_closed_with_the_turns_of_its_own(
    has_snapshot: bool,
) -> None:
    around = Around()
    sessions = around.sessions()
    before, _ = sessions.open(Opening(session_id="before"), None)
    for sequence in (1, 2, 3):
        sessions.turn(before, Turn(sequence=sequence), bytes(8))
    session, _ = sessions.open(Opening(session_id="s", previous_session_id="before"), None)
    sessions.turn(session, Turn(sequence=1), bytes(8))
    if not has_snapshot:
        around.store.break_snapshot("s")
    sessions = around.sessions()
    sessions.close(sessions.get("s"), Closing())

    (closed,) = around.recorder.of(WasClosed)
    assert closed.turns == 1


def test_a_session_is_closed_with_the_strongest_directive_of_before_a_restart() -> None:
    around = Around()
    warned(around.sessions(), None)
    sessions = around.sessions()
    session = sessions.get("s")
    sessions.turn(session, Turn(sequence=2), bytes(8))
    sessions.close(session, Closing())

    (closed,) = around.recorder.of(WasClosed)
    assert closed.strongest >= Strength.ROTATE
    assert closed.strongest == session.strongest


def test_a_watcher_hears_of_sessions_that_come_back_from_the_store() -> None:
    around = Around()
    warned(around.sessions(), None)
    sessions = around.sessions()
    seen: list[str] = []
    sessions.watch(lambda session: seen.append(session.id))
    sessions.get("s")

    assert seen == ["s"]


def test_a_session_that_comes_back_stands_at_its_place_among_the_others() -> None:
    around = Around()
    sessions = around.sessions()
    for name in "abc":
        sessions.open(Opening(session_id=name), None)
        around.clock.advance(1)
    sessions = around.sessions()
    for name in "cab":
        sessions.get(name)

    assert [session.id for session in sessions.held()] == ["c", "b", "a"]


LIMITED = Opening(session_id="s", policy="default", limits=Limits(max_turns=9))


@pytest.mark.parametrize(
    ("first", "max_turns"),
    [
        pytest.param(Beginning(opening=LIMITED, limits=Limits(max_turns=5)), 5, id="as given"),
        pytest.param(LIMITED, 7, id="in a journal of before limits were kept: as given now"),
    ],
)
def test_a_session_comes_back_from_its_journal_alone_under_its_limits(
    first: Beginning | Opening, max_turns: int
) -> None:
    store = MemoryStore(lost=lambda *_: None)
    store.append(Entry(session_id="s", number=1, time_s=0.0, event=first))
    policies = Policies(by_name={"default": preset("default")}, ceiling=Limits(max_turns=7))
    session = Archive(
        policies=policies, journal=store, snapshots=store, decisions_kept_max=8
    ).session("s")

    assert isinstance(session, Session)
    assert session.run.state.limits.max_turns == max_turns
    assert session.facts.opening == LIMITED
