"""The demo's reference agent: beside no sidecar, where code cannot be contained, and cut short."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sidecar.demo.agent import Pace
from sidecar.demo.circle import AGAIN, NOT_CONTAINED, STUCK, Circle
from sidecar.demo.record import Ending, Record
from sidecar.demo.summary import complaints

pytestmark = pytest.mark.process

FAST = 1000.0


class Stage:
    """A circle beside nobody, and all that it shows."""

    def __init__(self, home: Path, *, speed: float = FAST, **options: Any) -> None:
        self.shown: list[Record] = []
        self.stop = threading.Event()
        self.circle = Circle(
            address=f"unix:{home}/nobody.sock",
            folder=home / "circle",
            pace=Pace(speed=speed, stop=self.stop),
            show=self.shown.append,
            timeout_s=1.0,
            label="test",
            **options,
        )

    @property
    def last(self) -> Sequence[Record]:
        """The latest record of each run."""
        latest = {record.part.name: record for record in self.shown}
        return list(latest.values())


def test_when_nobody_tells_it_it_takes_all_its_turns_and_still_answers(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.circle.play()
    stuck, again = stage.last
    assert STUCK.role.trouble is not None
    assert stuck.turns == STUCK.role.trouble.turns_unwatched
    assert (stuck.ending, stuck.answer) == (Ending.ANSWERED, "3.6")
    assert (again.part, again.ending, again.answer) == (AGAIN, Ending.ANSWERED, "4.1")
    assert complaints([stuck]) == ["coder went on without a decision in 21 of 21 turns"]


def test_where_code_cannot_be_contained_none_is_run_and_nobody_complains(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ways=())
    stage.circle.play()
    (left_out,) = stage.last
    assert (left_out.ending, left_out.remark) == (Ending.LEFT_OUT, NOT_CONTAINED)
    assert left_out.turns == 0
    assert complaints([left_out]) == []


def test_the_end_of_the_demo_cuts_it_short(tmp_path: Path) -> None:
    # Its model would reply after 500 s.
    stage = Stage(tmp_path, speed=0.001)
    playing = threading.Thread(target=stage.circle.play)
    playing.start()
    stage.stop.set()
    playing.join(timeout=30)
    assert not playing.is_alive()
    assert stage.last[0].ending is Ending.CANCELLED
