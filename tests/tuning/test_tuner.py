"""Chosen on some tasks, measured on the others."""

import random
from dataclasses import replace

import pytest

from sidecar.evaluation.cases import Case
from sidecar.presets import preset
from sidecar.tuning.figures import Breaks, Figures
from sidecar.tuning.folds import folds_of
from sidecar.tuning.space import SPACE, UNCHANGED, Configuration
from sidecar.tuning.tuner import Settings, Tuning, tune
from tests.tuning.made import Counting, case, many

DEFAULT = preset("default")
SETTINGS = Settings(solved_stopped_max=0.05, budget=80, seed=3)


def chance(configuration: Configuration) -> Breaks:
    """Breaks that differ from one configuration to the next and mean nothing."""
    draw = random.Random(repr(configuration))
    return tuple(draw.choice((0, 0, 3)) for _ in CASES)


CASES = many(solved=30, unsolved=30, stuck=15)
PARTS = folds_of(CASES, 5, 3)


def tuned(
    cases: list[Case] = CASES, breaks: Counting | None = None, settings: Settings = SETTINGS
) -> Tuning:
    fold = breaks or Counting(chance)
    return tune(DEFAULT, cases, PARTS, settings, fold=fold)


@pytest.mark.parametrize("part", range(len(PARTS)))
def test_what_a_part_is_measured_under_was_chosen_without_it(part: int) -> None:
    """Whatever the labels of the part say, the choice is the same; its figures are not."""
    turned = [
        replace(each, solved=not each.solved, judged=None) if place in PARTS[part] else each
        for place, each in enumerate(CASES)
    ]
    before, after = tuned().folds[part], tuned(turned).folds[part]
    assert after.chosen == before.chosen
    assert after.figures != before.figures


def test_the_held_out_figures_are_of_every_run_once() -> None:
    held_out = tuned().held_out
    assert (held_out.solved, held_out.unsolved, held_out.stuck) == (30, 45, 15)


def test_what_chance_offers_is_worse_on_runs_not_seen() -> None:
    """Where it was chosen it looks better than the policy; elsewhere it is not what it seemed."""
    tuning = tuned()
    assert tuning.chosen_on.rank(0.05) > tuning.before.rank(0.05)
    assert tuning.held_out.rank(0.05) < tuning.chosen_on.rank(0.05)


def risky(configuration: Configuration) -> Breaks:
    """One value catches all that is stuck, and stops the solved runs of the first part."""
    moved = dict(configuration).get(("spin", "break")) == 4
    return tuple(
        4 if moved and (each.is_stuck or (each.is_solved and place in PARTS[0])) else 0
        for place, each in enumerate(CASES)
    )


def test_a_danger_that_only_one_part_shows_is_met_where_it_was_held_out() -> None:
    tuning = tuned(breaks=Counting(risky))
    assert [dict(fold.chosen) for fold in tuning.folds] == [{("spin", "break"): 4}, {}, {}, {}, {}]
    assert tuning.held_out.solved_stopped == tuning.folds[0].figures.solved > 0
    assert tuning.chosen == UNCHANGED
    assert not tuning.is_better


def helpful(configuration: Configuration) -> Breaks:
    """One threshold catches all that is stuck, wherever it lies; no other does a thing."""
    caught = dict(configuration).get(("spin", "break")) == 4
    return tuple(4 if each.is_stuck and caught else 0 for each in CASES)


def test_what_helps_everywhere_helps_on_runs_not_seen() -> None:
    tuning = tuned(breaks=Counting(helpful), settings=replace(SETTINGS, budget=200))
    assert tuning.is_better
    assert tuning.held_out.stuck_stopped == 15
    assert {fold.chosen for fold in tuning.folds} == {tuning.chosen}
    assert dict(tuning.chosen) == {("spin", "break"): 4}


def test_thresholds_that_made_no_difference_are_named() -> None:
    tuning = tuned(breaks=Counting(helpful), settings=replace(SETTINGS, budget=200))
    assert set(tuning.silent) == {knob.threshold for knob in tuning.space.knobs} - {
        ("spin", "break")
    }


def test_a_threshold_that_was_not_tried_is_not_said_to_make_no_difference() -> None:
    assert tuned(settings=replace(SETTINGS, budget=1)).silent == ()


def test_the_frontier_is_what_nothing_tried_dominates() -> None:
    tuning = tuned()
    frontier = {tried.figures for tried in tuning.frontier}
    for figures in tuning.worth.values():
        dominated = any(other.dominates(figures) for other in tuning.worth.values())
        assert (figures in frontier) is not dominated
    assert tuning.chosen_on in frontier


def test_configurations_that_come_to_the_same_are_one_row() -> None:
    tuning = tuned(breaks=Counting(helpful))
    (only,) = tuning.frontier
    assert only.configuration == tuning.chosen
    assert only.alike == sum(figures == only.figures for figures in tuning.worth.values()) > 1


def test_nothing_is_folded_twice_however_many_search() -> None:
    fold = Counting(chance)
    tuning = tuned(breaks=fold)
    assert len(fold.asked) == len(set(fold.asked)) == len(tuning.worth)
    assert SETTINGS.budget < len(tuning.worth) < SETTINGS.budget * 6


def test_the_whole_budget_is_told_of() -> None:
    spent: list[int] = []
    tune(DEFAULT, CASES, PARTS, SETTINGS, fold=Counting(chance), advance=spent.append)
    assert sum(spent) == SETTINGS.budget * (len(PARTS) + 1)


def test_a_seed_finds_the_same() -> None:
    one, two = tuned(), tuned()
    assert (one.chosen, one.folds, one.worth) == (two.chosen, two.folds, two.worth)


def test_where_nothing_keeps_the_bound_it_says_so() -> None:
    fold = Counting(lambda _: tuple(1 for _ in CASES))
    assert not tuned(breaks=fold).keeps_bound
    assert tuned(breaks=Counting(helpful)).keeps_bound


def test_a_policy_without_thresholds_that_are_searched_is_measured_alone() -> None:
    bare = replace(DEFAULT, watches=(), revision="")
    tuning = tune(bare, CASES, PARTS, SETTINGS, fold=Counting(helpful))
    assert (tuning.chosen, len(tuning.worth)) == (UNCHANGED, 1)
    assert tuning.held_out == tuning.before


def test_a_run_of_which_nothing_is_known_counts_nowhere() -> None:
    cases = [*CASES, case("unknown")]
    fold = Counting(lambda configuration: (*helpful(configuration), 1))
    assert tuned(cases, breaks=fold).worth == tuned(breaks=Counting(helpful)).worth


def test_the_figures_begin_at_nothing() -> None:
    assert sum([Figures(solved=2)], Figures()) == Figures(solved=2)
    assert len(SPACE) > 20
