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
        ("a batch counts like as many turns", "f(1):x+f(2):x+f(3):x+f(4):x", "w"),
        ("a person's word starts the look-back afresh", "f(1):x f(2):x >f(3):x f(4):x", "...."),
    ],
)
def test_answer(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("answer"))


def test_the_evidence_names_tool_turns_and_count() -> None:
    words = "search(1):x search(2):x g search(3):x search(4):x"
    reading = check_signal(LOOP, run(words), "....w", only("answer"))[-1]
    assert reading.summary == (
        "`search` gave the same result in 4 of the last 5 calls, whatever its arguments were "
        "(turns 1, 2, 4, 5)"
    )
    assert (reading.value, reading.threshold) == (4, 4)
