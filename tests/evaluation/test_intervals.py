"""Intervals by drawing the tasks again."""

import pytest

from sidecar.evaluation.cases import Case
from sidecar.evaluation.intervals import Resamples
from sidecar.evaluation.labels import Judged
from sidecar.evaluation.measures import resamples_of

TASKS = [f"task-{number}" for number in range(40)]
HALF = {task: (number % 2, 1) for number, task in enumerate(TASKS)}


def test_the_same_tasks_give_the_same_interval_in_every_process() -> None:
    assert Resamples(TASKS).interval(HALF) == (0.35, 0.65)
    assert Resamples(TASKS).interval(HALF) == Resamples(TASKS).interval(HALF)


def test_the_interval_is_that_of_the_binomial_where_every_task_has_one_run() -> None:
    found = Resamples(TASKS).interval(HALF)
    deviation = (0.5 * 0.5 / len(TASKS)) ** 0.5

    assert found is not None
    assert found[0] == pytest.approx(0.5 - 1.96 * deviation, abs=0.03)
    assert found[1] == pytest.approx(0.5 + 1.96 * deviation, abs=0.03)


def test_runs_of_one_task_are_drawn_together_and_so_tell_less() -> None:
    apart = Resamples(TASKS).interval(HALF)
    together = Resamples(["a", "b", "c", "d"]).interval(
        {"a": (10, 10), "b": (0, 10), "c": (10, 10), "d": (0, 10)}
    )

    assert apart is not None
    assert together is not None
    assert together[1] - together[0] > 2 * (apart[1] - apart[0])


@pytest.mark.parametrize(
    "counts",
    [
        {},
        {"task-1": (3, 5)},
        dict.fromkeys(TASKS, (1, 1)),
        dict.fromkeys(TASKS, (0, 2)),
    ],
)
def test_where_all_tasks_agree_there_is_no_interval(counts: dict[str, tuple[int, int]]) -> None:
    assert Resamples(TASKS).interval(counts) is None


def test_no_tasks_at_all_give_no_interval() -> None:
    assert Resamples([]).interval({}) is None


def test_only_tasks_of_which_something_is_known_are_drawn() -> None:
    def case(task: str, **known: object) -> Case:
        return Case(session_id=task, source="", task=task, turns=1, **known)  # type: ignore[arg-type]

    cases = [case("b", solved=True), case("a", judged=Judged(stuck=True)), case("b", solved=True)]
    cases += [case("c", solved=False), case("d")]

    assert resamples_of(cases).tasks == ("a", "b")
