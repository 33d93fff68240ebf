"""A user's policy: a preset, and what the configuration changes about it."""

from pathlib import Path
from typing import Any

import pytest

from sidecar.config.given import Block, ConfigError, tree_of
from sidecar.config.load import load
from sidecar.config.policies import circuit_breaker_from, policy_from
from sidecar.core.digests.subjects import Subjects
from sidecar.core.directive import Action
from sidecar.core.limits import Limits
from sidecar.core.policy import Policy
from sidecar.core.reading import Severity
from sidecar.presets import preset

DEFAULT = preset("default")
AUTONOMOUS = preset("autonomous")


def build(**mapping: Any) -> Policy:
    return policy_from("mine", mapping, base=DEFAULT)


def founding(**mapping: Any) -> Policy:
    tree = tree_of({"circuit_breaker": mapping})
    return circuit_breaker_from(Block(path=("circuit_breaker",), tree=tree))


def thresholds(policy: Policy, signal: str) -> Any:
    return next(watch.thresholds for watch in policy.watches if watch.signal.name == signal)


def watched(policy: Policy) -> list[str]:
    return [watch.signal.name for watch in policy.watches]


def test_an_empty_policy_decides_as_its_base_does() -> None:
    policy = build()
    assert policy.name == "mine"
    assert policy.revision == DEFAULT.revision


def test_a_policy_starts_from_the_preset_that_it_names() -> None:
    assert build(preset="gaia").revision == preset("gaia").revision


def test_a_threshold_changes_and_its_neighbours_stay() -> None:
    policy = build(signals={"loop": {"repeat_break": 5}})
    changed, before = thresholds(policy, "loop"), thresholds(DEFAULT, "loop")
    assert changed.repeat_break == 5
    assert changed.repeat_warning == before.repeat_warning
    assert policy.revision != DEFAULT.revision


def test_break_in_the_file_is_the_field_break_() -> None:
    assert thresholds(build(signals={"stall": {"break": 20}}), "stall").break_ == 20


def test_a_warning_may_look_back_further_than_a_break() -> None:
    assert thresholds(build(signals={"spin": {"warning_window": 20}}), "spin").warning_window == 20


@pytest.mark.parametrize("never", ["off", None])
def test_a_threshold_that_is_off_never_comes(never: object) -> None:
    assert thresholds(build(signals={"stall": {"break": never}}), "stall").break_ is None


@pytest.mark.parametrize("word", ["off", "OFF", False])
def test_a_signal_that_is_off_is_not_watched(word: object) -> None:
    assert "stall" not in watched(build(signals={"stall": word}))


def test_a_budget_that_is_off_has_nothing_left_but_the_limits_that_an_agent_sets() -> None:
    policy = build(preset="gaia", signals={"max_turns": "off"})
    assert policy.limits == Limits(input_tokens_max=120_000)
    budget = thresholds(policy, "max_turns")
    assert (budget.turns_max, budget.duration_max_s, budget.warning_ratio) == (None, None, None)
    policy = build(signals={"token_overflow": "off"}, limits={"cost_usd_max": 3})
    assert policy.limits == Limits(cost_usd_max=3.0)
    assert thresholds(policy, "token_overflow").window_warning_ratio is None


@pytest.mark.parametrize("word", ["on", True, None, {}])
def test_a_signal_that_is_on_is_watched_with_its_defaults_in_its_place(word: object) -> None:
    policy = build(preset="gaia", signals={"spin": word})
    assert watched(policy) == ["max_turns", "token_overflow", "loop", "spin"]
    assert thresholds(policy, "spin") == thresholds(DEFAULT, "spin")


def test_on_leaves_the_preset_thresholds_of_a_signal_that_it_watches() -> None:
    policy = build(preset="debug", signals={"stall": "on"})
    assert policy.revision == preset("debug").revision


@pytest.mark.parametrize("name", ["NO_FILE_CHANGES", "no_file_changes", "Stall", "stall"])
def test_a_signal_is_known_by_its_founding_name_in_any_case(name: str) -> None:
    assert thresholds(build(signals={name: {"warning": 2}}), "stall").warning == 2


@pytest.mark.parametrize(
    ("key", "value", "severity", "action"),
    [
        ("on_warning", "rotate", Severity.WARNING, Action.ROTATE),
        ("on_warning", "pause", Severity.WARNING, Action.PAUSE),
        ("on_warning", "ask_user", Severity.WARNING, Action.ASK_USER),
        ("on_warning", "ROTATE_APPROACH", Severity.WARNING, Action.ROTATE),
        ("on_break", "commit", Severity.BREAK, Action.COMMIT),
        ("on_break", "rest", Severity.BREAK, Action.REST),
        ("on_break", "stop", Severity.BREAK, Action.STOP),
        ("on_break", "ask_user", Severity.BREAK, Action.ASK_USER),
        ("on_break", "Sabbath_Rest", Severity.BREAK, Action.REST),
    ],
)
def test_an_action_is_chosen_for_a_severity(
    key: str, value: str, severity: Severity, action: Action
) -> None:
    policy = build(**{key: value})
    assert policy.action("loop", severity) is action
    other = Severity.BREAK if severity is Severity.WARNING else Severity.WARNING
    assert policy.action("loop", other) is DEFAULT.action("loop", other)


def test_one_signal_can_have_actions_of_its_own() -> None:
    policy = build(actions={"same_error_hash": {"warning": "pause", "break": "stop"}})
    assert policy.action("spin", Severity.WARNING) is Action.PAUSE
    assert policy.action("spin", Severity.BREAK) is Action.STOP
    assert policy.action("loop", Severity.BREAK) is Action.COMMIT


def test_limits_replace_the_preset_limits_one_by_one() -> None:
    policy = build(preset="gaia", limits={"max_turns": 40, "cost_usd_max": 2})
    assert policy.limits == Limits(max_turns=40, input_tokens_max=120_000, cost_usd_max=2.0)
    assert build(preset="gaia", limits={"max_turns": "off"}).limits.max_turns is None


@pytest.mark.parametrize(
    ("block", "turns"),
    [
        ({"signals": {"max_turns": {"turns_max": 5}}}, 5),
        ({"signals": {"max_turns": {"turns_max": 30}}}, 30),
        ({"signals": {"max_turns": {"turns_max": "off"}}}, None),
        ({"signals": {"max_turns": "off"}}, None),
        ({"signals": {"max_turns": {"warning_ratio": 0.5}}}, 20),
        ({"signals": {"max_turns": {"turns_max": 4}}, "limits": {"max_turns": 10}}, 4),
        ({"signals": {"max_turns": {"turns_max": 10}}, "limits": {"max_turns": 4}}, 4),
        ({"signals": {"max_turns": {"turns_max": "off"}}, "limits": {"max_turns": 4}}, 4),
    ],
)
def test_a_threshold_of_a_budget_is_the_limit_under_another_name(
    block: dict[str, Any], turns: int | None
) -> None:
    policy = build(preset="gaia", **block)
    shown = {watch.signal.name: watch.thresholds for watch in policy.in_force}

    assert policy.limits.max_turns == shown["max_turns"].turns_max == turns
    assert policy.limits.input_tokens_max == 120_000


def test_thresholds_on_spending_replace_a_preset_s_limits_and_decide_as_limits_do() -> None:
    spending = {"input_tokens_max": 50, "cost_usd_max": 0.5}
    policy = build(preset="gaia", signals={"token_overflow": spending})

    assert policy.limits == Limits(max_turns=20, input_tokens_max=50, cost_usd_max=0.5)
    assert policy.revision == build(preset="gaia", limits=spending).revision


def test_a_tool_that_waits_and_steps_at_once_is_refused() -> None:
    with pytest.raises(ConfigError, match="'next' is in waiting_tools and in navigation_tools"):
        build(waiting_tools=["wait", "next"], navigation_tools=["next"])


@pytest.mark.parametrize(
    ("signal", "thresholds"),
    [
        ("loop", {"answer_fruitless_break": 9}),
        ("loop", {"answer_warning": 4, "answer_fruitless_break": 3}),
        ("loop", {"monologue_break": 33}),
        ("loop", {"echo_warning": 17, "echo_window": 64}),
        ("loop", {"cycle_break": 33}),
        ("loop", {"cycle_period_max": 33}),
        ("loop", {"waiting_max_s": 24.5}),
        ("loop", {"waiting_max_s": 1}),
        ("loop", {"waiting_max_s": float("inf")}),
    ],
)
def test_thresholds_that_could_never_be_met_or_not_as_they_say_are_refused(
    signal: str, thresholds: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match="it must be"):
        build(signals={signal: thresholds})


def test_every_setting_reaches_the_policy() -> None:
    policy = build(
        force_continue=True,
        nudge_first=False,
        repeat_after=7,
        episode_quiet=8,
        commit_grace_turns=9,
        wait_max_s=10,
        recovery_turns=11,
        trip_turns="off",
        subjects="masked",
        waiting_tools=["wait"],
        navigation_tools=["next", "scroll"],
        answer_form="ANSWER: <it>",
    )
    assert policy.force_continue
    staging = policy.staging
    assert (staging.nudge_first, staging.repeat_after, staging.episode_quiet) == (False, 7, 8)
    assert (staging.commit_grace_turns, staging.wait_max_s) == (9, 10.0)
    assert (policy.patience.recovery_turns, policy.patience.trip_turns) == (11, None)
    assert policy.lens.subjects is Subjects.MASKED
    assert policy.lens.waiting_tools == {"wait"}
    assert policy.lens.navigation_tools == {"next", "scroll"}
    assert policy.answer_form == "ANSWER: <it>"


def test_the_same_policy_has_the_same_revision_whatever_its_name_and_order() -> None:
    one = policy_from("a", {"on_break": "stop", "repeat_after": 3}, base=DEFAULT)
    two = policy_from("b", {"repeat_after": 3, "on_break": "stop"}, base=DEFAULT)
    assert one.revision == two.revision


def test_the_founding_policy_file_as_it_stands_is_autonomous_that_rests() -> None:
    policy = founding(
        no_file_changes={"warning_threshold": 3, "break_threshold": 5},
        same_error_hash={"warning_threshold": 3, "break_threshold": 5},
        output_decline={"warning_pct": 50, "break_pct": 70, "baseline_iterations": 3},
        on_warning="rotate_approach",
        on_break="sabbath_rest",
        force_continue=False,
    )
    assert policy.name == "circuit_breaker"
    assert policy.watches == AUTONOMOUS.watches
    assert policy.action("spin", Severity.WARNING) is Action.ROTATE
    assert policy.action("spin", Severity.BREAK) is Action.REST
    assert (policy.staging, policy.patience) == (AUTONOMOUS.staging, AUTONOMOUS.patience)
    assert policy.lens == AUTONOMOUS.lens


def test_the_founding_policy_file_changes_what_it_says() -> None:
    policy = founding(
        NO_FILE_CHANGES={"warning_threshold": 2, "break_threshold": 9},
        OUTPUT_DECLINE={"warning_pct": 40, "break_pct": 62.5, "baseline_iterations": 4},
        confidence_outcome_divergence={"window": 4, "persistence": 1},
        kpi_drift={
            "plan_alignment_min": 0.5,
            "scope_creep_max": 0.3,
            "coverage_drop_points_max": 4,
            "tasks_min": 2,
            "persistence_tasks": 1,
        },
        on_break="stop",
        force_continue=True,
    )
    stall, decline = thresholds(policy, "stall"), thresholds(policy, "decline")
    assert (stall.warning, stall.break_) == (2, 9)
    assert (decline.warning_ratio, decline.break_ratio) == (0.4, 0.625)
    assert decline.baseline_turns == 4
    divergence, drift = thresholds(policy, "divergence"), thresholds(policy, "drift")
    assert (divergence.window, divergence.persistence) == (4, 1)
    assert (drift.plan_alignment_min, drift.scope_creep_max) == (0.5, 0.3)
    assert (drift.coverage_drop_points_max, drift.tasks_min, drift.persistence_tasks) == (4.0, 2, 1)
    assert policy.action("drift", Severity.BREAK) is Action.STOP
    assert policy.force_continue


def test_founding_thresholds_are_understood_in_capitals_too() -> None:
    policy = founding(
        NO_FILE_CHANGES={"WARNING_THRESHOLD": 2, "BREAK_THRESHOLD": 9},
        OUTPUT_DECLINE={"WARNING_PCT": 40, "BREAK_PCT": 62.5, "BASELINE_ITERATIONS": 4},
    )
    stall, decline = thresholds(policy, "stall"), thresholds(policy, "decline")
    assert (stall.warning, stall.break_) == (2, 9)
    assert (decline.warning_ratio, decline.break_ratio) == (0.4, 0.625)
    assert decline.baseline_turns == 4
    with pytest.raises(
        ConfigError, match="BREAK_PCT = 30 is not right: it must be at least 40, its"
    ):
        founding(OUTPUT_DECLINE={"WARNING_PCT": 40, "BREAK_PCT": 30})


def test_a_signal_in_the_founding_policy_file_stands_in_one_place() -> None:
    with pytest.raises(ConfigError, match="are the same signal"):
        founding(stall={"warning": 2}, signals={"stall": "off"})


def test_an_empty_founding_policy_file_is_autonomous() -> None:
    assert founding().revision == AUTONOMOUS.revision


def test_a_policy_that_cannot_be_names_its_key_even_without_a_file() -> None:
    with pytest.raises(ConfigError, match=r"^policies\.mine\.preset = \"strict\" is not right: it"):
        build(preset="strict")


@pytest.mark.parametrize("name", ["circling", "CIRCLING", "Circling"])
@pytest.mark.parametrize(
    "file",
    [
        "policies: {{m: {{signals: {{{}: off}}}}}}",
        "circuit_breaker: {{{}: off}}",
        "circuit_breaker: {{signals: {{{}: off}}}}",
    ],
)
def test_a_policy_that_speaks_of_the_judge_s_signal_is_given_none_however_it_writes_it(
    tmp_path: Path, file: str, name: str
) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text(f"judge: {{model: x}}\n{file.format(name)}\n")
    policies = load(path=str(path), environment={}).policies
    own = policies.get("m") or policies["circuit_breaker"]

    assert "circling" not in [watch.signal.name for watch in own.watches]
    assert "circling" in [watch.signal.name for watch in policies["default"].watches]


def test_a_variable_changes_what_the_file_writes_in_capitals(tmp_path: Path) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text(
        "policies: {Mine: {on_break: rest}}\n"
        "circuit_breaker: {NO_FILE_CHANGES: {warning_threshold: 3, break_threshold: 9}}\n"
    )
    environment = {
        "SIDECAR_POLICIES__MINE__ON_BREAK": "stop",
        "SIDECAR_CIRCUIT_BREAKER__NO_FILE_CHANGES__WARNING_THRESHOLD": "4",
    }
    policies = load(path=str(path), environment=environment).policies

    assert "mine" not in policies
    assert policies["Mine"].action("loop", Severity.BREAK) is Action.STOP
    assert thresholds(policies["circuit_breaker"], "stall").warning == 4
    assert thresholds(policies["circuit_breaker"], "stall").break_ == 9
