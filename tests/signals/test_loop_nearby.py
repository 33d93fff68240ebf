"""The same call and result again and again, with other calls in between."""

from dataclasses import replace

import pytest

from sidecar.core.turn import Progress
from sidecar.signals.loop import LOOP
from tests.signals.calls import only, run
from tests.signals.tables import check_signal


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("three times warn, five break", "a i= a j= a i= a j= a", "....w.w.b"),
        ("with one new thing among them too", "a i= a n j= a", ".....w"),
        ("with two new ones among five", "a n m a i= a", ".....w"),
        ("with two new ones among four they are looks", "a n m a a", "....."),
        ("at most twelve calls apart", "a i= i= i= i= a i= i= i= i= i= i= a", "." * 13),
        ("twelve are not too many", "a i= i= i= i= a i= i= i= i= i= a", "." * 11 + "w"),
        ("another result is another matter", "a:x i= a:y i= a:x i= a:y i=", "." * 8),
        ("a successful write starts it again", "a i= a w^* a i= a", "." * 7),
        ("a write that failed does not", "a i= a w^! a", "....w"),
        ("a look between work is none", "a n(1) a n(2) a n(3) a n(4) a", "." * 9),
        ("nor is one between more work", "a n(1) m(1) a n(2) m(2) a n(3) m(3) a", "." * 10),
        (
            "a test that fails and works by turns is none",
            "a:x! i= a:y i= a:x! i= a:y i= a:x!",
            "." * 9,
        ),
        ("silence does not count", "a= i= a= i= a= i= a=", "." * 7),
        ("nor does an acknowledgement", "a* i= a* i= a* i= a*", "." * 7),
        ("nor what was not reported", "a? i= a? i= a? i= a?", "." * 7),
        ("nor waiting", "a~ i= a~ i= a~ i= a~", "." * 7),
        ("nor what is still running", "a& i= a& i= a& i= a&", "." * 7),
        ("nor coming back to a page", "a/ i= a/ i= a/ i= a/", "." * 7),
        ("nor looking again after a pause", "a w~= a w~= a w~= a w~= a", "." * 9),
        ("whether or not it fails", "a! w~= a! w~= a!", "....."),
        ("a person's word starts the look-back afresh", "a i= a >i= a i= a", "." * 7),
    ],
)
def test_nearby(why: str, words: str, readings: str) -> None:
    check_signal(LOOP, run(words), readings, only("nearby"))


def test_a_changed_file_starts_it_again() -> None:
    turns = run("a i= a i= a i= a")
    turns[3] = replace(turns[3], progress=Progress(files_changed=1))
    check_signal(LOOP, turns, ".......", only("nearby"))


def test_nearby_evidence_names_tool_turns_and_count() -> None:
    reading = check_signal(LOOP, run("i= Read i= Read i= Read"), ".....w", only("nearby"))[-1]
    assert reading.summary == (
        "`Read` was called 3 times within 12 calls with the same arguments and the same result "
        "(turns 2, 4, 6), with no successful write in between"
    )
    assert (reading.value, reading.threshold) == (3, 3)


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        ("six failures warn, nine break", "e({n})^* test!", "." * 11 + "w.w.w.b.b.b.b"),
        ("silent edits are work like others", "e({n})^= test!", "." * 11 + "w.w.w.b.b.b.b"),
        ("a test that goes on passing is none", "e({n})^* test", "." * 24),
        (
            "where something is learned in between none is",
            "r({n}) e({n})^* test!",
            "." * 36,
        ),
        ("one that fails in another way is none", "e({n})^* test:{n}!", "." * 24),
        ("a silent failure says nothing", "e({n})^* test=!", "." * 24),
    ],
)
def test_far(why: str, words: str, readings: str) -> None:
    twelve_times = " ".join(words.format(n=place) for place in range(12))
    check_signal(LOOP, run(twelve_times), readings, only("far"))


def test_failures_more_than_forty_calls_apart_are_left_alone() -> None:
    words = " ".join(f"e({n})^* f({n}) g({n}) h({n}) i({n}) j({n}) k({n}) test!" for n in range(20))
    check_signal(LOOP, run(words), "." * 160, only("far"))


def test_far_evidence_names_tool_turns_and_count() -> None:
    words = " ".join(f"e({n})^* test!" for n in range(6))
    reading = check_signal(LOOP, run(words), "." * 11 + "w", only("far"))[-1]
    assert reading.summary == (
        "`test` failed 6 times within 40 calls with the same arguments and the same result "
        "(turns 2, 4, 6, 8, 10, 12), whatever was done in between"
    )
    assert (reading.value, reading.threshold) == (6, 6)


@pytest.mark.parametrize(
    ("why", "words", "readings"),
    [
        (
            "two failures by turns",
            " ".join(f"e({n})^* t:{n % 2}!" for n in range(9)),
            ".." * 5 + ".w" * 3 + ".b",
        ),
        (
            "three failures by turns",
            " ".join(f"e({n})^* t:{n % 3}!" for n in range(6)),
            ".." * 5 + ".w",
        ),
        (
            "a failure that is new each time",
            " ".join(f"e({n})^* t:{n}!" for n in range(20)),
            "." * 40,
        ),
        (
            "two results by turns that are no failures",
            " ".join(f"e({n})^* t:{n % 2}" for n in range(20)),
            "." * 40,
        ),
        (
            "what failed before it worked does not count",
            " ".join(f"e({n})^* t:{'y' if n == 5 else 'x!'}" for n in range(11)),
            "." * 22,
        ),
        (
            "results that were left behind do not count",
            " ".join(f"e({n})^* t:{n // 3}!" for n in range(24)),
            "." * 48,
        ),
        (
            "a new failure among them does not count",
            " ".join(f"e({n})^* t:{r}!" for n, r in enumerate("aabcadaea")),
            "." * 18,
        ),
    ],
)
def test_far_counts_failures_that_come_by_turns_together(
    why: str, words: str, readings: str
) -> None:
    check_signal(LOOP, run(words), readings, only("far"))


def test_far_evidence_says_that_the_results_came_by_turns() -> None:
    words = " ".join(f"e({n})^* t:{n % 2}!" for n in range(6))
    reading = check_signal(LOOP, run(words), "." * 11 + "w", only("far"))[-1]
    assert reading.summary == (
        "`t` failed 6 times within 40 calls with the same arguments and one of the same 2 results "
        "(turns 2, 4, 6, 8, 10, 12), whatever was done in between"
    )
