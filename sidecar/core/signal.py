"""The one interface that a detector implements."""

from collections.abc import Callable
from typing import Generic, TypeVar

from sidecar.core.limits import Limits
from sidecar.core.opening import Verdict
from sidecar.core.reading import Reading
from sidecar.core.turn import Turn
from sidecar.core.value import value
from sidecar.core.words import UNKNOWN, Words

S = TypeVar("S")
P = TypeVar("P")


@value
class Signal(Generic[S, P]):
    """One named way a run can go wrong: a fold over its turns.

    To add one: a module in `sidecar.signals` that builds a Signal, its name in
    `sidecar.signals.SIGNALS`, a table in `tests/signals`.
    """

    name: str
    words: Words = UNKNOWN
    """What is said of it. No matter for a policy's revision: it decides nothing."""
    defaults: P
    """Thresholds: a value made of numbers and texts, None for "never"."""
    initial: S
    """State: a value that `sidecar.core.snapshot` can write as JSON, bounded in size."""
    step: Callable[[S, Turn, P], tuple[S, Reading]]
    """Pure, total, never raises. Where what it measures is absent it returns its state as it was
    and QUIET; where it is below every threshold, a reading of severity NONE that says how near."""
    per_actor: bool = True
    """Whether each subagent has a state of its own."""
    budget: bool = False
    """Whether it meters something spent, which neither continue nor reset gives back."""
    notices: bool = False
    """Whether all its warnings are notices, on which no policy has a say."""
    consecutive: bool = True
    """Whether it needs turns without a gap, and so starts again where turns were lost."""
    advisory: bool = False
    """Whether it alone never halts a run, nor makes it wait for a person: the most that it asks for
    is a commit, and none that starts the grace before a halt."""
    heard: Callable[[S, Verdict, int, P], S] | None = None
    """The state after a judge's verdict, given after the turn of that sequence; None: it does not
    listen to judges."""
    limited: Callable[[P, Limits], P] | None = None
    """The thresholds under a run's limits, where the signal knows any."""
    state_bytes_max: int = 1024
    """Bound of the state as compact JSON, held by a test over 10,000 random turns."""
