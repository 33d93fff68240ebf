"""Thresholds chosen on some of the tasks and measured on the others.

A configuration is a handful of numbers, and nothing is fitted to the runs but the choice among
configurations. So what is chosen inside a fold is chosen on all of the fold's other tasks at once:
to divide those again would add up to the same figures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from sidecar.core.policy import Policy
from sidecar.evaluation.cases import Case
from sidecar.tuning.figures import Breaks, Figures, Part, allowed
from sidecar.tuning.folding import Folding
from sidecar.tuning.search import Search
from sidecar.tuning.space import UNCHANGED, Configuration, Space, Threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to search."""

    solved_stopped_max: float
    """Share of the solved runs that may be stopped, from 0 to 1."""
    budget: int
    """Configurations that each search may try, 1 or more; what one has tried costs the others
    nothing."""
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """One part of the tasks, and what was chosen without it."""

    chosen: Configuration
    figures: Figures
    """Of the part that was held out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One configuration, or several that come to the same."""

    configuration: Configuration
    """The chosen one, or else the one nearest to the policy."""
    figures: Figures
    """Over all runs."""
    alike: int
    """Configurations with these figures, this one counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What came of it."""

    space: Space
    settings: Settings
    chosen: Configuration
    """On all runs: what is to be used."""
    folds: tuple[Fold, ...]
    worth: Mapping[Configuration, Figures]
    """Every configuration tried, over all runs."""
    silent: tuple[Threshold, ...]
    """Thresholds that made no difference at any value they were tried at, all else equal."""

    @property
    def policy(self) -> Policy:
        """The chosen one."""
        return self.space.at(self.chosen) or self.space.policy

    @property
    def held_out(self) -> Figures:
        """All parts, each under what was chosen without it."""
        return sum((fold.figures for fold in self.folds), Figures())

    @property
    def before(self) -> Figures:
        """The policy as it was, on all runs."""
        return self.worth[UNCHANGED]

    @property
    def chosen_on(self) -> Figures:
        """The chosen configuration, on all runs."""
        return self.worth[self.chosen]

    @property
    def keeps_bound(self) -> bool:
        """Whether the chosen configuration stops no more of the solved runs than allowed."""
        return self.chosen_on.solved_stopped <= allowed(
            self.chosen_on.solved, self.settings.solved_stopped_max
        )

    @property
    def is_better(self) -> bool:
        """Whether tuning has helped on runs that it had not seen."""
        share = self.settings.solved_stopped_max
        return self.held_out.rank(share) > self.before.rank(share)

    @property
    def frontier(self) -> tuple[Tried, ...]:
        """The configurations that no other dominates, by false stops, then the best first."""
        groups: dict[Figures, list[Configuration]] = {}
        for configuration, figures in self.worth.items():
            groups.setdefault(figures, []).append(configuration)
        found = [
            Tried(
                configuration=min(group, key=self._from_chosen),
                figures=figures,
                alike=len(group),
            )
            for figures, group in groups.items()
            if not any(other.dominates(figures) for other in groups)
        ]
        return tuple(sorted(found, key=lambda tried: tried.figures.merits, reverse=True))

    def _from_chosen(self, configuration: Configuration) -> tuple[bool, int]:
        return configuration != self.chosen, self.space.steps(configuration)

    @property
    def dominating(self) -> int:
        """Configurations that dominate the policy as it was."""
        return sum(figures.dominates(self.before) for figures in self.worth.values())


def tune(
    policy: Policy,
    cases: Sequence[Case],
    parts: Sequence[Sequence[int]],
    settings: Settings,
    *,
    fold: Folding,
    advance: Callable[[int], None] = lambda _: None,
) -> Tuning:
    """Search around a policy, each of the parts of the cases (by place, see `folds_of`) held out in
    turn. `fold` folds the runs of the cases, in their order; `advance` hears how much of the whole
    budget, which is that of one search for each part and one more, is spent.
    """
    space = Space(policy)
    everything = range(len(cases))
    searches = [
        Search(
            space,
            Part(cases, [place for place in everything if place not in held_out]),
            solved_stopped_max=settings.solved_stopped_max,
            budget=settings.budget,
            # The same for all, so that they try the same as long as the same is best.
            seed=f"search {settings.seed}",
        )
        for held_out in [*map(frozenset, parts), frozenset()]
    ]
    breaks = _together(searches, fold, advance)
    whole = Part(cases, everything)
    worth = {configuration: whole.figures(found) for configuration, found in breaks.items()}
    return Tuning(
        space=space,
        settings=settings,
        chosen=_best(space, worth, settings.solved_stopped_max),
        folds=tuple(
            Fold(chosen=each.best, figures=Part(cases, part).figures(breaks[each.best]))
            for each, part in zip(searches[:-1], parts, strict=True)
        ),
        worth=worth,
        silent=_silent(space, breaks),
    )


def _together(
    searches: Sequence[Search], fold: Folding, advance: Callable[[int], None]
) -> dict[Configuration, Breaks]:
    """Run the searches side by side; where every configuration that any of them tried breaks."""
    breaks: dict[Configuration, Breaks] = {}
    same: dict[Breaks, Breaks] = {}
    running = [search.asking() for search in searches]
    wanted = [next(asking) for asking in running]
    while wanted:
        new = [each for each in dict.fromkeys(chain(*wanted)) if each not in breaks]
        for configuration, found in zip(new, fold(new), strict=True):
            breaks[configuration] = same.setdefault(found, found)
        advance(sum(map(len, wanted)))
        going, running, wanted = running, [], []
        for asking in going:
            try:
                wanted.append(asking.send(breaks))
                running.append(asking)
            except StopIteration:
                pass
    return breaks


def _best(
    space: Space, worth: Mapping[Configuration, Figures], solved_stopped_max: float
) -> Configuration:
    """The best of all that any search has tried: of all runs, none is kept from any of them."""
    return max(
        worth,
        key=lambda each: (worth[each].rank(solved_stopped_max), -space.steps(each)),
    )


def _silent(space: Space, breaks: Mapping[Configuration, Breaks]) -> tuple[Threshold, ...]:
    """The thresholds of which several values were tried, and no two break a run elsewhere."""
    seen: dict[tuple[Threshold, Configuration], list[Breaks]] = {}
    for configuration, found in breaks.items():
        for knob in space.knobs:
            rest = space.moved(configuration, knob, knob.own)
            seen.setdefault((knob.threshold, rest), []).append(found)
    compared = {threshold for (threshold, _), those in seen.items() if len(those) > 1}
    loud = {threshold for (threshold, _), those in seen.items() if len(set(those)) > 1}
    return tuple(knob.threshold for knob in space.knobs if knob.threshold in compared - loud)
