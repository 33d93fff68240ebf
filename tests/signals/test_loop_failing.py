"""The same call failing, whatever the error says; and the same call denied."""

from dataclasses import replace

import pytest

from sidecar.core.turn import Progress
from sidecar.signals.loop import LOOP
from tests.signals.calls import only, run
from tests.signals.tables import check_signal


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("three times warn, four break", "a! a! a! a!", "..wb"),
        ("the text of the error may differ", "a:x! a:y! a:z! a:x!", "..wb"),
        ("a call that succeeds is none", "a:x a:y a:z a:x", "...."),
        ("a success starts the count again", "a! a! a a! a! a!", ".....w"),
        ("other arguments are another call", "a(1)! a(2)! a(3)! a(4)!", "...."),
        ("refusals do not count", "a# a# a! a!", "...."),
        ("another line starts the count again", "a:x@1! a:x@1! a:x@2! a:x@2! a:x@2!", "....w"),
        ("an error that moves every time is none", "a:w@1! a:x@2! a:y@3! a:z@4!", "...."),
        ("a line that comes to be named starts it again", "a:x! a:x! a:y@1! a:y@1!", "...."),
        ("the same text after news starts it again", "a! a! b a! a!", "....."),
        ("the same text after a silent step is the same", "a! a! b= a! a!", "...wb"),
        (
            "another text after a silent step is not",
            "a:x! b(1)= a:y! b(2)= a:z! b(3)= a:w!",
            ".......",
        ),
        ("another text after a step seen before is", "b= a:x! b= a:y! b= a:z! b= a:w!", ".....w.b"),
        ("what fails after mere waiting is waited for", "a:x! b(1)~= a:y! b(2)~= a:z!", "....."),
        (
            "edits between failing tests are work",
            "t:9! e(1)^* t:8! e(2)^* t:7! e(3)^* t:6!",
            ".......",
        ),
        ("so are silent ones", "t:9! e(1)^= t:8! e(2)^= t:7! e(3)^= t:6!", "......."),
        ("a wait that fails is not over yet", "a~! a~! a~! a~!", "...."),
        ("a batch counts like as many turns", "a:x!+a:y!+a:z!+a:w!", "b"),
        ("a person's word starts the look-back afresh", "a! a! a! >a! a! a! a!", "..w..wb"),
    ],
)
def test_failing(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("failing"))


def test_another_text_after_a_changed_file_starts_it_again() -> None:
    turns = run("a:w! a:x! a:y! a:z!")
    turns[2] = replace(turns[2], progress=Progress(files_changed=1))
    check_signal(LOOP, turns, "....", only("failing"))


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("twice warns, three times break", "a# a# a# a#", ".wbb"),
        ("whatever was done in between", "a# b c(1) a# d e^ a#", "...w..b"),
        ("other arguments may be allowed", "a(1)# a(2)# a(3)#", "..."),
        ("a call that was made in between was allowed", "a# a a# a#", "...w"),
        ("a failure is no refusal", "a! a! a!", "..."),
        ("a person may allow it now", "a# a# >a# a#", ".w.w"),
    ],
)
def test_refusal(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("refusal"))


def test_the_evidence_of_failures_names_tool_turns_and_count() -> None:
    reading = check_signal(LOOP, run("- run:x! run:y! run:z!"), "...w", only("failing"))[-1]
    assert reading.summary == (
        "`run` failed 3 times in a row with the same arguments (turns 2, 3, 4), "
        "and no step in between is known to have changed anything"
    )
    assert (reading.value, reading.threshold) == (3, 3)


def test_the_evidence_of_refusals_names_tool_turns_and_count() -> None:
    reading = check_signal(LOOP, run("rm# ls rm#"), "..w", only("refusal"))[-1]
    assert reading.summary == "the same call of `rm` was denied 2 times (turns 1, 3)"
    assert (reading.value, reading.threshold) == (2, 2)
