"""Turn after turn fails, whatever is tried."""

from dataclasses import replace

import pytest

from sidecar.core.turn import Progress
from sidecar.signals.loop import LOOP
from tests.signals.calls import only, run
from tests.signals.tables import check_signal

TURNS = only("failed", failed_edits_warning=None, failed_turns_warning=8, failed_turns_window=10)
EDITS = only("failed", failed_turns_warning=None)


def guesses(marks: str) -> str:
    """Calls of ever new arguments and results: `!` failed, `.` worked, anything else as a mark."""
    return " ".join(f"t({at}):r{at}" + mark.replace(".", "") for at, mark in enumerate(marks))


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("eight turns that only failed warn", guesses("!" * 9), ".......ww"),
        ("two of ten may work", guesses("!.!!!!.!!!!"), ".........ww"),
        ("three may not", guesses("!!." * 6), "." * 18),
        ("it is read only in turns that failed", guesses("!!!!!!!!.!"), ".......w.w"),
        ("a denied call is a failed one", guesses("!!!!#!!!"), ".......w"),
        ("a turn of which one call worked is none", "a!+b " * 12, "." * 12),
        (
            "a turn of which all failed is one",
            " ".join(f"a({n})!+b!" for n in range(8)),
            ".......w",
        ),
        (
            "also of many calls a turn",
            " ".join(
                "+".join(f"t({n}):r{n}!" for n in range(at, at + 9)) for at in range(0, 90, 9)
            ),
            ".......www",
        ),
        ("a search that found nothing is none", "s=! s(1)=! s(2)=! s(3)=! " * 3, "." * 12),
        ("but one of the ten", guesses("!" * 7) + " s=! s(1)=! s(2)=! t(9)!", "." * 11),
        (
            "a wait neither adds nor takes away",
            guesses("!" * 7) + " w~ w~! w~ t(9)!",
            "." * 10 + "w",
        ),
        ("a text neither adds nor takes away", guesses("!" * 7) + ' "hm" t(9)!', "........w"),
        ("a person's word starts it again", guesses("!" * 7) + " >t(9)! t(8)!", "........."),
    ],
)
def test_turns_that_only_failed(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, TURNS)


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("four turns with a failed edit warn", "e(1)^! e(2)^! e(3)^! e(4)^! e(5)^!", "...ww"),
        ("whatever is read in between", "e(1)^! r(1) e(2)^! r(2) e(3)^! r(3) e(4)^!", "......w"),
        ("one vote a turn", "e(1)^!+e(2)^! e(3)^!+e(4)^! e(5)^!", "..."),
        ("one that works starts it again", "e(1)^! e(2)^! e(3)^! e(4)^ e(5)^! e(6)^!", "......"),
        ("one denied is a failed one", "e(1)^! e(2)^! e(3)^! e(4)^#", "...w"),
        ("what a shell was given is none", "bash(1)^! bash(2)^! bash(3)^! bash(4)^!", "...."),
        ("other calls that fail are none", "e(1)^! e(2)^! e(3)^! t! u! v!", "......"),
        ("one that names a line is no refusal", "e:E@1^! e:E@2^! e:E@3^! e:E@4^! e:E@5^!", "....."),
        ("within twelve turns", "e(1)^! e(2)^! e(3)^! " + "r " * 8 + "e(4)^!", "." * 11 + "w"),
        ("not beyond", "e(1)^! e(2)^! e(3)^! " + "r " * 9 + "e(4)^!", "." * 13),
        ("it is read only in turns with a failed edit", "e(1)^! e(2)^! e(3)^! e(4)^! r", "...w."),
        ("a person's word starts it again", "e(1)^! e(2)^! e(3)^! >e(4)^!", "...."),
    ],
)
def test_edits_that_fail_again_and_again(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, EDITS)


def test_a_file_that_changed_by_other_means_starts_it_again() -> None:
    turns = run("e(1)^! e(2)^! e(3)^! t e(4)^!")
    turns[3] = replace(turns[3], progress=Progress(files_changed=1))
    check_signal(LOOP, turns, ".....", EDITS)


def test_by_default_it_takes_sixteen_of_twenty() -> None:
    check_signal(LOOP, run(guesses("!" * 17)), "." * 15 + "ww", only("failed"))


def test_the_evidence_of_failed_turns_names_count_and_turns() -> None:
    reading = check_signal(LOOP, run(guesses("!!!.!!!!!")), "........w", TURNS)[-1]
    assert reading.summary == (
        "every call failed in 8 of the last 9 turns with calls (turns 1, 2, 3, 5, 6, 7, 8, 9)"
    )
    assert (reading.value, reading.threshold) == (8, 8)


def test_the_evidence_of_failed_edits_names_count_and_turns() -> None:
    reading = check_signal(LOOP, run("e(1)^! r e(2)^! e(3)^! e(4)^!"), "....w", EDITS)[-1]
    assert reading.summary == (
        "what was to change something failed in 4 of the last 5 turns (turns 1, 3, 4, 5), and "
        "worked in none between them"
    )
    assert (reading.value, reading.threshold) == (4, 4)
