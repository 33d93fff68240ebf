"""Single thresholds of a policy, changed as a command line asks for."""

import pytest

from sidecar.config.changes import asked, differences, with_thresholds
from sidecar.config.given import ConfigError
from sidecar.core.policy import Policy
from sidecar.presets import preset

DEFAULT = preset("default")


def changed(*changes: str, policy: Policy = DEFAULT) -> list[str]:
    return [str(each) for each in differences(policy, asked(policy, changes, where="--what-if"))]


def test_one_threshold_is_changed() -> None:
    assert changed("spin.break=6") == ["spin.break 5 -> 6"]


def test_several_are_changed_a_later_one_over_an_earlier() -> None:
    changes = changed("spin.break=6", "stall.break=20", "spin.break=7")
    assert changes == ["spin.break 5 -> 7", "stall.break 16 -> 20"]


def test_off_is_never() -> None:
    assert changed("loop.cycle_break=off") == ["loop.cycle_break 3 -> off"]


def test_a_signal_is_switched_off_and_on() -> None:
    assert changed("stall=off") == ["stall on -> off"]
    switched = changed("stall=on", policy=preset("execute"))
    assert switched[0] == "stall off -> on"
    assert "stall.break off -> 16" in switched


def test_the_founding_names_are_understood() -> None:
    assert changed("same_error_hash.break_threshold=6") == ["spin.break 5 -> 6"]


def test_a_limit_goes_with_its_budget() -> None:
    assert changed("max_turns=off", policy=preset("gaia")) == ["max_turns.turns_max 20 -> off"]


def test_break_alone_stands_for_the_breaks_of_all_rules_that_are_not_off() -> None:
    assert changed("loop.break=6", policy=preset("gaia")) == [
        "loop.founding_break 3 -> 6",
        "loop.founding_window 5 -> 6",
    ]
    changes = changed("loop.break=6")
    assert "loop.repeat_break 4 -> 6" in changes
    assert "loop.far_break 9 -> 6" in changes
    assert "loop.waiting_warning 9 -> 6" in changes
    assert not [each for each in changes if "founding" in each]


def test_warning_alone_takes_breaks_below_it_along() -> None:
    changes = changed("loop.warning=5")
    assert "loop.repeat_warning 3 -> 5" in changes
    assert "loop.repeat_break 4 -> 5" in changes
    assert "loop.far_break 9 -> 5" not in changes


def test_a_threshold_that_is_named_stands_beside_all_rules() -> None:
    for changes in (("loop.break=6", "loop.far_break=8"), ("loop.far_break=8", "loop.break=6")):
        assert "loop.far_break 9 -> 8" in changed(*changes)


def test_nothing_changes_where_the_value_is_the_policys_own() -> None:
    assert changed("spin.break=5") == []


REFUSED = {
    "stal.break=3": "stal is not a known signal; did you mean stall?",
    "spin.brake=3": "spin.brake is not a known threshold of spin; did you mean break?",
    "spin.break=many": 'spin.break = "many" is not right: it must be a whole number from 1',
    "spin.break=3": 'spin.break = "3" is not right: it must be at least 4, its warning',
    "spin.break=33": 'spin.break = "33" is not right: it must be at most 8, its break_window',
    "spin.break=": 'spin.break = "" is not right: it must be a whole number from 1',
    "loop.repeat_break= ": 'loop.repeat_break = "" is not right: it must be a whole number from 1',
    "loop.repeat_break=1": 'loop.repeat_break = "1" is not right: it must be at least 2',
    "loop.break=": 'loop.break = "" is not right: it must be a whole number from 1',
    "loop.break=many": 'loop.break = "many" is not right: it must be a whole number from 1',
    "spin": '"spin" is not right: it must be SIGNAL.THRESHOLD=VALUE, such as spin.break=6',
    "a.b.c=3": '"a.b.c=3" is not right: it must be SIGNAL.THRESHOLD=VALUE',
    ".=3": '".=3" is not right: it must be SIGNAL.THRESHOLD=VALUE',
    "spin=6": 'spin = "6" is not right: it must be',
}


@pytest.mark.parametrize(("change", "problem"), REFUSED.items(), ids=REFUSED)
def test_what_no_policy_can_have_is_told_as_of_a_file(change: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        changed(change)
    assert str(caught.value).startswith(f"--what-if: {problem}")


def test_a_policy_with_its_own_thresholds_is_the_same_policy() -> None:
    assert with_thresholds(DEFAULT, {}).revision == DEFAULT.revision
    assert with_thresholds(DEFAULT, {("spin", "break"): 5}).revision == DEFAULT.revision


def test_two_changed_thresholds_do_not_follow_one_another() -> None:
    with pytest.raises(ConfigError):
        with_thresholds(DEFAULT, {("spin", "break"): 3, ("spin", "warning"): 4})
