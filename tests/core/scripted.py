"""A signal whose readings are written into the turns, to test what the fold makes of readings."""

from dataclasses import dataclass
from typing import Any

from sidecar.core.breaker import Patience
from sidecar.core.directive import Decision
from sidecar.core.policy import Policy, Staging, Watch
from sidecar.core.reading import QUIET, Reading, Severity
from sidecar.core.run import Run
from sidecar.core.signal import Signal
from sidecar.core.turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Turns so far."""

    turns: int = 0


def _step(letter: str) -> Any:
    def step(state: Seen, turn: Turn, _: str) -> tuple[Seen, Reading]:
        turns = state.turns + 1
        after = Seen(turns=turns)
        if f"{letter}w" in turn.id:
            return after, _reading(Severity.WARNING, turns)
        if f"{letter}b" in turn.id:
            return after, _reading(Severity.BREAK, turns)
        if f"{letter}n" in turn.id:
            reading = _reading(Severity.WARNING, turns)
            return after, Reading(
                severity=reading.severity, value=turns, summary="running low", notice=True
            )
        return after, QUIET

    return step


def _reading(severity: Severity, turns: int) -> Reading:
    return Reading(severity=severity, value=turns, threshold=1.0, summary=f"turn {turns} repeats")


A = Signal(name="alpha", defaults="", initial=Seen(), step=_step("a"))
B = Signal(name="beta", defaults="", initial=Seen(), step=_step("b"))
MONEY = Signal(
    name="money", defaults="", initial=Seen(), step=_step("m"), per_actor=False, budget=True
)

STAGED = Policy(
    name="staged",
    watches=tuple(Watch(signal=signal, thresholds="") for signal in (MONEY, A, B)),
    patience=Patience(trip_turns=3),
)
FOUNDING = Policy(name="founding", watches=STAGED.watches, staging=Staging(nudge_first=False))

LETTERS = {"Proceed": ".", "Rotate": "R", "Commit": "C", "Halt": "H"}


def fold(
    policy: Policy, script: str, *, run: Run | None = None, **facts: Any
) -> tuple[Run, list[Decision]]:
    """Fold turns written as words: `aw` alpha warns, `ab` breaks, `mn` a notice, `.` quiet; `!` a
    person spoke, `$` a final answer; `<7` the last decision seen was 7; `@sub` another actor."""
    run = run or Run.start("s", policy, **facts)
    decisions = []
    for word in script.split():
        marks = word.partition("@")
        seen = marks[0].partition("<")
        turn = Turn(
            sequence=run.state.sequence + 1,
            id=seen[0],
            actor=marks[2],
            user_input="!" in seen[0],
            has_final_answer="$" in seen[0],
            directive_seen=int(seen[2]) if seen[2] else None,
        )
        run, decision = run.advance(turn)
        decisions.append(decision)
    return run, decisions


def directives(policy: Policy, script: str, **facts: Any) -> str:
    """A letter for each decision's directive."""
    _, decisions = fold(policy, script, **facts)
    return "".join(LETTERS[type(decision.directive).__name__] for decision in decisions)
