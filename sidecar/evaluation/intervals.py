"""How far a ratio may be off, by drawing the tasks again.

Runs of one task are alike, so they are drawn together: each draw takes as many tasks as there are,
with replacement, and the interval spans the middle 95 % of the ratios that come out.
"""

import random
from array import array
from collections.abc import Mapping, Sequence
from typing import Final

DRAWS: Final = 2000
"""So that 50 lie beyond either end: the ends then move by less than a percent of the width or two
from seed to seed."""

SEED: Final = 20_251_118
"""Any would do; fixed, so that the same runs give the same figures."""

OUTSIDE: Final = 0.025


class Resamples:
    """Draws of a set of tasks, the same for everything that is measured on it."""

    def __init__(self, tasks: Sequence[str]) -> None:
        """Tasks without repeats; their order decides what is drawn."""
        self.tasks = tuple(tasks)
        places = range(len(self.tasks))
        chance = random.Random(SEED)
        self._times = [
            _times(chance.choices(places, k=len(places)) if places else (), len(places))
            for _ in range(DRAWS)
        ]

    def interval(self, counts: Mapping[str, tuple[int, int]]) -> tuple[float, float] | None:
        """The interval of a ratio whose parts are counts per task: hits, and of how many.

        None where fewer than two tasks count, or where every task that counts has the same ratio:
        then there is nothing to tell the spread by.
        """
        counted = [
            (place, *counts[task])
            for place, task in enumerate(self.tasks)
            if counts.get(task, (0, 0))[1]
        ]
        if len({hits / of for _, hits, of in counted}) < 2:
            return None
        ratios = sorted(
            ratio for times in self._times if (ratio := _ratio(times, counted)) is not None
        )
        low = int(OUTSIDE * len(ratios))
        return ratios[low], ratios[-1 - low]


def _times(drawn: Sequence[int], places: int) -> "array[int]":
    """How often each place was drawn."""
    times = array("H", bytes(2 * places))
    for place in drawn:
        times[place] += 1
    return times


def _ratio(times: "array[int]", counted: Sequence[tuple[int, int, int]]) -> float | None:
    """The ratio in one draw; None where nothing that counts was drawn."""
    hits = of = 0
    for place, hit, among in counted:
        drawn = times[place]
        hits += drawn * hit
        of += drawn * among
    return hits / of if of else None
