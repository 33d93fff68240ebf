"""The snapshots of a stop: as many as there is time for, and the journal has the rest."""

from dataclasses import dataclass

from sidecar.core.opening import Opening
from sidecar.core.turn import Turn
from sidecar.ports import Saved
from sidecar.testing import FakeClock, MemoryStore
from tests.edges.around_sessions import Around

SAVE_S = 0.1
TURNS = 3


@dataclass(slots=True)
class Slowly(Around):
    """Around sessions, with a store that each snapshot takes time to give to."""

    def __post_init__(self) -> None:
        self.store = SlowStore(self)


class SlowStore(MemoryStore):
    def __init__(self, around: Around) -> None:
        super().__init__(lost=around.recorder.lost)
        self.clock: FakeClock = around.clock
        self.saved: list[str] = []

    def save(self, saved: Saved) -> None:
        super().save(saved)
        self.clock.advance(SAVE_S)
        self.saved.append(saved.session_id)


def test_what_was_active_last_is_saved_first_and_all_can_be_resumed() -> None:
    around = Slowly()
    sessions, store = around.sessions(), around.store
    assert isinstance(store, SlowStore)
    names = [f"s{number}" for number in range(20)]
    for name in names:
        session, _ = sessions.open(Opening(session_id=name), None)
        for sequence in range(1, TURNS + 1):
            sessions.turn(session, Turn(sequence=sequence), bytes(8))
    store.saved.clear()
    left = sessions.save_all(5 * SAVE_S - SAVE_S / 2)

    assert store.saved == ["s19", "s18", "s17", "s16", "s15"]
    assert left == 15
    again = around.sessions()
    assert {again.get(name).last_sequence for name in names} == {TURNS}


def test_with_time_enough_nothing_is_left_and_nothing_saved_twice() -> None:
    around = Slowly()
    sessions = around.sessions()
    session, _ = sessions.open(Opening(session_id="s"), None)
    sessions.turn(session, Turn(sequence=1), bytes(8))

    assert [sessions.save_all(1.0) for _ in range(2)] == [0, 0]
    assert isinstance(around.store, SlowStore)
    assert around.store.saved == ["s", "s"]
