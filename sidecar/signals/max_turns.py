"""max_turns: the run has taken the turns, or the time, that it was given."""

from typing import Final

from sidecar.core.bounds import below, budget_severity, require_share
from sidecar.core.limits import Limits
from sidecar.core.reading import QUIET, Reading, Severity, worse
from sidecar.core.signal import Signal
from sidecar.core.turn import Turn
from sidecar.core.value import replace, value
from sidecar.core.words import Measure, Unit, Words

TIME_MAX_S: Final = 253_402_300_800.0
"""The year 10000, where the wire's timestamps end; what lies outside is no time."""


@value
class MaxTurnsThresholds:
    """What a run may take. The two limits are `limits.max_turns` and `limits.duration_max_s` of the
    policy under other names: where both are set, the smaller holds."""

    turns_max: int | None = None
    """Turns at which the run breaks; None: no limit."""
    duration_max_s: float | None = None
    """Seconds from the first turn's start to the latest end at which it breaks; None: no limit."""
    warning_ratio: float | None = 0.8
    """Share of a limit from which on a notice is given; None: never."""

    def __post_init__(self) -> None:
        """Refuse a warning_ratio outside (0, 1]."""
        require_share(warning_ratio=self.warning_ratio)


@value
class MaxTurnsState:
    """What the run has taken so far."""

    turns: int = 0
    start_s: float | None = None
    """First time that any turn named; seconds since the epoch."""
    end_s: float | None = None
    """Latest time that any turn named."""


def _step(
    state: MaxTurnsState, turn: Turn, thresholds: MaxTurnsThresholds
) -> tuple[MaxTurnsState, Reading]:
    # A turn without measurements is a turn: this is the one signal that counts it.
    first, latest = state.start_s, state.end_s
    # A turn that names only one of its times has taken until then at least.
    for time_s in (turn.start_s, turn.end_s):
        if time_s is not None and 0 <= time_s <= TIME_MAX_S:
            first = time_s if first is None else first
            latest = time_s if latest is None or time_s > latest else latest
    state = MaxTurnsState(turns=state.turns + 1, start_s=first, end_s=latest)
    if thresholds.turns_max is None and thresholds.duration_max_s is None:
        return state, QUIET
    return state, worse(_turns(state, thresholds), _duration(state, turn, thresholds))


def _turns(state: MaxTurnsState, thresholds: MaxTurnsThresholds) -> Reading:
    severity = budget_severity(state.turns, thresholds.turns_max, thresholds.warning_ratio)
    if severity is Severity.NONE or thresholds.turns_max is None:
        return below(state.turns, thresholds.turns_max)
    return Reading(
        severity=severity,
        value=state.turns,
        threshold=thresholds.turns_max,
        summary=f"the run has taken {state.turns} of its {thresholds.turns_max} turns",
        notice=severity is Severity.WARNING,
    )


def _duration(state: MaxTurnsState, turn: Turn, thresholds: MaxTurnsThresholds) -> Reading:
    if state.start_s is None or state.end_s is None:
        return QUIET
    span_s = state.end_s - state.start_s
    severity = budget_severity(span_s, thresholds.duration_max_s, thresholds.warning_ratio)
    if severity is Severity.NONE or thresholds.duration_max_s is None:
        return below(span_s, thresholds.duration_max_s)
    return Reading(
        severity=severity,
        value=span_s,
        threshold=thresholds.duration_max_s,
        summary=f"the run has taken {span_s:g} s of its {thresholds.duration_max_s:g} s "
        f"by turn {turn.sequence}",
        notice=severity is Severity.WARNING,
    )


def _limited(thresholds: MaxTurnsThresholds, limits: Limits) -> MaxTurnsThresholds:
    return replace(
        thresholds,
        turns_max=thresholds.turns_max if limits.max_turns is None else limits.max_turns,
        duration_max_s=thresholds.duration_max_s
        if limits.duration_max_s is None
        else limits.duration_max_s,
    )


WORDS: Final = Words(
    measured="turns, and the time they span, against the run's limits",
    raised_by="an agent that goes on for ever",
    diagnosis="The run has used up the turns it was given.",
    measures=(
        Measure(within=" s of its ", words="time {value} of {threshold}", unit=Unit.SECONDS),
        Measure(words="turn {value} of {threshold}"),
    ),
)

MAX_TURNS: Final = Signal(
    name="max_turns",
    words=WORDS,
    defaults=MaxTurnsThresholds(),
    initial=MaxTurnsState(),
    step=_step,
    per_actor=False,
    budget=True,
    notices=True,
    consecutive=False,
    limited=_limited,
    state_bytes_max=128,
)
