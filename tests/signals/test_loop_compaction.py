"""The context compacted again and again; and the look-back that starts afresh with it."""

from dataclasses import replace

import pytest

from sidecar.core.turn import Turn, Usage
from sidecar.signals.loop import LOOP
from tests.signals.calls import only, run
from tests.signals.tables import check_signal


def at_levels(words: str, *thousands: int | None) -> list[Turn]:
    """The run with the context at these levels, in thousands of tokens."""
    return [
        turn if level is None else replace(turn, usage=Usage(context_tokens=level * 1000))
        for turn, level in zip(run(words), thousands, strict=True)
    ]


@pytest.mark.parametrize(
    ("why", "words", "levels", "readings"),
    [
        ("twice warns, three times break", "- - - - - -", [90, 20, 90, 20, 90, 20], "...w.b"),
        ("by half is none, by more than half is", "- - - -", [90, 45, 90, 44], "...."),
        ("a second one by more than half is", "- - - -", [90, 44, 90, 44], "...w"),
        ("news in between starts it again", "- - - n - -", [90, 20, 90, 90, 90, 20], "......"),
        ("news in the turn itself too", "- n(1) - n(2) - n(3)", [90, 20, 90, 20, 90, 20], "......"),
        ("what was seen before is no news", "n n n n n n", [90, 20, 90, 20, 90, 20], "...w.b"),
        ("an unmeasured turn is passed by", "- - - - -", [90, None, 20, 90, 20], "....w"),
        ("a person in between starts it again", "- - > -", [90, 20, 90, 20], "...."),
    ],
)
def test_compactions(why: str, words: str, levels: list[int | None], readings: str) -> None:
    check_signal(LOOP, at_levels(words, *levels), readings, only("compaction"))


def test_a_changed_file_is_progress_between_compactions() -> None:
    turns = at_levels("- - - -", 90, 20, 90, 20)
    turns[2] = replace(turns[2], progress=replace(turns[2].progress, files_changed=1))
    check_signal(LOOP, turns, "....", only("compaction"))


def test_the_evidence_names_count_and_turns() -> None:
    reading = check_signal(LOOP, at_levels("- - - -", 90, 20, 90, 20), "...w", only("compaction"))
    assert reading[-1].summary == (
        "the context was compacted 2 times with no progress in between (turns 2 to 4)"
    )
    assert (reading[-1].value, reading[-1].threshold) == (2, 2)


def test_calls_made_again_after_a_compaction_are_no_repeats() -> None:
    check_signal(LOOP, at_levels("a a a a a", 90, 91, 20, 21, 22), "....w", only("repeat"))


def test_the_context_filling_up_starts_nothing_afresh() -> None:
    check_signal(LOOP, at_levels("a a a a", 20, 50, 90, 90), "..wb", only("repeat"))
