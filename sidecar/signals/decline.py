"""decline: the run gets worse. The assistant says less and less, or its score falls and falls.

Two measurements, two rules, and the worse finding is the reading: the output against the mean of
the first turns, and the score (`Turn.reward`) against the score before.
"""

import math
from typing import Final

from sidecar.core.bounds import below, is_count, occupancy, reached, require_at_least, require_share
from sidecar.core.reading import QUIET, Reading, Severity, worse
from sidecar.core.signal import Signal
from sidecar.core.turn import Turn
from sidecar.core.value import replace, value
from sidecar.core.words import Measure, Unit, Words


@value
class DeclineThresholds:
    """How far the output may fall.

    Founding: 0.5 and 0.7 in a single turn, whatever the window. Held against 69 recorded dialogues
    that ended well, those numbers broke 13, for one short reply after long ones; so the defaults
    never break, and warn only where a filling context window is a likely cause.
    """

    warning_ratio: float | None = 0.5
    """Drop, as a share of the baseline, that counts as a decline; None: never."""
    break_ratio: float | None = None
    """Drop that breaks; None: never."""
    baseline_turns: int = 3
    """Measured turns whose mean is the baseline, from the first on."""
    low_turns: int = 3
    """Low turns in a row that it takes."""
    window_ratio_min: float | None = 0.5
    """Share of the context window that must be known to be full in each of them, and no file
    changed; None: any, whatever is changed."""
    score_warning: int | None = 4
    """Falls of the score in a row; None: never. Five scores that have nothing to do with one
    another fall four times in one case of 120 (5!), and a nudge is all that this brings."""
    score_break: int | None = 6
    """Falls that break: seven such scores do it in one case of 5,040."""

    def __post_init__(self) -> None:
        """Refuse shares outside (0, 1] and fewer than 1 turn."""
        require_share(
            warning_ratio=self.warning_ratio,
            break_ratio=self.break_ratio,
            window_ratio_min=self.window_ratio_min,
        )
        require_at_least(1, baseline_turns=self.baseline_turns, low_turns=self.low_turns)
        require_at_least(2, score_warning=self.score_warning, score_break=self.score_break)


@value
class Scores:
    """The latest score, and how often it fell in a row to get there."""

    latest: float | None = None
    latest_at: int = 0
    """Sequence of its turn."""
    falls: int = 0
    highest: float = 0.0
    """The score before the first of the falls."""
    since: int = 0
    """Sequence of its turn."""

    def after(self, turn: Turn) -> "Scores":
        """With the score of this turn. One that stands still neither falls nor ends a fall."""
        score = turn.reward
        if score is None or not math.isfinite(score):
            return self
        if self.latest is None or score > self.latest:
            return Scores(latest=score, latest_at=turn.sequence)
        if score == self.latest:
            return self
        return Scores(
            latest=score,
            latest_at=turn.sequence,
            falls=min(self.falls + 1, FALLS_MAX),
            highest=self.highest if self.falls else self.latest,
            since=self.since if self.falls else self.latest_at,
        )

    def reading(self, thresholds: DeclineThresholds) -> Reading:
        """The falls, held against their limits."""
        warning, break_ = thresholds.score_warning, thresholds.score_break
        found = reached(self.falls, warning=warning, break_=break_)
        if found is None:
            return below(self.falls, warning, break_)
        return Reading(
            severity=found[0],
            value=self.falls,
            threshold=found[1],
            summary=f"the score fell {self.falls} times in a row, from {self.highest:.4g} "
            f"in turn {self.since} to {self.latest:.4g} in turn {self.latest_at}",
        )


FALLS_MAX: Final = 1_000_000
UNSCORED: Final = Scores()


@value
class DeclineState:
    """The baseline, and the low turns since; the scores."""

    baseline_lines: int = 0
    """Sum over the baseline's turns."""
    measured: int = 0
    """Turns in the baseline so far."""
    low: int = 0
    """Low turns in a row."""
    low_since: int = 0
    """Sequence of the first of them."""
    scores: Scores = UNSCORED


def _step(
    state: DeclineState, turn: Turn, thresholds: DeclineThresholds
) -> tuple[DeclineState, Reading]:
    state, reading = _step_output(state, turn, thresholds)
    if turn.reward is None:
        return state, reading
    scores = state.scores.after(turn)
    if scores is state.scores:
        return state, reading
    state = replace(state, scores=scores)
    return state, worse(reading, scores.reading(thresholds))


def _step_output(
    state: DeclineState, turn: Turn, thresholds: DeclineThresholds
) -> tuple[DeclineState, Reading]:
    lines = turn.output_lines
    if lines is None or not is_count(lines):
        return state, QUIET
    if state.measured < thresholds.baseline_turns:
        return DeclineState(
            baseline_lines=state.baseline_lines + lines,
            measured=state.measured + 1,
            scores=state.scores,
        ), QUIET
    if state.baseline_lines == 0:
        return state, QUIET
    # In integers up to the one division, so that exactly half is exactly 0.5.
    fall = state.baseline_lines - lines * state.measured
    drop = fall / state.baseline_lines
    is_low = _is_low(drop, turn, thresholds)
    if is_low is None:
        return state, QUIET
    low = state.low + 1 if is_low else 0
    if low or state.low:
        state = DeclineState(
            baseline_lines=state.baseline_lines,
            measured=state.measured,
            low=low,
            low_since=(state.low_since or turn.sequence) if low else 0,
            scores=state.scores,
        )
    if low < thresholds.low_turns:
        # One measure, or the share would fall while the drop goes on.
        if thresholds.low_turns > 1:
            return state, below(low, thresholds.low_turns)
        return state, below(drop, thresholds.warning_ratio, thresholds.break_ratio)
    return state, _reading(drop, lines, state, turn, thresholds)


def _is_low(drop: float, turn: Turn, thresholds: DeclineThresholds) -> bool | None:
    """Whether the turn is one of a decline; None: it is low but its context window is not known."""
    warning, break_ = thresholds.warning_ratio, thresholds.break_ratio
    if (warning is None or drop < warning) and (break_ is None or drop < break_):
        return False
    if thresholds.window_ratio_min is None:
        return True
    if turn.changed:
        return False  # whoever writes files need not say much
    share = occupancy(turn)
    return None if share is None else share >= thresholds.window_ratio_min


def _reading(
    drop: float, lines: int, state: DeclineState, turn: Turn, thresholds: DeclineThresholds
) -> Reading:
    severity, threshold = Severity.WARNING, thresholds.warning_ratio
    if thresholds.break_ratio is not None and drop >= thresholds.break_ratio:
        severity, threshold = Severity.BREAK, thresholds.break_ratio
    mean = state.baseline_lines / state.measured
    turns = f", the last of {state.low} low turns ({state.low_since} to {turn.sequence})"
    return Reading(
        severity=severity,
        value=drop,
        threshold=threshold or 0.0,
        summary=f"the assistant wrote {lines} lines in turn {turn.sequence}, "
        f"{100 * drop:.4g} % less than the {mean:.4g} of its first {state.measured} measured turns"
        + (turns if state.low > 1 else ""),
    )


WORDS: Final = Words(
    measured="lines of output against those of the first turns",
    raised_by="a worn-out context",
    diagnosis="The run gets worse: it says less and less, or its score falls and falls.",
    suggestions=(
        "save the findings and rest",
        "summarise and go on with a fresh context",
    ),
    measures=(
        Measure(within="the score fell", words="score fell {value}x"),
        Measure(words="output down {value}", unit=Unit.SHARE),
    ),
)

DECLINE: Final = Signal(
    name="decline",
    words=WORDS,
    defaults=DeclineThresholds(),
    initial=DeclineState(),
    step=_step,
    # Lost turns do not make the first turns other turns.
    consecutive=False,
    state_bytes_max=320,
)
