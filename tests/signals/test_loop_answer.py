"""The same result from the same tool, whatever it was asked."""

import pytest

from sidecar.signals.loop import LOOP
from tests.signals.calls import only, run
from tests.signals.tables import check_signal


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("four of five warn, five of eight break", "f(1):x f(2):x f(3):x f(4):x f(5):x", "...wb"),
        ("one call in between is allowed for", "f(1):x f(2):x g f(3):x f(4):x g f(5):x", "....w.b"),
        ("two within five are not", "f(1):x g f(2):x g f(3):x g f(4):x", "......."),
        ("but five within eight are", "f(1):x g f(2):x g f(3):x g f(4):x f(5):x", ".......b"),
        ("an error is an answer like any", "f(1):x! f(2):x! f(3):x! f(4):x!", "...w"),
        ("the tool is part of it", "f:x g:x h:x i:x j:x", "....."),
        ("another answer is another matter", "f(1):x f(2):y f(3):x f(4):y f(5):x", "....."),
        ("silence does not count", "f(1)= f(2)= f(3)= f(4)= f(5)=", "....."),
        ("nor does an acknowledgement", "f(1):x* f(2):x* f(3):x* f(4):x* f(5):x*", "....."),
        ("nor what was not reported", "f(1)? f(2)? f(3)? f(4)? f(5)?", "....."),
        ("nor waiting", "f(1):x~ f(2):x~ f(3):x~ f(4):x~ f(5):x~", "....."),
        ("one and the same call is for other rules", "f:x f:x w^= f:x f:x w(1)^= f:x", "......."),
        ("one other among them is enough", "f:x f:x f:x f(1):x f:x", "...wb"),
        ("a batch counts like as many turns", "f(1):x+f(2):x+f(3):x+f(4):x", "w"),
        ("one that was denied as a whole counts once", "f(1):x#+f(2):x#+f(3):x#+f(4):x#", "."),
        ("so does one that failed as a whole", "f(1):x!+f(2):x!+f(3):x!+f(4):x!+f(5):x!", "."),
        ("and the next turns as ever", "f(1):x!+f(2):x! f(3):x! f(4):x! f(5):x!", "...w"),
        ("calls denied turn by turn count", "f(1):x# f(2):x# f(3):x# f(4):x# f(5):x#", "...wb"),
        ("a person's word starts the look-back afresh", "f(1):x f(2):x >f(3):x f(4):x", "...."),
    ],
)
def test_answer(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("answer", answer_fruitless_break=None))


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        (
            "four of eight with nothing new in between break",
            "g f(1):x g f(2):x g f(3):x g f(4):x",
            ".......b",
        ),
        ("whatever was new before the first of them", "g h f(1):x f(2):x f(3):x f(4):x", ".....b"),
        ("something new in between", "f(1):x f(2):x g f(3):x f(4):x", "....."),
        ("a successful write in between", "f(1):x f(2):x w(1)^= f(3):x f(4):x", "....."),
        ("a failed write changes nothing", "w! f(1):x f(2):x w! f(3):x f(4):x", ".....b"),
        (
            "edits, and a test that stands still",
            " ".join(f"e({n})^= t!" for n in range(9)),
            "." * 18,
        ),
        (
            "edits, and a test that goes on passing",
            " ".join(f"e({n})^* t" for n in range(9)),
            "." * 18,
        ),
        (
            "page after page, and one that says the same",
            " ".join(f"p({n}) ls" for n in range(9)),
            "." * 18,
        ),
    ],
)
def test_fruitless_answers(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only(answer_fruitless_break=4))


def test_the_evidence_names_tool_turns_and_count() -> None:
    words = "search(1):x search(2):x g search(3):x search(4):x"
    reading = check_signal(LOOP, run(words), "....w", only("answer", answer_fruitless_break=None))[
        -1
    ]
    assert reading.summary == (
        "`search` gave the same result in 4 of the last 5 calls, whatever its arguments were "
        "(turns 1, 2, 4, 5)"
    )
    assert (reading.value, reading.threshold) == (4, 4)


def test_the_evidence_of_a_fruitless_answer_says_that_nothing_was_new() -> None:
    reading = check_signal(LOOP, run("f(1):x f(2):x f(3):x f(4):x"), "...b", LOOP.defaults)[-1]
    assert reading.summary == (
        "`f` gave the same result in 4 of the last 4 calls, whatever its arguments were "
        "(turns 1, 2, 3, 4), with nothing new since"
    )
