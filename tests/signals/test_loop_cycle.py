"""A sequence of calls that goes round."""

import pytest

from sidecar.signals.loop import LOOP
from tests.signals.calls import only, run
from tests.signals.tables import check_signal


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("two calls break when they went round three times", "a b a b a b a", ".....bb"),
        ("wherever the round began", "x y a b a b a b", ".......b"),
        ("three calls", "a b c a b c a b c", "........b"),
        ("six calls", "a b c d e f " * 3, "." * 17 + "b"),
        ("seven are too many", "a b c d e f g " * 3, "." * 21),
        ("one call is a plain repeat", "a a a a a a", "......"),
        ("a call may come twice in a round", "a a b a a b a a b", "........b"),
        ("the results are part of it", "a:1 b a:2 b a:3 b a:4 b", "........"),
        (
            "results that go round with the calls too",
            "a:1 b a:2 b a:1 b a:2 b a:1 b a:2 b",
            "." * 11 + "b",
        ),
        ("whichever of them is last", "b a:1 b a:2 " * 3, "." * 11 + "b"),
        ("one call more breaks the round", "a b a b c a b a b", "........."),
        ("silence goes round like other results", "a= b= a= b= a= b=", ".....b"),
        ("failures too", "a! b a! b a! b", ".....b"),
        ("waiting calls may go round", "a~ b~ a~ b~ a~ b~ a~ b~", "........"),
        ("so may looks with a pause in between", "a b~ a b~ a b~ a b~", "........"),
        ("so may results that are still running", "a& b& a& b& a& b&", "......"),
        ("a step that may have led on is no round", "a/= b/= a/= b/= a/= b/=", "......"),
        ("clicks and looks that show nothing have seven more", "a*$ b?/ " * 10, "." * 19 + "b"),
        ("a click among looks that show something has not", "a*$ b a*$ b a*$ b", ".....b"),
        ("pages that come back are one", "a/ b/ a/ b/ a/ b/", ".....b"),
        ("a batch counts like as many turns", "a+b a+b a+b", "..b"),
        ("a person's word starts the look-back afresh", "a b a b >a b a b", "........"),
    ],
)
def test_cycle(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("cycle"))


def test_the_warning_of_cycles_is_there_for_who_wants_it() -> None:
    check_signal(LOOP, run("a b a b a b"), "...wwb", only("cycle", cycle_warning=2))


def test_the_evidence_names_calls_rounds_and_turns() -> None:
    reading = check_signal(LOOP, run("x edit read edit read edit read"), "......b", only("cycle"))[
        -1
    ]
    assert reading.summary == (
        "the same 2 calls with the same results went round 3 times (turns 2 to 7), "
        "the last of them `read`"
    )
    assert (reading.value, reading.threshold) == (3, 3)
