"""All that changes in a run, its signals' states apart, as one value."""

from sidecar.core.breaker import Breaker
from sidecar.core.episode import Episode
from sidecar.core.limits import Claims, Limits
from sidecar.core.story import Story, Totals
from sidecar.core.value import value


@value
class RunState:
    """Where a run stands."""

    sequence: int = 0
    """The last turn."""
    limits: Limits = Limits()
    """In force, extensions included."""
    claims: Claims = Claims()
    breaker: Breaker = Breaker()
    episodes: tuple[Episode, ...] = ()
    nudged: tuple[str, ...] = ()
    """Signals that a directive has named: the strikes of the run."""
    suggested: tuple[str, ...] = ()
    """The signal of each rotate so far, so that suggestions go on where they stopped."""
    committed_at: int = 0
    """Sequence of the commit that the agent was last told; 0: none stands."""
    judged_at: int = 0
    """Sequence of the last turn before the latest verdict of a judge; 0: there was none."""
    totals: Totals = Totals()
    story: Story = Story()
