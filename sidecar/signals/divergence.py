"""divergence: the agent grows surer while its reward falls.

Two texts meet here. The founding rule has the window hold successive turns that measured both, and
a turn that did not empties it. The law of all signals says that a turn without measurements
changes nothing. Both hold: a turn that reports anything at all (a call, a text, a count) but not
both confidence and reward is a gap in the two series and empties the window; a turn that reports
nothing is no turn of the series and is passed over.
"""

from typing import Final, TypeAlias

from sidecar.core.bounds import require_at_least
from sidecar.core.reading import QUIET, Reading, Severity
from sidecar.core.signal import Signal
from sidecar.core.turn import NO_PROGRESS, NO_USAGE, Turn
from sidecar.core.value import value
from sidecar.core.words import Measure, Words

SLOPE_MIN: Final = 1e-9
"""A slope nearer to 0 is none: fits in floating point leave such remainders."""

WINDOW_MAX: Final = 12
"""Largest window, which bounds the state; the founding documents fit over 3 turns."""

MEASURE_MAX: Final = 1e100
"""Larger confidences and rewards are no measurements; the fit cannot overflow below it."""

Sample: TypeAlias = tuple[int, float, float]
"""Sequence, confidence, reward."""


@value
class DivergenceThresholds:
    """How long the two may part. The numbers are the founding ones, in every preset."""

    window: int = 3
    """Turns that the slopes are fitted over, 2 to 12."""
    persistence: int | None = 2
    """Further divergent turns after the first that break; None: never."""

    def __post_init__(self) -> None:
        """Refuse windows that have no slope or no bound."""
        require_at_least(2, window=self.window)
        if self.window > WINDOW_MAX:
            raise ValueError(f"window is {self.window}: it must be at most {WINDOW_MAX}")
        require_at_least(0, persistence=self.persistence)


@value
class DivergenceState:
    """The latest turns, and how long they have diverged."""

    samples: tuple[Sample, ...] = ()
    """At most `window`, oldest first."""
    divergent: int = 0
    """Divergent windows in a row."""


EMPTY: Final = DivergenceState()


def _step(
    state: DivergenceState, turn: Turn, thresholds: DivergenceThresholds
) -> tuple[DivergenceState, Reading]:
    confidence, reward = turn.confidence, turn.reward
    if confidence is None or reward is None or not (_is_number(confidence) and _is_number(reward)):
        if not state.samples or _reports_nothing(turn):
            return state, QUIET
        return EMPTY, QUIET
    sample = (turn.sequence, float(confidence), float(reward))
    samples = (*state.samples, sample)[-thresholds.window :]
    if len(samples) < thresholds.window:
        return DivergenceState(samples=samples), QUIET
    _, confidences, rewards = zip(*samples, strict=True)
    surer, better = _slope(confidences), _slope(rewards)
    if not (surer > SLOPE_MIN and better < -SLOPE_MIN):
        return DivergenceState(samples=samples), QUIET
    state = DivergenceState(samples=samples, divergent=state.divergent + 1)
    return state, _reading(state, surer, better, thresholds)


def _reading(
    state: DivergenceState, surer: float, better: float, thresholds: DivergenceThresholds
) -> Reading:
    lasting, persistence = state.divergent, thresholds.persistence
    breaks = persistence is not None and lasting > persistence
    first, last = state.samples[0][0], state.samples[-1][0]
    windows = f", for {lasting} turns in a row" if lasting > 1 else ""
    return Reading(
        severity=Severity.BREAK if breaks else Severity.WARNING,
        value=lasting,
        threshold=1 if persistence is None or not breaks else persistence + 1,
        summary=f"confidence rose by {surer:.3g} a turn while reward fell by {-better:.3g} a turn "
        f"(turns {first} to {last}){windows}",
    )


def _slope(series: tuple[float, ...]) -> float:
    """Least-squares slope of at least two equally spaced values, in units a turn."""
    places = len(series)
    weight = -(places - 1) / 2
    rise = 0.0
    for sample in series:
        rise += weight * sample
        weight += 1
    return rise * 12 / (places * (places * places - 1))  # over the sum of the squared weights


def _is_number(value: float) -> bool:
    return -MEASURE_MAX <= value <= MEASURE_MAX


def _reports_nothing(turn: Turn) -> bool:
    return (
        turn.confidence is None
        and turn.reward is None
        and turn.output_lines is None
        and turn.text is None
        and not turn.tool_calls
        and not turn.failures
        and turn.progress == NO_PROGRESS
        and turn.usage == NO_USAGE
    )


WORDS: Final = Words(
    measured="confidence that rises while the reward falls",
    raised_by="an agent that believes itself",
    diagnosis="The run grows surer of itself while its results get worse.",
    suggestions=(
        "run the tests now",
        "look at the real diff",
        "take another approach if tests fail or nothing moved",
    ),
    measures=(Measure(words="confidence up, results down"),),
)

DIVERGENCE: Final = Signal(
    name="divergence",
    words=WORDS,
    defaults=DivergenceThresholds(),
    initial=EMPTY,
    step=_step,
    state_bytes_max=1024,
)
