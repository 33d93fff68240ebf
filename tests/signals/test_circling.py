"""circling: what verdicts amount to, how long they are read, and what starts the count again."""

import pytest

from sidecar.core.opening import Finding, Verdict
from sidecar.core.reading import QUIET, Reading, Severity
from sidecar.core.snapshot import decode, encode
from sidecar.core.turn import Turn
from sidecar.signals.circling import (
    CIRCLING,
    EMPTY,
    CirclingState,
    CirclingThresholds,
)

LETTERS = {Severity.NONE: ".", Severity.WARNING: "w", Severity.BREAK: "b"}

CIRCLES = Verdict(stuck=True, confidence=0.9, finding=Finding.CIRCLING, since=2, cited=(2, 4))

HEARD = {
    "C": CIRCLES,
    "c": Verdict(stuck=True, confidence=0.79, finding=Finding.CIRCLING),
    "n": Verdict(stuck=True, confidence=float("nan"), finding=Finding.CIRCLING),
    "s": Verdict(stuck=True, confidence=1.01, finding=Finding.CIRCLING),
    "P": Verdict(stuck=False, confidence=1.0, finding=Finding.PROGRESSING),
    "?": Verdict(stuck=False),
}
"""A verdict by its letter."""


def readings(script: str, thresholds: CirclingThresholds) -> list[Reading]:
    """Fold turns (`.`, or `!` where a person spoke) and the verdicts between them, each state
    through a snapshot."""
    state, found, sequence = EMPTY, [], 0
    for letter in script.replace(" ", ""):
        if letter in HEARD:
            assert CIRCLING.heard is not None
            state = CIRCLING.heard(state, HEARD[letter], sequence, thresholds)
        else:
            sequence += 1
            turn = Turn(sequence=sequence, user_input=letter == "!")
            state, reading = CIRCLING.step(state, turn, thresholds)
            found.append(reading)
        state = decode(CirclingState, encode(state))
    return found


@pytest.mark.parametrize(
    ("why", "script", "expected"),
    [
        ("a run that nobody judged is quiet", "....", "...."),
        ("the first verdict warns, on the turns after it", "..C.....", "..www.."),
        ("the second in a row breaks", "..C....C....", "..www.bbb."),
        ("so does every further one", "C.C.C.C.", "wbbb"),
        ("one that comes while the first is read is the second", "C.C.", "wb"),
        ("an unsure one does not count, and starts the row again", "C.c.C.", "w.w"),
        ("progress starts the row again", "C.P.C.", "w.w"),
        ("so does one whose evidence was not there", "C.?.C.", "w.w"),
        ("a judge cannot be surer than sure, nor NaN", "C.n.s..", "w..."),
        ("a person's word starts the row again", "C.!.C.", "w..w"),
        ("and quiets what was said before", "C!..", "..."),
    ],
)
def test_circling(why: str, script: str, expected: str) -> None:
    found = readings(script, CIRCLING.defaults)
    assert "".join(LETTERS[each.severity] for each in found) == expected, why


@pytest.mark.parametrize(
    ("thresholds", "expected"),
    [
        (CirclingThresholds(warning=None), ".b"),
        (CirclingThresholds(break_=None), "ww"),
        (CirclingThresholds(warning=2, break_=3), ".w"),
        (CirclingThresholds(confidence_min=0.95), ".."),
        (CirclingThresholds(confidence_min=0.9), "wb"),
    ],
)
def test_each_threshold_is_honoured(thresholds: CirclingThresholds, expected: str) -> None:
    found = readings("C.C.", thresholds)
    assert "".join(LETTERS[each.severity] for each in found) == expected


def test_a_verdict_is_read_for_as_many_turns_as_it_stands() -> None:
    found = readings("C......", CirclingThresholds(stands_turns=5))
    assert "".join(LETTERS[each.severity] for each in found) == "wwwww."


@pytest.mark.parametrize(
    ("key", "value"), [("confidence_min", 0.0), ("confidence_min", 1.1), ("stands_turns", 0)]
)
def test_thresholds_that_nothing_could_reach_are_refused(key: str, value: float) -> None:
    with pytest.raises(ValueError, match=key):
        CirclingThresholds(**{key: value})  # type: ignore[arg-type]


def test_the_summary_says_since_when_where_to_look_and_what_was_seen() -> None:
    _, second = readings("C.C.", CIRCLING.defaults)
    assert second == Reading(
        severity=Severity.BREAK,
        value=2,
        threshold=2,
        summary="a judge that saw names, labels and counts only, no texts, found that the run "
        "circles since turn 2 (see turns 2, 4), 2 times in a row; it is 90% sure",
    )


def test_a_signal_that_heard_nothing_stays_the_same_object() -> None:
    state, reading = CIRCLING.step(EMPTY, Turn(sequence=1), CIRCLING.defaults)
    assert state is EMPTY
    assert reading is QUIET
