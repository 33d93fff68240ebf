"""The same call with the same result, with nothing new in between."""

from dataclasses import replace

import pytest

from sidecar.core.turn import Progress, Turn
from sidecar.signals.loop import LOOP
from tests.signals.calls import only, run
from tests.signals.tables import check_signal


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("three times warn, four break", "a a a a a", "..wbb"),
        ("another result starts the count again", "a a a:x a:x a:x a:x", "....wb"),
        ("two results in turn never repeat", "a:x a:y a:x a:y a:x a:y", "......"),
        ("other arguments are another call", "a a(1) a(2) a(3) a(4)", "....."),
        ("news from another call starts the count again", "a a b a a a", ".....w"),
        ("a call seen before is no news", "a b a b a b a b", ".....wwb"),
        ("a silent success of another call is no news", "a b= a c= a d= a", "....w.b"),
        ("where all are silent five break", "a= b= a= c= a= d= a= e= a=", "....w.w.b"),
        ("though they come again too", "a= b= a= b= c= a= b= a= b=", ".....wwww"),
        ("a silent call next to what says the same too", "a= b! a= b! a= b! a= b! a=", "....wwwbb"),
        ("a failure of another call is no news", "a b! a c! a d! a", "....w.b"),
        ("a write made for the first time is progress", "a w(1)^= a w(2)^= a a", "......"),
        ("the same write again is none", "a w^= a w^= a w^= a", ".....ww"),
        ("a write that failed is none", "a w(1)^! a w(2)^! a w(3)^! a", "....w.b"),
        ("what is on its way elsewhere is news", "a o(1)& a o(2)& a o(3)& a", "......."),
        ("but not a second time", "o(1)& o(2)& o(3)& a o(1)& a o(2)& a o(3)& a", ".......w.b"),
        ("an acknowledgement not had before is news", "a w(1)* a w(2)* a w(3)* a", "......."),
        ("empty results repeat like others", "a= a= a= a=", "..wb"),
        ("results that were not reported are taken as the same", "a? a? a? a?", "..wb"),
        ("failures repeat too", "a! a! a! a!", "..wb"),
        ("a question of status has one more try", "job_status job_status " * 3, "...wbb"),
        ("a write that has to do with one does not", "update_status^ update_status^ " * 2, "..wb"),
        ("a click that is confirmed has seven more", "click*$ " * 11, "." * 9 + "wb"),
        ("so has a pressed key", "press*$ " * 11, "." * 9 + "wb"),
        ("one that answers nothing has not", "press=$ press=$ press=$ press=$", "..wb"),
        ("nor has one whose result was not reported", "press?$ " * 4, "..wb"),
        ("a click that says more has not", "click$ click$ click$ click$", "..wb"),
        ("nor has one that failed", "click!$ click!$ click!$ click!$", "..wb"),
        ("a text in between is no end of it", 'a "hm" a "so" a "well" a', "....w.b"),
        ("a turn without anything is no end of it", "a - a - a - a", "....w.b"),
        ("a batch counts like as many turns", "a+a+a a", "wb"),
        ("a whole loop in one turn breaks at once", "a+a+a+a+a+a+a+a", "b"),
        ("a repeat next to new work in one batch is none", "a+b(1) a+b(2) a+b(3) a+b(4)", "...."),
        ("a person's word starts the look-back afresh", "a a >a a a a", "....wb"),
        ("a person's word alone does so too", "a a a > a a a", "..w...w"),
    ],
)
def test_repeat(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("repeat"))


def changing_files(words: str, changed: dict[int, int]) -> list[Turn]:
    """The run with so many files changed in these turns."""
    return [
        replace(turn, progress=Progress(files_changed=changed.get(turn.sequence, 0)))
        for turn in run(words)
    ]


def test_a_changed_file_starts_the_count_again() -> None:
    check_signal(LOOP, changing_files("a a a a a", {3: 1}), "....w", only("repeat"))


def test_a_changed_file_in_a_turn_without_calls_starts_the_count_again() -> None:
    check_signal(LOOP, changing_files("a a - a a a", {3: 2}), ".....w", only("repeat"))


def test_the_file_that_a_repeated_write_changes_again_is_no_progress() -> None:
    check_signal(
        LOOP, changing_files("w^ w^ w^ w^", {1: 1, 2: 1, 3: 1, 4: 1}), "..wb", only("repeat")
    )


def test_no_changed_file_is_no_progress() -> None:
    check_signal(LOOP, changing_files("a a a a", {}), "..wb", only("repeat"))


def test_the_evidence_names_tool_turns_and_count() -> None:
    reading = check_signal(LOOP, run("Grep b= Grep c= Grep"), "....w", only("repeat"))[-1]
    assert reading.summary == (
        "`Grep` was called 3 times with the same arguments and the same result (turns 1, 3, 5), "
        "with nothing new in between"
    )
    assert (reading.value, reading.threshold) == (3, 3)


def test_the_evidence_says_where_no_result_was_reported() -> None:
    reading = check_signal(LOOP, run("a? a? a?"), "..w", only("repeat"))[-1]
    assert "the same arguments and no result reported (turns 1, 2, 3)" in reading.summary


def test_a_long_repeat_is_told_as_a_stretch_of_turns() -> None:
    readings = check_signal(LOOP, run("a " * 100), "..w" + "b" * 97, only("repeat"))
    assert "called 100 times" in readings[-1].summary
    assert "(turns 37 to 100)" in readings[-1].summary
