"""Turns that only brought what their tools had said before."""

from dataclasses import replace

import pytest

from sidecar.core.turn import Progress
from sidecar.signals.loop import LOOP
from tests.signals.calls import only, run
from tests.signals.tables import check_signal


def asked(*answers: str) -> str:
    """Calls with ever new arguments: `f:x` stands for `f(0):x`, then `f(1):x`, and so on."""
    return " ".join(answer.replace(":", f"({place}):", 1) for place, answer in enumerate(answers))


OLD = ["f:x", "g:y"] * 5
"""Ten turns, the first two of them new."""


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("six turns warn, eight break", asked(*OLD, "f:x"), ".......wwbb"),
        ("a new answer starts it again", asked(*OLD[:7], "f:z", *OLD[:6]), "." * 13 + "w"),
        ("an answer is new for each tool", asked(*OLD[:7], "h:x", *OLD[:5]), "." * 13),
        ("errors are answers like others", asked(*[f"{a}!" for a in OLD[:8]]), ".......w"),
        ("the same calls are stale too", "f g f g f g f g", ".......w"),
        ("a silent turn neither adds nor resets", asked(*OLD[:7], "s:=", "f:x"), "........w"),
        ("it is read only in turns that are stale", asked(*OLD[:8], "s:="), ".......w."),
        ("nor does one that waits", asked(*OLD[:7], "f:x~", "f:x"), "........w"),
        ("nor does looking again after a pause", "s " + "w~= s " * 9, "." * 19),
        ("nor one that was not reported", asked(*OLD[:7], "f:x?", "f:x"), "........w"),
        ("nor a text", asked(*OLD[:7]) + ' "hm" f:x', "........w"),
        ("a new confirmation is movement", asked(*OLD[:7], "w:ok*", "f:x"), "........."),
        ("so is a silent write", asked(*OLD[:7], "w:=^", "f:x"), "........."),
        ("a write that failed is not", asked(*OLD[:7], "w:=^!", "f:x"), "........w"),
        ("a batch is stale when all of it is", asked("f:x+g:y", *["f:x+g:y"] * 6), "......w"),
        (
            "one new answer in a batch is enough",
            "f:x+g:1 f:x+g:2 f:x+g:3 f:x+g:4 f:x+g:5 f:x+g:6 f:x+g:7",
            ".......",
        ),
        ("a person's word starts the look-back afresh", asked(*OLD[:7]) + " >f:x", "........"),
    ],
)
def test_stale(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("stale"))


def test_a_changed_file_starts_it_again() -> None:
    turns = run(asked(*OLD))
    turns[7] = replace(turns[7], progress=Progress(files_changed=1))
    check_signal(LOOP, turns, "." * 10, only("stale"))


def test_the_evidence_names_count_and_turns() -> None:
    reading = check_signal(LOOP, run("f g f g f g f g"), ".......w", only("stale"))[-1]
    assert reading.summary == (
        "6 turns brought only results that their tools had given before (turns 3 to 8)"
    )
    assert (reading.value, reading.threshold) == (6, 6)


def test_a_turn_with_more_calls_than_the_look_back_is_read_by_its_last() -> None:
    many = "+".join(["f:x"] * 100)
    check_signal(LOOP, run(" ".join([many] * 7)), ".....w" + "w", only("stale"))
