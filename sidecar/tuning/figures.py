"""What a configuration is worth on a set of runs, and which of two is better."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

from sidecar.evaluation.cases import Case

Breaks: TypeAlias = tuple[int, ...]
"""For each case, in their order, the turn of the first BREAK; 0: none."""

Rank: TypeAlias = tuple[int, ...]
"""The larger, the better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts of runs, as `sidecar eval` counts them; stopped is: with a BREAK."""

    solved: int = 0
    """Solved runs, but for those judged stuck."""
    solved_stopped: int = 0
    """False stops."""
    stuck: int = 0
    """Judged stuck."""
    stuck_stopped: int = 0
    """Caught."""
    not_stuck: int = 0
    """Judged not stuck."""
    not_stuck_stopped: int = 0
    unsolved: int = 0
    unsolved_stopped: int = 0
    unsolved_turns: int = 0
    """Turns of all unsolved runs."""
    turns_saved: int = 0
    """Of these, after the first BREAK of their run."""

    def __add__(self, other: "Figures") -> "Figures":
        """The figures of both sets of runs together."""
        return Figures(
            **{
                part.name: getattr(self, part.name) + getattr(other, part.name)
                for part in fields(self)
            }
        )

    @property
    def merits(self) -> Rank:
        """What counts, each the larger the better."""
        return (
            -self.solved_stopped,
            -self.not_stuck_stopped,
            self.stuck_stopped,
            self.unsolved_stopped,
            self.turns_saved,
        )

    def dominates(self, other: "Figures") -> bool:
        """Whether these are at least as good in everything, and better in something."""
        pairs = list(zip(self.merits, other.merits, strict=True))
        return all(own >= its for own, its in pairs) and any(own > its for own, its in pairs)

    def rank(self, solved_stopped_max: float) -> Rank:
        """The order in which configurations are chosen.

        First none that stops more of the solved runs than is allowed, then what people have read
        (stuck runs caught, less others hit), then unsolved runs stopped, then turns saved; what is
        level in all that, by fewer false stops.
        """
        excess = max(0, self.solved_stopped - allowed(self.solved, solved_stopped_max))
        return (
            -excess,
            self.stuck_stopped - self.not_stuck_stopped,
            self.unsolved_stopped,
            self.turns_saved,
            -self.solved_stopped,
        )


def allowed(solved: int, share_max: float) -> int:
    """Most runs of so many that are no larger a share."""
    # Rounded first, so that 29 of 100 is within 0.29, which times 100 is 28.999999999999996.
    return int(round(solved * share_max, 9))


class Part:
    """Some of the runs, told apart by what is known of them."""

    def __init__(self, cases: Sequence[Case], places: Iterable[int]) -> None:
        """The cases at these places; those elsewhere are not looked at."""
        self._cases = cases
        own = tuple(places)
        self._solved = [place for place in own if cases[place].is_solved]
        self._stuck = [place for place in own if cases[place].is_stuck]
        self._not_stuck = [place for place in own if cases[place].is_not_stuck]
        self._unsolved = [place for place in own if cases[place].is_unsolved]

    def figures(self, breaks: Breaks) -> Figures:
        """What a configuration with these breaks is worth here."""
        turns = [self._cases[place].turns for place in self._unsolved]
        stops = [breaks[place] for place in self._unsolved]
        return Figures(
            solved=len(self._solved),
            solved_stopped=_stopped(self._solved, breaks),
            stuck=len(self._stuck),
            stuck_stopped=_stopped(self._stuck, breaks),
            not_stuck=len(self._not_stuck),
            not_stuck_stopped=_stopped(self._not_stuck, breaks),
            unsolved=len(self._unsolved),
            unsolved_stopped=_stopped(self._unsolved, breaks),
            unsolved_turns=sum(turns),
            turns_saved=sum(last - at for last, at in zip(turns, stops, strict=True) if at),
        )


def _stopped(places: Iterable[int], breaks: Breaks) -> int:
    return sum(breaks[place] > 0 for place in places)
