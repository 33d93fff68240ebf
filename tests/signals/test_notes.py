"""Thoughts, plans and notes between calls, which say nothing of whether those go round."""

import pytest

from sidecar.signals.loop import LOOP
from sidecar.signals.notes import without_notes
from sidecar.signals.spin import SPIN
from tests.signals.calls import run
from tests.signals.tables import check_signal


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("a repeat", "a:x think(1)= a:x think(2)= a:x think(3)= a:x", "....w.b"),
        ("failures of one call", "a:x! think(1)= a:y! think(2)= a:z! think(3)= a:w!", "....w.b"),
        ("in turns with the calls", "think(1)=+a:x think(2)=+a:x think(3)=+a:x", "..w"),
        ("a plan", "a:x update_plan(1)= a:x update_plan(2)= a:x update_plan(3)= a:x", "....w.b"),
        (
            "one that is answered is more",
            "a:x think(1):p a:x think(2):q a:x think(3):r a:x",
            "." * 7,
        ),
        ("one that comes again is a repeat itself", "think= " * 5, "...wb"),
    ],
)
def test_loop_reads_what_stands_between_notes(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings)


def test_spin_counts_no_turn_of_notes() -> None:
    words = " ".join(f"e({n})^ think({n})= save_memory({n})= t:E!" for n in range(4))
    check_signal(SPIN, run(words), "." * 15 + "w")


def test_a_turn_without_notes_is_the_same_turn() -> None:
    (turn,) = run("a+b=")
    assert without_notes(turn) is turn
