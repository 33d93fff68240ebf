"""The saved state of a tripped run, as a person reads it."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from sidecar.adapters.loop_files import WAITING_MAX, LoopFiles, file_name
from sidecar.core.opening import Opening
from sidecar.core.turn import Failure, Turn
from sidecar.nowhere import NoKeeper, NoRecorder
from sidecar.policies import Policies
from sidecar.ports import NUMBER_MAX, Entry
from sidecar.presets import preset
from sidecar.sessions.sessions import SessionBounds, Sessions
from sidecar.testing import FakeClock, Losses, MemoryStore

FAILURE = Failure(fingerprint=b"12345678", strict=b"12345678")


def spin(sessions: Sessions, session_id: str, *, approach: str = "try it again") -> None:
    """A run that trips at its fifth turn."""
    opening = Opening(session_id=session_id, policy="autonomous")
    session, _ = sessions.open(opening, None)
    for sequence in range(1, 6):
        turn = Turn(sequence=sequence, failures=(FAILURE,), approach=approach)
        sessions.turn(session, turn, bytes(8))


def sessions_over(files: LoopFiles | NoKeeper, store: MemoryStore) -> Sessions:
    return Sessions(
        policies=Policies(by_name={"autonomous": preset("autonomous")}, default="autonomous"),
        bounds=SessionBounds(),
        clock=FakeClock(),
        journal=store,
        snapshots=store,
        recorder=NoRecorder(),
        keeper=files,
    )


def test_a_trip_saves_the_table_the_approaches_and_the_panels(tmp_path: Path) -> None:
    store = MemoryStore(lost=Losses())
    files = LoopFiles(tmp_path / "runs", store, files_max=10, lost=Losses())
    sessions = sessions_over(files, store)
    spin(sessions, "s")
    assert files.close(5)
    path = Path(sessions.get("s").saved_path)
    text = path.read_text()

    assert path == tmp_path / "runs" / "s.md"
    assert "| 5 | - | 3132 | - | TRIPPED (same error 5x) |" in text
    assert "try it again (iterations 1-5): ended: spin" in text
    assert f"- **State saved**: {path}" in text


def test_what_would_steer_a_terminal_is_an_escape_in_the_file(tmp_path: Path) -> None:
    store = MemoryStore(lost=Losses())
    files = LoopFiles(tmp_path / "runs", store, files_max=10, lost=Losses())
    spin(sessions_over(files, store), "s", approach="a\x1b[2J\x07\u202eb")
    assert files.close(5)
    text = (tmp_path / "runs" / "s.md").read_text()

    assert r"a\x1b[2J\x07\u202eb (iterations 1-5)" in text
    assert {character for character in text if not character.isprintable()} == {"\n"}


def test_the_oldest_files_are_removed_beyond_the_bound(tmp_path: Path) -> None:
    store = MemoryStore(lost=Losses())
    files = LoopFiles(tmp_path / "runs", store, files_max=2, lost=Losses())
    sessions = sessions_over(files, store)
    for name in ("a", "b", "c"):
        spin(sessions, name)
    assert files.close(5)

    assert len(list((tmp_path / "runs").glob("*.md"))) == 2


def test_a_directory_that_cannot_be_made_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store, losses = MemoryStore(lost=Losses()), Losses()
    files = LoopFiles(tmp_path / "file" / "runs", store, files_max=2, lost=losses)
    spin(sessions_over(files, store), "s")

    assert files.close(5)
    assert losses.counts == {("loop_file", "unwritable"): 1}


class StandingStore(MemoryStore):
    """A store that is read once its gate is open."""

    def __init__(self) -> None:
        super().__init__(lost=Losses())
        self.asked = threading.Event()
        self.gate = threading.Event()

    def read(
        self, session_id: str, *, after: int = 0, until: int = NUMBER_MAX, last: int = 1_000_000
    ) -> Sequence[Entry]:
        self.asked.set()
        assert self.gate.wait(10)
        raise RuntimeError("and then it cannot be read")


def test_what_is_not_written_is_counted(tmp_path: Path) -> None:
    store, losses = StandingStore(), Losses()
    files = LoopFiles(tmp_path / "runs", store, files_max=2, lost=losses)
    sessions = sessions_over(NoKeeper(), store)
    session, _ = sessions.open(Opening(session_id="s"), None, {"s": None})
    assert files.keep(session)
    assert store.asked.wait(10)
    paths = [files.keep(session) for _ in range(WAITING_MAX + 3)]

    assert paths.count("") == 3
    assert losses.counts == {("loop_file", "queue_full"): 3}
    assert not files.close(0.01)
    assert losses.counts["loop_file", "closing"] == WAITING_MAX + 1
    store.gate.set()
    assert files.close(10)
    assert losses.counts["loop_file", "fault"] == WAITING_MAX + 1


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", ".", "x" * 200, "söng", "a b"])
def test_a_name_stays_in_its_directory_and_is_no_other_s(name: str) -> None:
    made = file_name(name)

    assert "/" not in made
    assert not made.startswith(".")
    assert len(made) < 100
    assert made != file_name(name + "!")


def test_a_plain_name_is_kept() -> None:
    assert file_name("run-7.b_1") == "run-7.b_1.md"
