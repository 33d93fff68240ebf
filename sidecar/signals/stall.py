"""stall: turn after turn, nothing changes.

What counts as movement is a threshold. The founding documents count changed files alone; but seven
of eight recorded repair runs that ended well read for six turns and more before they wrote, so by
default a call that taught something new is movement too.

A turn that brings news but does not report `files_changed` starts the count again: news is
evidence of movement whoever reports it. A turn with neither holds the count, since absent is not
zero. So a run that never reports `files_changed` can never stall. A turn that only waits for a job
holds it too: patience has a budget of its own in `loop`. So does one that only answers a person:
nobody expects a changed file of a talk.
"""

from enum import Enum
from typing import Final, assert_never

from sidecar.core.bounds import below, reached, require_at_least
from sidecar.core.digests.tool_name import thinks
from sidecar.core.reading import QUIET, Reading, Severity
from sidecar.core.signal import Signal
from sidecar.core.turn import CallKind, Outcome, ResultKind, Turn
from sidecar.core.value import value
from sidecar.core.words import Measure, Words


class StallEvidence(Enum):
    """What shows that a run is moving."""

    FILES = "files"
    """A changed file."""
    FILES_AND_NEWS = "files_and_news"
    """A changed file, or a call with a result that the run had not seen (`Turn.news`)."""


@value
class StallThresholds:
    """Turns in a row without movement. Founding: 3 and 5 (`debug` 5 and 8), by files alone."""

    warning: int | None = 8
    break_: int | None = 16
    evidence: StallEvidence = StallEvidence.FILES_AND_NEWS

    def __post_init__(self) -> None:
        """Refuse fewer than 1 turn."""
        require_at_least(1, warning=self.warning, break_=self.break_)


@value
class StallState:
    """The turns without movement so far."""

    turns: int = 0
    since: int = 0
    """Sequence of the first of them."""


MOVING: Final = StallState()


def _step(state: StallState, turn: Turn, thresholds: StallThresholds) -> tuple[StallState, Reading]:
    files = turn.progress.files_changed
    if _moved(files, turn, thresholds.evidence):
        return MOVING, QUIET
    if files != 0 or _is_held(turn, thresholds.evidence):  # absent, or not a count
        return state, QUIET
    since = state.since if state.turns else turn.sequence
    state = StallState(turns=state.turns + 1, since=since)
    found = reached(state.turns, warning=thresholds.warning, break_=thresholds.break_)
    if found is None:
        return state, below(state.turns, thresholds.warning, thresholds.break_)
    return state, _reading(*found, state, turn, thresholds)


def _moved(files: int | None, turn: Turn, evidence: StallEvidence) -> bool:
    match evidence:
        case StallEvidence.FILES:
            return files is not None and files > 0
        case StallEvidence.FILES_AND_NEWS:
            return turn.changed or True in turn.news
        case _:
            assert_never(evidence)


def _is_held(turn: Turn, evidence: StallEvidence) -> bool:
    """Whether the turn neither moved nor was to move: all it did was to wait or to think, which
    `loop` has budgets for, or to answer a person."""
    match evidence:
        case StallEvidence.FILES:
            return False
        case StallEvidence.FILES_AND_NEWS:
            if not turn.tool_calls:
                return turn.user_input
            return all(
                call.kind is CallKind.WAIT
                or call.result_kind is ResultKind.RUNNING
                or (call.outcome is Outcome.OK and thinks(call.name))
                for call in turn.tool_calls
            )
        case _:
            assert_never(evidence)


def _reading(
    severity: Severity, threshold: int, state: StallState, turn: Turn, thresholds: StallThresholds
) -> Reading:
    match thresholds.evidence:
        case StallEvidence.FILES:
            what = "no file changed"
        case StallEvidence.FILES_AND_NEWS:
            what = "no file changed and no call brought anything new"
        case _:
            assert_never(thresholds.evidence)
    turns = f"turns ({state.since} to {turn.sequence})" if state.turns > 1 else "turn"
    return Reading(
        severity=severity,
        value=state.turns,
        threshold=threshold,
        summary=f"{what} in the last {state.turns} {turns}",
    )


WORDS: Final = Words(
    measured="turns in which nothing changed and nothing new was learned",
    raised_by="reading without ever writing",
    diagnosis="The run goes on without changing anything.",
    suggestions=(
        "start writing a minimal solution",
        "do one component only",
        "make the simplest fix that could work",
    ),
    measures=(Measure(words="no progress {value}x"),),
)

STALL: Final = Signal(
    name="stall",
    words=WORDS,
    defaults=StallThresholds(),
    initial=MOVING,
    step=_step,
    state_bytes_max=64,
)
