"""What holds for every signal, whatever it measures, on turns of any kind."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.core.limits import Limits
from sidecar.core.reading import QUIET
from sidecar.core.signal import Signal
from sidecar.core.snapshot import encode
from sidecar.core.turn import (
    CallKind,
    Failure,
    Outcome,
    Progress,
    ResultKind,
    ToolCall,
    Turn,
    Usage,
)
from sidecar.core.words import UNKNOWN
from sidecar.signals import SIGNALS
from tests.signals.tables import COUNTS_EVERY_TURN, restored, unmeasured

LIMITS: Final = Limits(max_turns=10, input_tokens_max=1_000, cost_usd_max=1.0, duration_max_s=100.0)
BY_NAME: Final = [pytest.param(signal, id=signal.name) for signal in SIGNALS]
TURNS_LONG: Final = 10_000
"""Turns over which the bound of the state is held, as promised."""


def thresholds(signal: Signal[Any, Any]) -> Any:
    return signal.limited(signal.defaults, LIMITS) if signal.limited else signal.defaults


# Few values each, so that repeats, cycles and streaks come up; and the ones that do harm.
COUNTS: Final = (None, 0, 1, 2, 3, 50, 1_000, -1, 2**63 - 1, 2**63, 10**400)
NUMBERS: Final = (
    *(None, 0.0, 0.3, 0.5, 0.7, 0.9, 1.0, 1.7e9 + 1 / 3, -0.0, -5.0, 5e-324, 1e308, -1e308),
    *(float("nan"), float("inf"), float("-inf")),
)
DIGESTS: Final = tuple(bytes([number]) * 8 for number in range(4))
TEXTS: Final = ("", "scout", "x" * 5_000, "\ud800", "é" * 128)


def random_turn(draw: random.Random, sequence: int) -> Turn:
    """A turn of any kind; about one in eight measures nothing."""
    actor = draw.choice(TEXTS) if draw.random() < 0.1 else ""
    if draw.random() < 0.12:
        return Turn(sequence=sequence, actor=actor)
    calls = tuple(random_call(draw) for _ in range(draw.choice((0, 1, 1, 2, 5))))
    return Turn(
        sequence=sequence,
        actor=actor,
        start_s=draw.choice(NUMBERS),
        end_s=draw.choice(NUMBERS),
        user_input=draw.random() < 0.05,
        usage=Usage(
            input_tokens=draw.choice(COUNTS),
            output_tokens=draw.choice(COUNTS),
            context_tokens=draw.choice(COUNTS),
            context_window=draw.choice(COUNTS),
            cost_usd=draw.choice(NUMBERS),
        ),
        tool_calls=calls,
        failures=tuple(random_failure(draw) for _ in range(draw.choice((0, 0, 1, 2)))),
        text=draw.choice((None, *DIGESTS)),
        text_length=draw.choice((0, 10, 500)),
        text_repeats=draw.choice((0, 0, 0, 6, 12)),
        output_lines=draw.choice(COUNTS),
        progress=Progress(
            files_changed=draw.choice(COUNTS),
            files_changed_outside_plan=draw.choice(COUNTS),
            tasks_completed=draw.choice(COUNTS),
            tasks_aligned=draw.choice(COUNTS),
            test_coverage_ratio=draw.choice(NUMBERS),
        ),
        confidence=draw.choice(NUMBERS),
        reward=draw.choice(NUMBERS),
        repeated=tuple(draw.random() < 0.5 for _ in calls),
    )


def random_call(draw: random.Random) -> ToolCall:
    return ToolCall(
        name=draw.choice(("bash", "read", "x" * 5_000)),
        tool=draw.choice(DIGESTS),
        call=draw.choice(DIGESTS),
        result=draw.choice((None, *DIGESTS)),
        outcome=draw.choice(tuple(Outcome)),
        result_kind=draw.choice(tuple(ResultKind)),
        kind=draw.choice(tuple(CallKind)),
        error_position=draw.choice((b"", *DIGESTS)),
        duration_s=draw.choice(NUMBERS),
    )


def random_failure(draw: random.Random) -> Failure:
    digest = draw.choice(DIGESTS)
    kind = draw.choice(("TypeError", "x" * 5_000))
    return Failure(kind=kind, fingerprint=digest, strict=draw.choice(DIGESTS))


def random_run(seed: int, length: int) -> list[Turn]:
    draw = random.Random(seed)
    return [random_turn(draw, sequence) for sequence in range(1, length + 1)]


SEEDS: Final = st.integers(min_value=0)
LENGTHS: Final = st.integers(min_value=0, max_value=40)


def fold(signal: Signal[Any, Any], run: Sequence[Turn], start: Any) -> tuple[Any, list[Any]]:
    state, readings = start, []
    for turn in run:
        state, reading = signal.step(state, turn, thresholds(signal))
        readings.append(reading)
    return state, readings


@pytest.mark.parametrize("signal", BY_NAME)
@settings(max_examples=50, deadline=None)
@given(seed=SEEDS, length=LENGTHS, before=LENGTHS)
def test_folding_two_runs_is_folding_one(
    signal: Signal[Any, Any], seed: int, length: int, before: int
) -> None:
    run = random_run(seed, length)
    first, second = run[:before], run[before:]
    whole = fold(signal, [*first, *second], signal.initial)
    between, earlier = fold(signal, first, signal.initial)
    after, later = fold(signal, second, between)
    assert (after, [*earlier, *later]) == whole


@pytest.mark.parametrize("signal", BY_NAME)
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, length=LENGTHS)
def test_a_snapshot_at_every_prefix_changes_nothing(
    signal: Signal[Any, Any], seed: int, length: int
) -> None:
    state = stored = signal.initial
    for turn in random_run(seed, length):
        state, reading = signal.step(state, turn, thresholds(signal))
        stored, again = signal.step(restored(stored), turn, thresholds(signal))
        assert again == reading
        assert encode(stored) == encode(state)


@pytest.mark.parametrize("signal", [one for one in BY_NAME if one.id not in COUNTS_EVERY_TURN])
@settings(max_examples=50, deadline=None)
@given(seed=SEEDS, length=LENGTHS)
def test_a_turn_without_measurements_changes_nothing_and_reads_none(
    signal: Signal[Any, Any], seed: int, length: int
) -> None:
    state = signal.initial
    for turn in random_run(seed, length):
        same, reading = signal.step(state, unmeasured(turn), thresholds(signal))
        assert same == state
        assert reading == QUIET
        state, _ = signal.step(state, turn, thresholds(signal))


@pytest.mark.parametrize("signal", BY_NAME)
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, length=LENGTHS)
def test_the_same_turns_give_the_same_readings(
    signal: Signal[Any, Any], seed: int, length: int
) -> None:
    once = fold(signal, random_run(seed, length), signal.initial)
    assert fold(signal, random_run(seed, length), signal.initial) == once


@pytest.mark.parametrize("signal", BY_NAME)
@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, length=LENGTHS)
def test_a_step_leaves_the_state_and_the_turn_that_it_is_given_as_they_are(
    signal: Signal[Any, Any], seed: int, length: int
) -> None:
    initial, state = encode(signal.initial), signal.initial
    for turn, copy in zip(random_run(seed, length), random_run(seed, length), strict=True):
        before = encode(state)
        after, _ = signal.step(state, turn, thresholds(signal))
        assert encode(state) == before
        assert repr(turn) == repr(copy)
        state = after
    assert encode(signal.initial) == initial


@pytest.mark.parametrize("signal", BY_NAME)
def test_the_state_keeps_within_its_bound_and_nothing_raises(signal: Signal[Any, Any]) -> None:
    chosen, state, largest = thresholds(signal), signal.initial, 0
    draw = random.Random(20_250_601)
    for sequence in range(1, TURNS_LONG + 1):
        state, _ = signal.step(state, random_turn(draw, sequence), chosen)
        if sequence % 7 == 0:  # the state grows by steps, and 7 goes into no window
            largest = max(largest, len(json.dumps(encode(state), separators=(",", ":"))))
    assert largest <= signal.state_bytes_max


@pytest.mark.parametrize("signal", BY_NAME)
def test_the_state_keeps_within_its_bound_on_equal_turns(signal: Signal[Any, Any]) -> None:
    chosen, state = thresholds(signal), signal.initial
    turn = random_turn(random.Random(1), 1)
    for sequence in range(1, TURNS_LONG + 1):
        state, _ = signal.step(state, replace(turn, sequence=sequence), chosen)
    assert len(json.dumps(encode(state), separators=(",", ":"))) <= signal.state_bytes_max


def test_this_is_the_order_of_precedence_and_what_each_signal_is_kept_for() -> None:
    kept = [
        (signal.name, signal.per_actor, signal.budget, signal.consecutive) for signal in SIGNALS
    ]
    assert kept == [
        ("max_turns", False, True, False),
        ("token_overflow", False, True, False),
        ("loop", True, False, True),
        ("spin", True, False, True),
        ("stall", True, False, True),
        ("decline", True, False, False),
        ("divergence", True, False, True),
        ("drift", False, False, False),
        ("circling", False, False, True),
    ]


@pytest.mark.parametrize("signal", BY_NAME)
def test_all_is_said_of_the_signal_in_words_of_its_own(signal: Signal[Any, Any]) -> None:
    words = signal.words

    assert words.measured and words.raised_by
    assert words.diagnosis != UNKNOWN.diagnosis
    assert words.suggestions != UNKNOWN.suggestions or signal.name == "max_turns"
    assert [bool(measure.within) for measure in words.measures][-1] is False


@pytest.mark.parametrize("signal", BY_NAME)
def test_without_measurements_the_state_stays_the_same_object(signal: Signal[Any, Any]) -> None:
    state, reading = signal.step(signal.initial, Turn(sequence=1), thresholds(signal))
    if signal.name not in COUNTS_EVERY_TURN:
        assert reading is QUIET
        assert state is signal.initial
