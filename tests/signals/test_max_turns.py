"""max_turns: turns and time against the run's limits."""

import pytest

from sidecar.core.limits import Limits
from sidecar.core.turn import Turn
from sidecar.signals.max_turns import MAX_TURNS, MaxTurnsThresholds
from tests.signals.tables import check_signal, fold, turns

GAIA = MaxTurnsThresholds(turns_max=20, warning_ratio=None)


def bare(count: int) -> list[Turn]:
    return [Turn(sequence=sequence) for sequence in range(1, count + 1)]


@pytest.mark.parametrize(
    ("why", "limit", "readings"),
    [
        ("notice from 80 %, break at the limit", 5, "...nbb"),
        ("80 % of 4 is 3.2: no notice at 3", 4, "...bbb"),
        ("28 of 35 is exactly 80 %", 35, "." * 27 + "nnnnnnnb"),
        ("a limit of 1 breaks at once", 1, "bbb"),
        ("no limit, no reading", None, "." * 30),
    ],
)
def test_turns_against_the_limit(why: str, limit: int | None, readings: str) -> None:
    check_signal(MAX_TURNS, bare(len(readings)), readings, limits=Limits(max_turns=limit))


def test_gaia_breaks_at_20_without_a_warning() -> None:
    check_signal(MAX_TURNS, bare(21), "." * 19 + "bb", GAIA)


def test_the_runs_limit_replaces_the_presets() -> None:
    check_signal(MAX_TURNS, bare(4), "...b", GAIA, Limits(max_turns=4))
    check_signal(MAX_TURNS, bare(20), "." * 19 + "b", GAIA, Limits(cost_usd_max=1.0))


@pytest.mark.parametrize(
    ("why", "start_s", "end_s", "readings"),
    [
        ("notice at 80 s of 100, break at 100", [1000, 1040], [1040, 1080], ".n"),
        ("exactly the limit breaks", [1000, 1040], [1040, 1100], ".b"),
        ("the pauses between turns count", [1000, 1099], [1001, 1100], ".b"),
        ("a clock that goes back takes nothing off", [1000, 900, 1001], [1090, 910, 1002], "nnn"),
        ("a run that starts late is measured from there", [None, 1000], [None, 1090], ".n"),
        ("with starts alone the last start stands", [1000, 1090], [None, None], ".n"),
        ("with ends alone the first end stands", [None, None], [1000, 1090], ".n"),
        ("without times there is no span", [None, None], [None, None], ".."),
        ("what is no time is passed over", [1000, float("nan")], [1001, float("inf")], ".."),
        ("nor is a negative one", [-1e9, 1000], [-1e9, 1001], ".."),
        ("a span below 0 is none", [1000], [500], "."),
    ],
)
def test_span_of_times(
    why: str, start_s: list[float | None], end_s: list[float | None], readings: str
) -> None:
    run = turns(start_s=start_s, end_s=end_s)
    check_signal(MAX_TURNS, run, readings, limits=Limits(duration_max_s=100.0))


def test_the_worse_of_turns_and_time_is_read() -> None:
    run = turns(start_s=[0.0, 10.0], end_s=[10.0, 100.0])
    limits = Limits(max_turns=2, duration_max_s=120.0)
    assert "turns" in check_signal(MAX_TURNS, run, ".b", limits=limits)[-1].summary
    limits = Limits(max_turns=2 + 1, duration_max_s=100.0)
    assert " s of " in check_signal(MAX_TURNS, run, ".b", limits=limits)[-1].summary


def test_a_turn_that_measures_nothing_is_counted() -> None:
    run = [Turn(sequence=1, output_lines=3), Turn(sequence=2), Turn(sequence=3)]
    check_signal(MAX_TURNS, run, "..b", limits=Limits(max_turns=3))


def test_the_summary_names_both_numbers() -> None:
    readings = fold(MAX_TURNS, bare(4), MaxTurnsThresholds(turns_max=5))
    assert readings[-1].summary == "the run has taken 4 of its 5 turns"
    assert (readings[-1].value, readings[-1].threshold) == (4, 5)


def test_limits_of_zero_and_nan_do_no_harm() -> None:
    nothing = MaxTurnsThresholds(turns_max=0, duration_max_s=float("nan"))
    check_signal(MAX_TURNS, turns(start_s=[1.0, 2.0], end_s=[2.0, 3.0]), "bb", nothing)


def test_a_warning_ratio_above_1_is_refused() -> None:
    with pytest.raises(ValueError, match=r"warning_ratio is 80: .* at most 1"):
        MaxTurnsThresholds(warning_ratio=80)
