"""The bounds of one run."""

from typing import TypeVar

from sidecar.core.bounds import COUNT_MAX
from sidecar.core.story import Totals
from sidecar.core.value import replace, value

T = TypeVar("T")
N = TypeVar("N", int, float)


@value
class Limits:
    """What a run may spend; None: no limit. All are totals over the run."""

    max_turns: int | None = None
    input_tokens_max: int | None = None
    cost_usd_max: float | None = None
    duration_max_s: float | None = None

    def or_else(self, other: "Limits") -> "Limits":
        """These limits, with the other's where none is set here."""
        return Limits(
            max_turns=_first(self.max_turns, other.max_turns),
            input_tokens_max=_first(self.input_tokens_max, other.input_tokens_max),
            cost_usd_max=_first(self.cost_usd_max, other.cost_usd_max),
            duration_max_s=_first(self.duration_max_s, other.duration_max_s),
        )

    def bounded(self, ceiling: "Limits") -> "Limits":
        """These limits, those that are set no higher than the ceiling's."""
        return Limits(
            max_turns=_least(self.max_turns, ceiling.max_turns),
            input_tokens_max=_least(self.input_tokens_max, ceiling.input_tokens_max),
            cost_usd_max=_least(self.cost_usd_max, ceiling.cost_usd_max),
            duration_max_s=_least(self.duration_max_s, ceiling.duration_max_s),
        )

    def extended(self, *, turns: int, input_tokens: int) -> "Limits":
        """These limits with more of both; what has no limit stays without."""
        return replace(
            self,
            max_turns=None if self.max_turns is None else self.max_turns + turns,
            input_tokens_max=None
            if self.input_tokens_max is None
            else self.input_tokens_max + input_tokens,
        )

    def left(self, totals: Totals) -> float | None:
        """Share in [0, 1] that is left of the limit nearest to its end; None: none is set.

        Of turns, input tokens and cost: how long a run has taken is not in its totals.
        """
        spent = (
            (totals.turns, self.max_turns),
            (totals.input_tokens, self.input_tokens_max),
            (totals.cost_usd, self.cost_usd_max),
        )
        shares = [1 - amount / limit for amount, limit in spent if limit]
        return min(1.0, max(0.0, min(shares))) if shares else None


@value
class Claims:
    """What of a run's limits is its own, and goes on with it: not its policy's, nor a ceiling's."""

    asked: Limits = Limits()
    """By its agent."""
    extra_turns: int = 0
    """Granted by operators."""
    extra_input_tokens: int = 0
    """As above."""

    def with_asked(self, asked: Limits) -> "Claims":
        """These, where an agent asks anew: for what it does not name it has asked before."""
        return replace(self, asked=asked.or_else(self.asked))

    def with_extra(self, *, turns: int, input_tokens: int) -> "Claims":
        """These, with more granted."""
        return replace(
            self,
            extra_turns=min(self.extra_turns + turns, COUNT_MAX),
            extra_input_tokens=min(self.extra_input_tokens + input_tokens, COUNT_MAX),
        )

    def extending(self, limits: Limits) -> Limits:
        """The limits, with what was granted."""
        return limits.extended(turns=self.extra_turns, input_tokens=self.extra_input_tokens)


def _first(own: T | None, other: T | None) -> T | None:
    return other if own is None else own


def _least(own: N | None, ceiling: N | None) -> N | None:
    return own if own is None or ceiling is None else min(own, ceiling)
