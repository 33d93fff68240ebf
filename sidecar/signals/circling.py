"""circling: a judge says that the run goes round in meaning, as no rule on calls and results sees.

The judge is asked beside the run, and its verdict is heard as a recorded input of it
(`sidecar.core.opening.Verdict`). A verdict that counts is read on the turns that follow it, a few
of them, so that what it led to and never arrived is said again; then it is old. A person's word
and every verdict that does not find the run circling start the count again.

It rests on a model's opinion of content that others wrote. So it is advisory: alone it never halts.
"""

from typing import Final

from sidecar.core.bounds import below, reached, require_at_least, require_share
from sidecar.core.opening import Verdict
from sidecar.core.reading import QUIET, Reading, Severity
from sidecar.core.signal import Signal
from sidecar.core.turn import Turn
from sidecar.core.value import value
from sidecar.core.words import Measure, Words

VERDICTS_MAX: Final = 1_000
"""Counted in a row; more say nothing more."""

CITED_SHOWN: Final = 4
"""Of the turns that a verdict cites, those that the summary names."""


@value
class CirclingThresholds:
    """How many verdicts in a row, and how sure. One warns and two break, as a judge is itself only
    probably right: the second is the double check."""

    confidence_min: float = 0.8
    """Least confidence of a verdict that counts. gemini-cli's judge has to be 0.9 sure, with which
    it stops a run at once; here the first verdict only nudges."""
    warning: int | None = 1
    """Verdicts in a row; None: never."""
    break_: int | None = 2
    """As `warning`."""
    stands_turns: int = 3
    """Turns on which a verdict is read: where a directive did not arrive, it is given again."""

    def __post_init__(self) -> None:
        """Refuse what no verdict can reach."""
        require_share(confidence_min=self.confidence_min)
        require_at_least(1, warning=self.warning, break_=self.break_)
        require_at_least(1, stands_turns=self.stands_turns)


@value
class CirclingState:
    """The verdicts in a row, and the latest of them."""

    in_a_row: int = 0
    since: int = 0
    """Sequence from which the latest says that it circles; 0: not said."""
    heard_at: int = 0
    """Sequence of the last turn before it."""
    confidence: float = 0.0
    cited: tuple[int, ...] = ()
    texts_seen: bool = False


EMPTY: Final = CirclingState()


def _heard(
    state: CirclingState, verdict: Verdict, sequence: int, thresholds: CirclingThresholds
) -> CirclingState:
    # Not `<`: a run file may say that a judge is NaN sure.
    if not (verdict.stuck and thresholds.confidence_min <= verdict.confidence <= 1):
        return EMPTY
    return CirclingState(
        in_a_row=min(state.in_a_row + 1, VERDICTS_MAX),
        since=verdict.since,
        heard_at=sequence,
        confidence=verdict.confidence,
        cited=verdict.cited[:CITED_SHOWN],
        texts_seen=verdict.texts_seen,
    )


def _step(
    state: CirclingState, turn: Turn, thresholds: CirclingThresholds
) -> tuple[CirclingState, Reading]:
    if not state.in_a_row:
        return state, QUIET
    if turn.user_input:
        return EMPTY, QUIET
    if not 0 < turn.sequence - state.heard_at <= thresholds.stands_turns:
        return state, QUIET
    found = reached(state.in_a_row, warning=thresholds.warning, break_=thresholds.break_)
    if found is None:
        return state, below(state.in_a_row, thresholds.warning, thresholds.break_)
    return state, _reading(state, *found)


def _reading(state: CirclingState, severity: Severity, limit: int) -> Reading:
    times = f", {state.in_a_row} times in a row" if state.in_a_row > 1 else ""
    since = f" since turn {state.since}" if state.since else ""
    cited = f" (see turns {', '.join(map(str, state.cited))})" if state.cited else ""
    seen = "texts" if state.texts_seen else "names, labels and counts only, no texts,"
    return Reading(
        severity=severity,
        value=state.in_a_row,
        threshold=limit,
        summary=f"a judge that saw {seen} found that the run circles{since}{cited}{times}; it is "
        f"{state.confidence:.0%} sure",
    )


WORDS: Final = Words(
    measured="a model's verdicts, where a [judge](answers.md#a-judge-for-circling) is on",
    raised_by="page after page without anything new",
    diagnosis="A model that was shown the run found that it goes round in meaning.",
    suggestions=(
        "write down what each of the last steps added, and what is still missing",
        "look for one missing fact by name, or in another kind of source",
        "write down what is known and answer from it",
    ),
    measures=(Measure(words="judged to go round {value}x"),),
)

CIRCLING: Final = Signal(
    name="circling",
    words=WORDS,
    defaults=CirclingThresholds(),
    initial=EMPTY,
    step=_step,
    heard=_heard,
    per_actor=False,
    advisory=True,
    state_bytes_max=256,
)
