"""The same loop again within the run breaks one step sooner; and the founding rule."""

import pytest

from sidecar.signals.loop import FOUNDING, LOOP
from tests.signals.calls import only, run
from tests.signals.tables import check_signal


@pytest.mark.parametrize(
    ("why", "rules", "words", "readings"),
    [
        ("a repeat found before", ("repeat",), "a a a n a a a", "..w...b"),
        ("it is found sooner every time", ("repeat",), "a a a n a a a m a a a", "..w...b...b"),
        ("another call has not been found", ("repeat",), "a a a n b b b", "..w...w"),
        ("a loop that never ended is no second one", ("repeat",), "a a a a", "..wb"),
        ("a failing call found before", ("failing",), "a! a! a! n a! a! a!", "..w...b"),
        ("a cycle found before", ("cycle",), "a b a b a b n a b a b", ".....b....b"),
        ("with whichever call it is met", ("cycle",), "a b a b a b n b a b a", ".....b....b"),
        (
            "the calls of a cycle are no cycle",
            ("repeat", "cycle"),
            "a b a b a b n a a a",
            ".....b...w",
        ),
        (
            "an answer found before",
            ("answer",),
            "f(1):x f(2):x f(3):x f(4):x g h i j k l m n f(5):x f(6):x f(7):x f(8):x",
            "...b" + "." * 8 + "..bb",
        ),
        ("a write made for the first time lets it pass", ("repeat",), "a a a e^* a a a", "..w...w"),
        ("the same write again does not", ("repeat",), "e^* a a a n e^* a a a", "...w....b"),
        ("nor does one that fails", ("repeat",), "a a a n e^! a a a", "..w....b"),
        ("a person's word lets it pass", ("repeat",), "a a a >n a a a", "..w...w"),
    ],
)
def test_strikes(why: str, rules: tuple[str, ...], words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only(*rules, strike_discount=1))


def test_the_evidence_gives_the_limit_that_was_held_against() -> None:
    limits = only("repeat", strike_discount=1)
    reading = check_signal(LOOP, run("a a a n a a a"), "..w...b", limits)[-1]
    assert (reading.value, reading.threshold) == (3, 3)
    assert reading.summary == (
        "`a` was called 3 times with the same arguments and the same result (turns 5, 6, 7), "
        "with nothing new in between; this loop was found before in this run"
    )


def test_without_a_discount_nothing_breaks_sooner() -> None:
    check_signal(LOOP, run("a a a n a a a"), "..w...w", only("repeat"))


def test_more_than_eight_loops_are_not_remembered() -> None:
    loops = " ".join(f"f({place}) f({place}) f({place})" for place in range(9))
    limits = only("repeat", strike_discount=1)
    check_signal(LOOP, run(f"{loops} f(0) f(0) f(0)"), "..w" * 10, limits)


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("three equal calls among five break", "a b a b a", "....b"),
        ("whatever came of them", "a:x a:y! a:z#", "..b"),
        ("a fourth call in between is one too many", "a b a b c a", "......"),
        ("calls are counted, not turns", "a+b+c a+d+e a", "..."),
        ("a batch is read as a whole", "a+a+a+b+c", "b"),
        ("what fell out of the last five within a batch is not seen", "a+a+a+b+c+d", "."),
        ("a person's word makes no difference", "a >a >a", "..b"),
        ("a turn without calls says nothing", 'a a a "hm" b', "..b.b"),
        ("there is no warning", "a a", ".."),
        ("nor any other rule", "a b c a b c a b c a b c a b c", "." * 15),
    ],
)
def test_founding(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, FOUNDING)


def test_the_founding_evidence_names_tool_turns_and_count() -> None:
    reading = check_signal(LOOP, run("a b a b a"), "....b", FOUNDING)[-1]
    assert reading.summary == (
        "`a` was called 3 times with the same arguments among the last 5 calls (turns 1, 3, 5)"
    )
    assert (reading.value, reading.threshold) == (3, 3)


def test_the_founding_evidence_names_no_tool_of_earlier_turns() -> None:
    reading = check_signal(LOOP, run("a a a b"), "..bb", FOUNDING)[-1]
    assert reading.summary.startswith("a tool was called 3 times")
