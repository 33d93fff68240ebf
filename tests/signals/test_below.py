"""Below every threshold: how near each signal is, without a word."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings

from sidecar.core.limits import Limits
from sidecar.core.reading import QUIET, Reading, Severity, worse
from sidecar.core.signal import Signal
from sidecar.core.turn import Turn
from sidecar.signals import SIGNALS
from sidecar.signals.circling import CIRCLING, CirclingState, CirclingThresholds
from sidecar.signals.decline import DECLINE, DeclineThresholds
from sidecar.signals.divergence import DIVERGENCE
from sidecar.signals.drift import DRIFT
from sidecar.signals.loop import LOOP
from sidecar.signals.max_turns import MAX_TURNS
from sidecar.signals.spin import SPIN
from sidecar.signals.stall import STALL
from sidecar.signals.token_overflow import TOKEN_OVERFLOW
from tests.signals.calls import run
from tests.signals.tables import fold, turns
from tests.signals.test_laws import LENGTHS, SEEDS, random_run, thresholds

Near: TypeAlias = tuple[float, float] | None
"""Value and threshold; None: nothing measured."""


def nears(
    signal: Signal[Any, Any], turns: Sequence[Turn], limits: Limits | None = None
) -> list[Near | str]:
    """What each turn reads: how near, or the word for a raised severity."""
    chosen = signal.defaults
    if limits is not None and signal.limited is not None:
        chosen = signal.limited(chosen, limits)
    return [_near(reading) for reading in fold(signal, turns, chosen)]


def _near(reading: Reading) -> Near | str:
    if reading.severity:
        return reading.severity.name
    return None if reading == QUIET else (reading.value, reading.threshold)


def test_turns_and_time_are_held_against_their_limits_and_the_nearer_is_read() -> None:
    limits = Limits(max_turns=5, duration_max_s=10)
    spent = [Turn(sequence=n, start_s=0, end_s=float(s)) for n, s in ((1, 1), (2, 1), (3, 7))]
    assert nears(MAX_TURNS, spent, limits) == [(1, 5), (2, 5), (7, 10)]
    assert nears(MAX_TURNS, spent) == [None] * 3


def test_spending_is_held_against_its_limits_and_the_window_against_the_notice() -> None:
    limits = Limits(input_tokens_max=100, cost_usd_max=1.0)
    spent = turns(input_tokens=[10, 10, 10], cost_usd=[None, 0.5, None])
    assert nears(TOKEN_OVERFLOW, spent, limits) == [(10, 100), (0.5, 1), (0.5, 1)]
    filled = turns(context_tokens=[20, 85, 96, 40], context_window=[100] * 4)
    assert nears(TOKEN_OVERFLOW, filled) == [(0.2, 0.8), "WARNING", "WARNING", (0.4, 0.8)]


@pytest.mark.parametrize(
    ("why", "words", "expected"),
    [
        ("a new call is none", "read(a):x read(b):y", [None, None]),
        ("a repeat", "read(a):x read(a):x read(a):x", [None, (2, 3), "WARNING"]),
        ("news in between", "read(a):x read(b):y read(a):x", [None, None, None]),
        ("a failure", "run:x! run:y! run:z!", [None, (2, 3), "WARNING"]),
        ("a refusal warns as soon as it is one", "run# run#", [None, "WARNING"]),
        ("one answer", "ask(a):x ask(b):x ask(c):x", [None, (2, 4), (3, 4)]),
        ("a cycle", "a$* b$* a$* b$*", [None, None, None, (2, 10)]),
        ("turns that fail", "a! b! c!", [None, (2, 16), (3, 16)]),
        ("edits that fail", "edit(a):x^! edit(b):y^!", [None, (2, 4)]),
        ("waiting", "sleep~= sleep~= sleep~=", [None, (2, 9), (3, 9)]),
        ("the nearest of what it is", "status:x% status:x%", [None, (2, 3)]),
    ],
)
def test_what_comes_again_is_near_by_its_count(why: str, words: str, expected: list[Near]) -> None:
    assert nears(LOOP, run(words)) == expected, why


def test_the_nearest_of_the_rules_of_a_loop_is_read() -> None:
    reading = worse(
        Reading(severity=Severity.NONE, value=2, threshold=3),
        Reading(severity=Severity.NONE, value=5, threshold=6),
    )
    assert reading.value == 5
    raised = Reading(severity=Severity.WARNING, value=3, threshold=3, summary="x")
    assert worse(reading, raised) is worse(raised, reading) is raised
    assert worse(QUIET, reading) is worse(reading, QUIET) is reading


def test_an_error_is_near_by_its_turns_and_other_turns_by_nothing() -> None:
    failing = run("test:boom! look test:boom! test:boom! test:boom!")
    assert nears(SPIN, failing) == [(1, 4), None, (2, 4), (3, 4), "WARNING"]


def test_turns_without_movement_count_up_to_the_warning() -> None:
    still = turns(files_changed=[1] + [0] * 8)
    assert nears(STALL, still) == [None, *((n, 8) for n in range(1, 8)), "WARNING"]


def test_of_a_drop_of_the_output_the_low_turns_are_near() -> None:
    said = turns(
        output_lines=[10, 10, 10, 8, 12, 4, 4, 4, 3],
        context_tokens=[60] * 8 + [10],
        context_window=[100] * 9,
    )
    expected = [None, None, None, None, None, (1, 3), (2, 3), "WARNING", None]
    assert nears(DECLINE, said) == expected


def test_where_one_low_turn_is_a_decline_the_drop_is_near() -> None:
    said = turns(output_lines=[10, 10, 10, 8, 12, 4])
    founding = DeclineThresholds(break_ratio=0.7, low_turns=1, window_ratio_min=None)
    read = [_near(reading) for reading in fold(DECLINE, said, founding)]
    assert read == [None, None, None, (0.2, 0.5), None, "WARNING"]


def test_falls_of_the_score_count_up_to_the_warning() -> None:
    scored = turns(reward=[0.9, 0.8, 0.7, 0.6, 0.5])
    assert nears(DECLINE, scored) == [None, (1, 4), (2, 4), (3, 4), "WARNING"]


def test_divergence_warns_at_once_and_is_never_near() -> None:
    parted = turns(confidence=[0.1, 0.2, 0.3, 0.4], reward=[0.5, 0.5, 0.4, 0.3])
    assert nears(DIVERGENCE, parted) == [None, None, "WARNING", "WARNING"]


def test_of_the_measures_of_drift_the_nearest_is_read() -> None:
    worked = turns(
        tasks_completed=[2, 2, 6],
        tasks_aligned=[2, 2, 5],
        files_changed=[10, 10, 10],
        files_changed_outside_plan=[1, 4, None],
    )
    # After 10 tasks 0.9 of a minimum of 0.6 is as far as half a maximum; 0.25 of 0.4 is nearer.
    assert nears(DRIFT, worked) == [None, (0.25, 0.4), (0.25, 0.4)]
    assert nears(DRIFT, turns(tasks_completed=[10], tasks_aligned=[7])) == [(0.7, 0.6)]


def test_verdicts_are_near_where_one_does_not_warn() -> None:
    chosen = CirclingThresholds(warning=2, break_=3)
    _, reading = CIRCLING.step(CirclingState(in_a_row=1), Turn(sequence=1), chosen)
    assert _near(reading) == (1, 2)


@pytest.mark.parametrize("signal", [pytest.param(each, id=each.name) for each in SIGNALS])
@settings(max_examples=50, deadline=None)
@given(seed=SEEDS, length=LENGTHS)
def test_what_is_below_is_a_share_of_its_threshold_and_says_nothing(
    signal: Signal[Any, Any], seed: int, length: int
) -> None:
    for reading in fold(signal, random_run(seed, length), thresholds(signal)):
        if reading.severity is Severity.NONE and reading != QUIET:
            assert not (reading.summary or reading.notice)
            # The plan's alignment, which only drift has, is held against a minimum.
            assert 0 < reading.share < 1 or signal is DRIFT
