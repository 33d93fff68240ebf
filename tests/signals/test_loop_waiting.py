"""Waiting with nothing changing, and looks at the whole that tell nothing."""

from dataclasses import replace

import pytest

from sidecar.core.reading import Severity
from sidecar.core.turn import Turn
from sidecar.signals.loop import LOOP
from tests.signals.calls import only, run
from tests.signals.tables import check_signal, fold


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("nine waits warn, ten break", "w~= " * 10, "........wb"),
        ("what is still running is waited for", "s& " * 10, "........wb"),
        ("however long each wait is", " ".join(f"w({n})~=" for n in range(10)), "........wb"),
        ("something new to see starts it again", "w~:1 " * 8 + "w~:2 w~:2", "." * 10),
        (
            "looks that fail in one of two ways, whatever each wait is",
            " ".join(f"w({n}):{'xy'[n % 2]}~!" for n in range(11)),
            ".........wb",
        ),
        (
            "that one works as another did may be something new",
            " ".join(f"w({n}):{'xy'[n % 2]}~" for n in range(11)),
            "." * 11,
        ),
        ("a look after a pause is of the same wait", "w~= s& " * 10, "." * 16 + "wwbb"),
        (
            "a second look at each of several things",
            " ".join(f"s({n}):{n}&" for n in range(12))
            + " "
            + " ".join(f"s({n}):{n}&" for n in range(12)),
            "." * 24,
        ),
        ("but a third is", "s(1):1& s(2):2& s(3):3& " * 6, "." * 13 + "wbbbb"),
        (
            "a search that answers so, whatever it is asked",
            " ".join(f"search({n}):x&" for n in range(10)),
            "........wb",
        ),
        ("news of another call starts it again", "w~= " * 8 + "n " + "w~= " * 8, "." * 17),
        ("a call seen before does not", "n " + "w~= " * 5 + "n " + "w~= " * 5, "." * 10 + "wb"),
        ("it is read only at waits", "w~= " * 9 + "a=", "........w."),
        ("a person's word does", "w~= " * 8 + ">w~= " + "w~= " * 7, "." * 16),
        ("a batch counts like as many turns", "+".join(["w~="] * 10), "b"),
    ],
)
def test_waiting(why: str, words: str, readings: str) -> None:
    words = words.replace("~:1", ":1~").replace("~:2", ":2~")
    check_signal(LOOP, run(words), readings, only("waiting"))


def test_a_changed_file_ends_the_waiting() -> None:
    turns = run("w~= " * 10)
    turns[8] = replace(turns[8], progress=replace(turns[8].progress, files_changed=1))
    check_signal(LOOP, turns, "." * 10, only("waiting"))


def test_looking_again_after_a_pause_is_no_repeat() -> None:
    check_signal(LOOP, run("s w~= s w~= s w~= s w~= s"), "." * 9, only("repeat"))


def test_looking_again_after_a_pause_has_the_patience_of_waiting_whatever_the_rule() -> None:
    check_signal(LOOP, run("s " + "w~= s " * 10), "." * 17 + "wwbb", LOOP.defaults)


def test_failing_again_after_a_pause_is_waiting_too() -> None:
    check_signal(LOOP, run("s! " + "w~= s! " * 10), "." * 16 + "wwbbb", LOOP.defaults)


def test_so_is_failing_after_a_pause_in_other_words() -> None:
    words = "s:0! " + " ".join(f"w~= s:{place}!" for place in range(1, 11))
    check_signal(LOOP, run(words), "." * 16 + "wwbbb", LOOP.defaults)


def test_a_turn_that_waits_and_looks_is_one_wait() -> None:
    check_signal(LOOP, run("w~=+s:running~ " * 11), "." * 8 + "wbb", LOOP.defaults)


def beside_others(words: str) -> list[Turn]:
    """The run of one actor, while others progress before each of its turns."""
    return [replace(turn, others_progressed=True) for turn in run(words)]


def test_waiting_for_others_that_progress_is_no_waiting_in_vain() -> None:
    check_signal(LOOP, beside_others("w~= " * 20), "." * 20)


def test_asking_how_others_do_that_progress_is_no_repeat() -> None:
    check_signal(LOOP, beside_others("list_agents:x " * 20), "." * 20)


def test_what_is_done_again_after_others_changed_something_is_no_loop() -> None:
    again = [replace(turn, others_changed=True) for turn in run("a a a a a a")]
    check_signal(LOOP, again, "." * 6)
    said = [replace(turn, others_changed=True) for turn in run('"a" "a" "a" "a"')]
    check_signal(LOOP, said, "." * 4)


def test_a_loop_beside_others_that_progress_is_one() -> None:
    check_signal(LOOP, beside_others("a a a a"), "..wb", only("repeat"))


def every(seconds: float, words: str) -> list[Turn]:
    """The run with a turn every so many seconds, each taking one second."""
    return [
        replace(turn, start_s=1e9 + place * seconds, end_s=1e9 + place * seconds + 1)
        for place, turn in enumerate(run(words))
    ]


def test_an_hour_of_waiting_breaks_whatever_the_count() -> None:
    reading = check_signal(LOOP, every(1200, "w~= w~= w~= w~= w~="), "...bb", only("waiting"))[3]
    assert reading.summary == "4 waits over 3601 s found nothing changed (turns 1 to 4)"
    assert (reading.value, reading.threshold) == (3601, 3600)


def test_two_looks_an_hour_apart_are_enough() -> None:
    check_signal(LOOP, every(3600, "w~= w~="), ".b", only("waiting"))


def test_one_wait_of_an_hour_is_not_cut_short() -> None:
    turns = [replace(turn, start_s=0.0, end_s=4000.0) for turn in run("w~=")]
    check_signal(LOOP, turns, ".", only("waiting"))


def test_ten_minutes_between_looks_are_patience() -> None:
    check_signal(LOOP, every(600, "w~= w~= w~= w~= w~= w~="), "......", only("waiting"))


@pytest.mark.parametrize("end_s", [float("nan"), float("inf"), -1e300, 0.0])
def test_a_clock_that_cannot_be_right_is_no_time(end_s: float) -> None:
    turns = every(1, "w~= w~= w~=")
    turns[2] = replace(turns[2], end_s=end_s)
    readings = fold(LOOP, turns, only("waiting"))
    assert [reading.severity for reading in readings] == [Severity.NONE] * 3


def test_the_evidence_of_waiting_names_count_and_turns() -> None:
    reading = check_signal(LOOP, run("w~= " * 9), "........w", only("waiting"))[-1]
    assert reading.summary == "9 waits in a row found nothing changed (turns 1 to 9)"
    assert (reading.value, reading.threshold) == (9, 9)


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("six warn, eight break", " ".join(f"git({n})%=" for n in range(8)), ".....wwb"),
        ("failing ones tell nothing", " ".join(f"git({n})%!" for n in range(6)), ".....w"),
        ("one that told something starts again", "git(1)% " + "git(2)%= " * 5, "......"),
        ("one that told the same again does not", "git(1)% " * 7, "......w"),
        ("any other call starts again", "git%= " * 5 + "a= git%=", "......."),
        ("a pause does not", "git%= " * 5 + "w~= git%=", "......w"),
        ("it is read only at looks", "git%= " * 6 + "w~=", ".....w."),
        ("a text does not", "git%= " * 5 + '"hm" git%=', "......w"),
        ("a person's word does", "git%= " * 5 + ">git%=", "......"),
    ],
)
def test_overviews(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("overview"))


def test_the_evidence_of_overviews_names_count_turns_and_tool() -> None:
    reading = check_signal(LOOP, run("- " + "git%= " * 6), "......w", only("overview"))[-1]
    assert reading.summary == (
        "6 looks at the whole in a row told nothing new (turns 2 to 7), the last of them by `git`"
    )
    assert (reading.value, reading.threshold) == (6, 6)
