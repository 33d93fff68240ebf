"""What a rotate achieved: whether the pattern that it named had ended three turns later.

Nothing here decides anything; it is for those who count and explain decisions.
"""

from enum import Enum
from typing import Final

from sidecar.core.directive import Commit, Decision, Halt, Rotate
from sidecar.core.value import value

TURNS_GIVEN: Final = 3
"""Turns of the same actor after a rotate; its effect is read off the last of them."""


class RotationOutcome(Enum):
    """What became of the pattern."""

    ENDED = "ended"
    PERSISTED = "persisted"
    RUN_OVER = "run_over"
    """The run was closed before it showed."""


@value
class Rotated:
    """A rotate whose effect does not show yet."""

    signal: str
    actor: str
    turns: int = 0
    """Of the actor, since."""


NONE_ROTATED: Final[tuple[Rotated, ...]] = ()


def follow(
    waiting: tuple[Rotated, ...], actor: str, decision: Decision
) -> tuple[tuple[Rotated, ...], tuple[tuple[str, RotationOutcome], ...]]:
    """What still waits after a turn of this actor, and for each rotate whose effect shows with it
    the signal and what became of it."""
    still: list[Rotated] = []
    shown: list[tuple[str, RotationOutcome]] = []
    for rotated in waiting:
        outcome = _outcome(rotated, decision) if rotated.actor == actor else None
        if outcome is not None:
            shown.append((rotated.signal, outcome))
        elif rotated.actor == actor:
            still.append(
                Rotated(signal=rotated.signal, actor=rotated.actor, turns=rotated.turns + 1)
            )
        else:
            still.append(rotated)
    if type(decision.directive) is Rotate:
        still.append(Rotated(signal=decision.signal, actor=actor))
    return tuple(still), tuple(shown)


def unsent(waiting: tuple[Rotated, ...]) -> tuple[Rotated, ...]:
    """What still waits where the latest rotate, with no turn since, was not sent after all."""
    return waiting[:-1] if waiting and waiting[-1].turns == 0 else waiting


def _outcome(rotated: Rotated, decision: Decision) -> RotationOutcome | None:
    if decision.signal == rotated.signal and type(decision.directive) in (Rotate, Commit, Halt):
        return RotationOutcome.PERSISTED
    if rotated.turns + 1 < TURNS_GIVEN:
        return None
    raised = any(
        reading.signal == rotated.signal and not reading.notice for reading in decision.readings
    )
    return RotationOutcome.PERSISTED if raised else RotationOutcome.ENDED
