"""The search for thresholds: one after the other, each to its best value beside the others'.

Where no single threshold makes it better any more, three are put somewhere else and it goes on from
there, until the budget is spent. A search is a generator that asks for configurations and is sent
where each breaks; so several searches share what was folded for one of them.
"""

import random
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from sidecar.tuning.figures import Breaks, Part, Rank
from sidecar.tuning.space import UNCHANGED, Configuration, Space

SHAKEN: Final = 3
"""Thresholds put elsewhere at once: the next round mostly puts one or two back."""

IDLE_MAX: Final = 50
"""Rounds in a row with nothing new to try: a small space is exhausted before the budget."""

Asking: TypeAlias = Generator[Sequence[Configuration], Mapping[Configuration, Breaks], None]
"""Asks for configurations, several at once, and none twice."""


class Search:
    """The best configuration for a part of the runs, of at most `budget` that are tried."""

    def __init__(
        self, space: Space, part: Part, *, solved_stopped_max: float, budget: int, seed: str
    ) -> None:
        """Budget: 1 or more. The same seed tries the same, whatever is searched beside it."""
        self._space, self._part = space, part
        self._solved_stopped_max = solved_stopped_max
        self._budget = budget
        self._chance = random.Random(seed)
        self._ranks: dict[Configuration, Rank] = {}

    @property
    def tried(self) -> int:
        """Configurations so far."""
        return len(self._ranks)

    @property
    def best(self) -> Configuration:
        """Of those that this search has tried; of several that are level, the one tried first."""
        return max(self._ranks, key=self._ranks.__getitem__)

    def asking(self) -> Asking:
        """Search until the budget is spent, or nothing new turns up."""
        yield from self._try([UNCHANGED])
        current, idle = UNCHANGED, 0
        while self.tried < self._budget and idle < IDLE_MAX and self._space.knobs:
            known, before = self.tried, current
            for knob in self._chance.sample(self._space.knobs, len(self._space.knobs)):
                along = [self._space.moved(current, knob, value) for value in knob.values]
                yield from self._try(along)
                current = self._better(current, along)
            if current == before:
                shaken = self._shaken(self.best)
                yield from self._try([shaken])
                current = shaken if shaken in self._ranks else self.best
            idle = idle + 1 if self.tried == known else 0

    def _try(self, wanted: Iterable[Configuration]) -> Asking:
        new = [each for each in wanted if each not in self._ranks and self._space.at(each)]
        new = new[: self._budget - self.tried]
        if not new:
            return
        breaks = yield new
        for each in new:
            rank = self._part.figures(breaks[each]).rank(self._solved_stopped_max)
            # Level in all else, the one nearest to the policy: nothing speaks for a change.
            self._ranks[each] = (*rank, -self._space.steps(each))

    def _better(self, current: Configuration, others: Iterable[Configuration]) -> Configuration:
        known = [each for each in (current, *others) if each in self._ranks]
        return max(known, key=self._ranks.__getitem__)

    def _shaken(self, configuration: Configuration) -> Configuration:
        knobs = self._space.knobs
        for knob in self._chance.sample(knobs, min(SHAKEN, len(knobs))):
            value = self._chance.choice(knob.values)
            configuration = self._space.moved(configuration, knob, value)
        return configuration
