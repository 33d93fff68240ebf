"""What is tried around a policy."""

import pytest

from sidecar.config.changes import differences, with_thresholds
from sidecar.config.thresholds import threshold_types
from sidecar.presets import PRESETS, preset
from sidecar.signals import SIGNALS
from sidecar.tuning.space import SPACE, UNCHANGED, Knob, Space

DEFAULT = preset("default")


def knob(space: Space, name: str) -> Knob:
    signal, _, threshold = name.partition(".")
    return next(each for each in space.knobs if each.threshold == (signal, threshold))


def changed(space: Space, **values: int) -> tuple[str, ...]:
    """What differs under these thresholds of loop and spin, in words."""
    configuration = UNCHANGED
    for name, value in values.items():
        dotted = name.replace("__", ".")
        configuration = space.moved(configuration, knob(space, dotted), value)
    policy = space.at(configuration)
    assert policy is not None
    return tuple(map(str, differences(space.policy, policy)))


def test_every_threshold_that_is_declared_exists() -> None:
    known = {(signal.name, name) for signal in SIGNALS for name in threshold_types(signal)}
    assert SPACE.keys() <= known


@pytest.mark.parametrize("name", PRESETS)
def test_every_value_by_itself_makes_a_policy(name: str) -> None:
    space = Space(preset(name))
    assert space.knobs
    for each in space.knobs:
        for value in each.values:
            assert space.at(space.moved(UNCHANGED, each, value)), (each, value)


@pytest.mark.parametrize("name", PRESETS)
def test_the_policy_as_it_is_lies_in_its_space(name: str) -> None:
    space = Space(preset(name))
    policy = space.at(UNCHANGED)
    assert policy is not None
    assert policy.revision == preset(name).revision
    assert all(each.own in each.values for each in space.knobs)


def test_a_threshold_that_is_put_back_is_no_change() -> None:
    space = Space(DEFAULT)
    each = knob(space, "spin.break")
    there = space.moved(UNCHANGED, each, 3)
    assert dict(there)[each.threshold] == 3
    assert space.moved(there, each, each.own) == UNCHANGED


def test_one_configuration_is_written_in_one_way() -> None:
    space = Space(DEFAULT)
    spin, loop = knob(space, "spin.break"), knob(space, "loop.repeat_break")
    one = space.moved(space.moved(UNCHANGED, spin, 8), loop, 6)
    assert one == space.moved(space.moved(UNCHANGED, loop, 6), spin, 8)


def test_a_break_below_its_warning_takes_it_along() -> None:
    assert changed(Space(DEFAULT), spin__break=3) == ("spin.warning 4 -> 3", "spin.break 5 -> 3")


def test_other_warnings_stay() -> None:
    assert changed(Space(DEFAULT), loop__repeat_break=6) == ("loop.repeat_break 4 -> 6",)


def test_what_contradicts_itself_is_no_policy() -> None:
    space = Space(DEFAULT)
    configuration = space.moved(UNCHANGED, knob(space, "loop.answer_break"), 8)
    assert space.at(space.moved(configuration, knob(space, "loop.answer_break_window"), 5)) is None


def test_what_is_off_stays_off() -> None:
    policy = with_thresholds(DEFAULT, {("stall", "break"): None})
    searched = {each.threshold for each in Space(policy).knobs}
    assert ("stall", "break") not in searched
    assert ("decline", "break_ratio") not in searched
    assert ("loop", "founding_window") not in searched
    assert ("loop", "founding_window") in {each.threshold for each in Space(preset("gaia")).knobs}


def test_steps_count_from_one_tried_value_to_the_next() -> None:
    space = Space(DEFAULT)
    spin, loop = knob(space, "spin.break"), knob(space, "loop.repeat_break")
    assert spin.values == (3, 4, 5, 6, 8)
    assert space.steps(space.moved(space.moved(UNCHANGED, spin, 8), loop, 3)) == 2 + 1
