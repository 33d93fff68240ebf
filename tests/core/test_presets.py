"""The named policies: what each watches, and the founding numbers in them."""

import pytest

from sidecar.core.digests.subjects import Subjects
from sidecar.core.directive import Action, Strength, strength
from sidecar.core.limits import Limits
from sidecar.core.policy import Policy
from sidecar.core.reading import Severity
from sidecar.presets import PRESETS, preset
from sidecar.signals import SIGNALS
from sidecar.signals.circling import CIRCLING
from sidecar.signals.stall import StallEvidence

FOUNDING = ("gaia", "autonomous", "debug", "execute")
NO_LIMITS = Limits()


def watched(policy: Policy) -> list[str]:
    return [watch.signal.name for watch in policy.watches]


def threshold(name: str, signal: str, field: str) -> object:
    watch = next(watch for watch in preset(name).watches if watch.signal.name == signal)
    return getattr(watch.thresholds, field)


def test_the_presets_are_the_five_that_are_documented() -> None:
    assert PRESETS == ("default", "gaia", "autonomous", "debug", "execute")
    assert [preset(name).name for name in PRESETS] == list(PRESETS)


def test_another_name_is_no_preset() -> None:
    with pytest.raises(KeyError):
        preset("strict")


@pytest.mark.parametrize(
    ("name", "signals"),
    [
        ("default", "loop spin stall decline divergence drift"),
        ("gaia", "loop"),
        ("autonomous", "spin stall decline divergence drift"),
        ("debug", "spin stall decline divergence drift"),
        ("execute", "spin"),
    ],
)
def test_a_preset_watches_its_signals_and_the_budgets_in_the_order_of_precedence(
    name: str, signals: str
) -> None:
    assert watched(preset(name)) == ["max_turns", "token_overflow", *signals.split()]


def test_default_watches_every_signal_but_the_judge_s_with_its_own_defaults() -> None:
    assert [watch.thresholds for watch in preset("default").watches] == [
        signal.defaults for signal in SIGNALS if signal is not CIRCLING
    ]


@pytest.mark.parametrize(
    ("name", "signal", "field", "value"),
    [
        ("gaia", "loop", "founding_break", 3),
        ("gaia", "loop", "founding_window", 5),
        ("gaia", "loop", "repeat_break", None),
        ("gaia", "max_turns", "warning_ratio", None),
        ("gaia", "token_overflow", "budget_warning_ratio", None),
        ("autonomous", "max_turns", "warning_ratio", 0.8),
        ("autonomous", "token_overflow", "budget_warning_ratio", 0.8),
        ("autonomous", "stall", "warning", 3),
        ("autonomous", "stall", "break_", 5),
        ("autonomous", "stall", "evidence", StallEvidence.FILES),
        ("autonomous", "spin", "warning", 3),
        ("autonomous", "spin", "warning_window", None),
        ("autonomous", "spin", "break_", 5),
        ("autonomous", "spin", "break_window", None),
        ("autonomous", "decline", "warning_ratio", 0.5),
        ("autonomous", "decline", "break_ratio", 0.7),
        ("autonomous", "decline", "baseline_turns", 3),
        ("autonomous", "decline", "low_turns", 1),
        ("autonomous", "decline", "window_ratio_min", None),
        ("autonomous", "divergence", "window", 3),
        ("autonomous", "divergence", "persistence", 2),
        ("autonomous", "drift", "plan_alignment_min", 0.6),
        ("autonomous", "drift", "scope_creep_max", 0.4),
        ("autonomous", "drift", "coverage_drop_points_max", 5.0),
        ("autonomous", "drift", "tasks_min", 3),
        ("autonomous", "drift", "persistence_tasks", 2),
        ("debug", "stall", "warning", 5),
        ("debug", "stall", "break_", 8),
        ("debug", "spin", "break_", 5),
        ("execute", "spin", "warning", None),
        ("execute", "spin", "break_", 3),
    ],
)
def test_a_founding_preset_has_the_founding_number(
    name: str, signal: str, field: str, value: object
) -> None:
    assert threshold(name, signal, field) == value


def test_debug_differs_from_autonomous_in_stall_alone() -> None:
    differing = [
        mine.signal.name
        for mine, other in zip(preset("debug").watches, preset("autonomous").watches, strict=True)
        if mine.thresholds != other.thresholds
    ]
    assert differing == ["stall"]


@pytest.mark.parametrize("name", FOUNDING)
def test_no_founding_preset_watches_the_context_window(name: str) -> None:
    assert threshold(name, "token_overflow", "window_notice_ratio") is None
    assert threshold(name, "token_overflow", "window_warning_ratio") is None


def test_only_gaia_has_limits_of_its_own() -> None:
    assert preset("gaia").limits == Limits(max_turns=20, input_tokens_max=120_000)
    assert {preset(name).limits for name in PRESETS if name != "gaia"} == {NO_LIMITS}


@pytest.mark.parametrize("name", PRESETS)
def test_limits_that_an_agent_sets_reach_the_thresholds_of_every_preset(name: str) -> None:
    limits = Limits(max_turns=7, input_tokens_max=8, cost_usd_max=9.0, duration_max_s=10.0)
    reached = {
        watch.signal.name: watch.signal.limited(watch.thresholds, limits)
        for watch in preset(name).watches
        if watch.signal.limited
    }
    assert (reached["max_turns"].turns_max, reached["max_turns"].duration_max_s) == (7, 10.0)
    overflow = reached["token_overflow"]
    assert (overflow.input_tokens_max, overflow.cost_usd_max) == (8, 9.0)


def test_default_nudges_before_it_commits_and_founding_presets_do_not() -> None:
    assert preset("default").staging.nudge_first
    assert not any(preset(name).staging.nudge_first for name in FOUNDING)


def test_only_default_takes_a_trip_back_without_a_person() -> None:
    assert preset("default").patience.trip_turns == 3
    assert {preset(name).patience.trip_turns for name in FOUNDING} == {None}


def test_only_default_tells_missing_names_apart() -> None:
    assert preset("default").lens.subjects is Subjects.KEPT
    assert {preset(name).lens.subjects for name in FOUNDING} == {Subjects.MASKED}


@pytest.mark.parametrize("name", ["default", "gaia", "autonomous", "debug"])
def test_a_warning_rotates_and_a_break_commits(name: str) -> None:
    assert preset(name).action("spin", Severity.WARNING) is Action.ROTATE
    assert preset(name).action("spin", Severity.BREAK) is Action.COMMIT


def test_a_break_in_execute_halts_and_asks_the_user() -> None:
    action = preset("execute").action("spin", Severity.BREAK)
    assert action is Action.ASK_USER
    assert strength(action, Severity.BREAK) is Strength.HALT


def test_no_two_presets_have_one_revision() -> None:
    assert len({preset(name).revision for name in PRESETS}) == len(PRESETS)
