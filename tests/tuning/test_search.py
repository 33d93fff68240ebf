"""The search, on runs that break by a rule."""

from collections.abc import Callable

import pytest

from sidecar.presets import preset
from sidecar.tuning.figures import Breaks, Part
from sidecar.tuning.search import Search
from sidecar.tuning.space import UNCHANGED, Configuration, Space
from tests.tuning.made import Counting, many

CASES = many(solved=10, unsolved=10, stuck=10)


def broken(*, solved: int = 0, unsolved: int = 0, stuck: int = 0) -> Breaks:
    """The first so many of each kind break at turn 5."""
    return tuple(
        5 if place < count else 0 for count in (solved, unsolved, stuck) for place in range(10)
    )


def searched(
    breaks: Callable[[Configuration], Breaks],
    *,
    budget: int = 150,
    share: float = 0.0,
    seed: str = "one",
    policy: str = "default",
) -> tuple[Search, Counting]:
    space, fold = Space(preset(policy)), Counting(breaks)
    part = Part(CASES, range(len(CASES)))
    search = Search(space, part, solved_stopped_max=share, budget=budget, seed=seed)
    asking = search.asking()
    wanted = next(asking)
    while True:
        try:
            wanted = asking.send(dict(zip(wanted, fold(wanted), strict=True)))
        except StopIteration:
            return search, fold


def hill(configuration: Configuration) -> Breaks:
    """More is caught for each of three thresholds that is where it should be."""
    values = dict(configuration)
    right = (
        values.get(("spin", "break")) == 8,
        values.get(("loop", "repeat_break")) == 6,
        values.get(("stall", "break")) == 24,
    )
    return broken(stuck=3 * sum(right))


def test_thresholds_are_found_one_after_the_other() -> None:
    search, _ = searched(hill)
    assert dict(search.best) == {
        ("spin", "break"): 8,
        ("loop", "repeat_break"): 6,
        ("stall", "break"): 24,
    }


def test_what_makes_no_difference_stays_as_it_is() -> None:
    search, _ = searched(lambda _: broken(stuck=3))
    assert search.best == UNCHANGED


def test_of_two_values_that_do_as_well_the_nearer_is_taken() -> None:
    def either(configuration: Configuration) -> Breaks:
        return broken(stuck=1 + (dict(configuration).get(("spin", "break"), 5) >= 6))

    search, _ = searched(either)
    assert dict(search.best) == {("spin", "break"): 6}


def greedy(configuration: Configuration) -> Breaks:
    """Each step that spin takes down catches three more, and the last ones stop solved runs."""
    caught = {8: 0, 6: 1, 5: 2, 4: 5, 3: 8}[int(dict(configuration).get(("spin", "break"), 5))]
    return broken(stuck=caught, solved={5: 1, 8: 2}.get(caught, 0))


@pytest.mark.parametrize(
    ("share", "best"),
    [(0.0, {}), (0.1, {("spin", "break"): 4}), (0.2, {("spin", "break"): 3})],
)
def test_the_bound_on_false_stops_is_kept(share: float, best: dict[tuple[str, str], int]) -> None:
    search, _ = searched(greedy, share=share)
    assert dict(search.best) == best


def test_where_the_policy_breaks_the_bound_the_way_leads_back_to_it() -> None:
    def strict(configuration: Configuration) -> Breaks:
        patient = dict(configuration).get(("spin", "break"), 5) == 8
        return broken(stuck=2 if patient else 9, solved=0 if patient else 4)

    search, _ = searched(strict)
    assert dict(search.best) == {("spin", "break"): 8}


@pytest.mark.parametrize("budget", [1, 2, 7, 60])
def test_no_more_is_tried_than_the_budget_and_nothing_twice(budget: int) -> None:
    search, fold = searched(hill, budget=budget)
    assert search.tried == len(fold.asked) == len(set(fold.asked)) == budget


def test_a_space_that_is_smaller_than_the_budget_ends_the_search() -> None:
    space = Space(preset("execute"))
    sizes = [len(each.values) for each in space.knobs]
    every = sizes[0] if len(sizes) == 1 else sizes[0] * sizes[1]
    search, _ = searched(hill, budget=10_000, policy="execute")
    assert search.tried <= every
    assert search.tried >= max(sizes)


def test_a_seed_searches_alike_and_another_otherwise() -> None:
    asked = [searched(hill, seed=seed)[1].asked for seed in ("one", "one", "two")]
    assert asked[0] == asked[1] != asked[2]


def test_two_thresholds_that_only_help_together_can_be_found() -> None:
    def valley(configuration: Configuration) -> Breaks:
        values = dict(configuration)
        moved = (values.get(("spin", "break")) == 8, values.get(("stall", "break")) == 24)
        return broken(stuck=9 if all(moved) else 4 - sum(moved))

    search, _ = searched(valley, budget=500, policy="autonomous")
    assert dict(search.best) == {("spin", "break"): 8, ("stall", "break"): 24}
