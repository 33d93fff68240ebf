"""A session that comes back from the store is the one that was left, whatever was done to it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.opening import Closing, Continue, Mode, Opening, Reset
from sidecar.core.snapshot import VERSION
from sidecar.core.turn import Turn
from sidecar.policies import Policies
from sidecar.ports import Entry
from sidecar.presets import preset
from sidecar.refusal import Reason, Refusal
from sidecar.sessions.archive import Archive
from sidecar.sessions.restoring import Unusable
from sidecar.sessions.session import KEPT_ALIVE_SHARE, Session
from sidecar.sessions.sessions import SessionBounds, Sessions
from sidecar.testing import MemoryStore
from sidecar.testing.recorder import WasLost
from tests.edges.around_sessions import WAIT_MAX_S, Around, Listening
from tests.edges.stores import FLUSH_S, saved, sqlite_store

OPENING = Opening(session_id="s", policy="pausing", previous_session_id="of another sidecar")
OF_THIS_PROCESS = {"answered", "outbox", "recalled", "saved_at"}
"""What is not kept, or is about what is kept. The answers come back by a look of their own."""
IDLE_TTL_S = SessionBounds().session_idle_ttl_s
HEARTBEAT_S = 30.0


class Keeper:
    """Saves nothing, at a place of its own."""

    def keep(self, session: Session) -> str:
        return f"/runs/{session.id}.md"


@dataclass(slots=True)
class Keeping(Around):
    """Around sessions, with a place for those that tripped."""

    def sessions(self) -> Sessions:
        sessions = Around.sessions(self)
        sessions._keeper = Keeper()
        return sessions


def wait(around: Around, sessions: Sessions, session: Session) -> None:
    """A turn that asks for a person."""
    sessions.turn(session, Turn(sequence=2, id="aw"), bytes(8))


def be_told(around: Around, sessions: Sessions, session: Session) -> None:
    """A turn that asks for a person, who does not come."""
    wait(around, sessions, session)
    around.clock.advance(WAIT_MAX_S)
    sessions.sweep()


def be_closed(around: Around, sessions: Sessions, session: Session) -> None:
    """A turn that asks for a person, and the end of the run."""
    wait(around, sessions, session)
    sessions.close(session, Closing(reason="over"))


def trip(around: Around, sessions: Sessions, session: Session) -> None:
    """A turn after which the state of the run is saved for a person."""
    sessions.turn(session, Turn(sequence=2, id="ab"), bytes(8))


def be_spoken_to(around: Around, sessions: Sessions, session: Session) -> None:
    """A turn that ends the run, and the word of a person, which lets it go on."""
    trip(around, sessions, session)
    sessions.turn(session, Turn(sequence=3, id="a3", user_input=True), bytes(8))


def answer(around: Around, sessions: Sessions, session: Session) -> None:
    """A turn with the answer of the run, and one after it."""
    sessions.turn(session, Turn(sequence=2, has_final_answer=True), bytes(8))
    sessions.turn(session, Turn(sequence=3), bytes(8))


END = Callable[[Around, Sessions, Session], None]
MAKES: dict[END, set[str]] = {
    wait: {"waits_until_s", "last_directive", "strongest"},
    be_told: {"unasked", "last_directive", "strongest"},
    be_closed: {"closing", "last_directive", "strongest"},
    trip: {"saved_path", "ended_by"},
    be_spoken_to: {"saved_path"},
    answer: {"has_final_answer"},
}
ALWAYS = {"requests", "turn_ids", "client_instance", "give_ups"}
OF_SUCCESSORS = {"turns_before"}
OF_SNAPSHOTS = {"saved_path", "client_instance", "give_ups"}
"""What the journal does not have: the path of a file, and what is counted of the client."""


def left(around: Around, end: END) -> Session:
    """A session with something in every field that its end fills, and its agent gone."""
    sessions, listening = around.sessions(), Listening()
    session, _ = sessions.open(OPENING, listening)
    around.clock.advance(10)
    sessions.command(session, Continue(reason="go on", request_id="r1"))
    sessions.turn(session, Turn(sequence=1, id="t1"), bytes(8))
    session.keep_give_ups("client", (("timeout", 3),))
    around.clock.advance(10)
    end(around, sessions, session)
    sessions.detach(session, listening)
    return session


def kept_of(session: Session) -> dict[str, Any]:
    names = set(Session.__slots__) - OF_THIS_PROCESS
    return {name: getattr(session, name) for name in names}


@pytest.mark.parametrize("end", MAKES)
def test_every_field_comes_back_from_the_snapshot_alone(end: END) -> None:
    around = Keeping()
    before = left(around, end)
    (snapshot,) = around.store.recent(1)
    again = around.sessions().get("s")

    assert snapshot.number == before.entries
    assert all(kept_of(before)[name] for name in MAKES[end] | ALWAYS)
    assert kept_of(again) == kept_of(before)


@pytest.mark.parametrize("end", MAKES)
def test_every_field_but_those_of_snapshots_comes_back_from_the_journal_alone(end: END) -> None:
    around = Keeping()
    before = kept_of(left(around, end))
    around.store.break_snapshot("s")
    again = kept_of(around.sessions().get("s"))
    for name in OF_SNAPSHOTS:
        del before[name], again[name]

    assert again == before


def test_the_cases_fill_every_field_that_can_be_empty() -> None:
    around = Around()
    sessions = around.sessions()
    fresh, _ = sessions.open(Opening(session_id="s"), None)
    empty = {name for name, kept in kept_of(fresh).items() if not kept}

    assert empty == set().union(*MAKES.values()) | ALWAYS | OF_SUCCESSORS


@pytest.mark.parametrize("command", [Continue(request_id="r1"), Reset(request_id="r1")])
def test_a_request_that_a_snapshot_of_before_their_kinds_names_is_not_done_again(
    command: Continue | Reset,
) -> None:
    around = Around()
    left(around, wait)
    (kept,) = around.store.recent(1)
    del kept.session["facts"]["obeyed"]
    kept.session["facts"]["requests"] = ["r1"]
    around.store.save(kept)
    sessions = around.sessions()
    session = sessions.get("s")
    before = session.entries
    sessions.command(session, command)

    assert session.entries == before


@pytest.mark.parametrize("session_id", ["s", "s.2"])
def test_give_ups_that_were_counted_are_known_after_a_crash_and_to_the_session_after(
    session_id: str,
) -> None:
    around = Around()
    sessions = around.sessions()
    session, _ = sessions.open(OPENING, None)
    sessions.keep_give_ups(session, "client", (("timeout", 3),))
    sessions.open(Opening(session_id="s.2", previous_session_id="s"), None)
    again = around.sessions().get(session_id)

    assert (again.client_instance, again.give_ups) == ("client", (("timeout", 3),))


@pytest.mark.parametrize("has_snapshot", [True, False])
def test_a_session_whose_policy_is_gone_goes_on_under_no_other(has_snapshot: bool) -> None:
    around = Around()
    left(around, wait)
    if not has_snapshot:
        around.store.break_snapshot("s")
    archive = Archive(
        policies=Policies(by_name={"default": preset("default")}),
        journal=around.store,
        snapshots=around.store,
        decisions_kept_max=256,
    )

    assert archive.session("s") is Unusable.POLICY_GONE


@dataclass(slots=True)
class Losing(Around):
    """Around sessions, where the policy "pausing" may be configured no more."""

    has_pausing: bool = True

    def sessions(self) -> Sessions:
        sessions = Around.sessions(self)
        if not self.has_pausing:
            by_name = {"default": preset("default")}
            sessions.policies = sessions.archive._policies = Policies(by_name=by_name)
        return sessions


def lost_of(around: Around) -> list[tuple[str, str, int]]:
    return [(lost.what, lost.reason, lost.count) for lost in around.recorder.of(WasLost)]


@pytest.mark.parametrize("step", [-1, 1])
@pytest.mark.parametrize(("is_pruned", "last_sequence"), [(True, 0), (False, 2)])
def test_a_snapshot_of_another_version_is_lost_where_the_journal_cannot_make_up_for_it(
    step: int, is_pruned: bool, last_sequence: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    around = Around()
    left(around, wait)
    if is_pruned:
        around.store = without(around.store, 1, snapshot=True)
    monkeypatch.setattr("sidecar.core.snapshot.VERSION", VERSION + step)
    session, _ = around.sessions().open(Opening(session_id="s", policy="pausing"), None)

    assert session.last_sequence == last_sequence
    assert (("snapshot", "version", 1) in lost_of(around)) is is_pruned


def test_what_a_removed_policy_leaves_is_lost_once_its_session_begins_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    around = Losing()
    left(around, wait)
    around.has_pausing = False
    with pytest.raises(Refusal):
        around.sessions().open(OPENING, None)
    assert lost_of(around) == []
    around.sessions().open(Opening(session_id="s"), None)

    assert ("snapshot", "policy_gone", 1) in lost_of(around)
    assert [one.getMessage() for one in caplog.records] == [
        'session "s" begins anew: what was kept of it cannot be used (policy_gone)'
    ]


def test_a_policy_that_comes_back_finds_its_sessions_as_they_were() -> None:
    around = Losing()
    before = kept_of(left(around, wait))
    around.has_pausing = False
    assert around.sessions().find("s") is None
    around.has_pausing = True

    assert kept_of(around.sessions().get("s")) == before


def without(store: MemoryStore, number: int, *, snapshot: bool = False) -> MemoryStore:
    """The store without the entry of that number, and without a snapshot unless it is kept."""
    holed = MemoryStore(lost=lambda *_: None)
    for entry in store.read("s"):
        if entry.number != number:
            holed.append(entry)
    for kept in store.recent(1) if snapshot else ():
        holed.save(kept)
    return holed


@pytest.mark.parametrize("lost", [2, 3, 4])
def test_a_journal_with_a_hole_is_folded_up_to_it_and_no_further(lost: int) -> None:
    around = Around()
    sessions = around.sessions()
    session, _ = sessions.open(Opening(session_id="s", mode=Mode.ENFORCE), None)
    for sequence in range(1, 5):
        sessions.turn(session, Turn(sequence=sequence), bytes(8))
    around.store = without(around.store, lost)
    again = around.sessions().get("s")

    assert isinstance(around.store.read("s")[-1], Entry)
    assert (again.last_sequence, again.entries) == (lost - 2, lost - 1)


def hours_of_heartbeats(around: Around, sessions: Sessions, session: Session) -> None:
    for _ in range(int(3 * IDLE_TTL_S / HEARTBEAT_S)):
        around.clock.advance(HEARTBEAT_S)
        sessions.alive(session)
        sessions.sweep()


def test_an_agent_that_only_sent_heartbeats_for_hours_resumes_after_a_crash() -> None:
    around, listening = Around(), Listening()
    sessions = around.sessions()
    session, _ = sessions.open(Opening(session_id="s"), listening)
    sessions.turn(session, Turn(sequence=1), bytes(8))
    hours_of_heartbeats(around, sessions, session)
    around.clock.advance((1 - KEPT_ALIVE_SHARE) * IDLE_TTL_S - 1)
    again, _ = around.sessions().open(Opening(session_id="s"), listening)

    assert again.last_sequence == 1


@pytest.mark.parametrize("goes", ["the agent", "the sidecar"])
def test_whoever_goes_orderly_the_session_can_be_resumed_for_all_of_its_idle_time(
    goes: str,
) -> None:
    around, listening = Around(), Listening()
    sessions = around.sessions()
    session, _ = sessions.open(Opening(session_id="s"), listening)
    sessions.turn(session, Turn(sequence=1), bytes(8))
    hours_of_heartbeats(around, sessions, session)
    around.clock.advance(HEARTBEAT_S)
    sessions.alive(session)
    if goes == "the agent":
        around.clock.advance(HEARTBEAT_S / 2)
        sessions.detach(session, listening)
    else:
        assert sessions.save_all(1.0) == 0
    around.clock.advance(IDLE_TTL_S - 1)
    again, _ = around.sessions().open(Opening(session_id="s"), Listening())
    around.clock.advance(1)

    assert again.last_sequence == 1
    with pytest.raises(Refusal) as refused:
        around.sessions().open(Opening(session_id="s"), Listening())
    assert refused.value.reason is Reason.SESSION_CLOSED


def test_a_clock_that_is_set_forward_takes_no_session_with_a_stream_from_the_store(
    tmp_path: Path,
) -> None:
    around, listening = Around(), Listening()
    sessions = around.sessions()
    path, retention_s = tmp_path / "store.db", 2 * IDLE_TTL_S
    with sqlite_store(path, clock=around.clock, retention_s=retention_s) as store:
        sessions._journal = sessions._snapshots = store
        session, _ = sessions.open(Opening(session_id="s"), listening)
        sessions.turn(session, Turn(sequence=1), bytes(8))
        assert store.flush(FLUSH_S)
        around.clock.advance(3 * IDLE_TTL_S)
        for number in (1, 2):  # the writer looks after its bounds before its next pass begins
            store.save(saved("other", number=number, active_s=around.clock.now_s()))
            assert store.flush(FLUSH_S)
        assert (store.load("s"), list(store.read("s"))) == (None, [])
        sessions.sweep()
        kept = store.load("s")

    assert kept is not None
    assert kept.number == session.entries


def test_heartbeats_make_few_snapshots() -> None:
    around = Around()
    sessions = around.sessions()
    session, _ = sessions.open(Opening(session_id="s"), Listening())
    before = len(around.store._writes)
    hours_of_heartbeats(around, sessions, session)

    assert len(around.store._writes) - before == 3 / KEPT_ALIVE_SHARE
