"""What a rotate achieved shows three turns later, in the actor that it was said to."""

import pytest

from sidecar.core.breaker import State
from sidecar.core.directive import PROCEED, Cause, Commit, Decision, Directive, Rotate
from sidecar.core.reading import Reading, Severity
from sidecar.core.rotations import NONE_ROTATED, RotationOutcome, follow

ROTATE = Rotate(instruction="another way")
COMMIT = Commit(instruction="answer")
ENDED, PERSISTED = RotationOutcome.ENDED, RotationOutcome.PERSISTED


def decided(
    directive: Directive = PROCEED, *raised: str, signal: str = "", notice: bool = False
) -> Decision:
    return Decision(
        decision_id="0" * 16,
        sequence=1,
        cause=Cause.TURN,
        state=State.HEALTHY,
        state_before=State.HEALTHY,
        directive=directive,
        signal=signal,
        readings=tuple(
            Reading(severity=Severity.WARNING, signal=name, notice=notice) for name in raised
        ),
    )


def shown(*turns: tuple[str, Decision]) -> list[tuple[str, RotationOutcome]]:
    waiting, found = NONE_ROTATED, list[tuple[str, RotationOutcome]]()
    for actor, decision in turns:
        waiting, now = follow(waiting, actor, decision)
        found += now
    return found


FIRST = ("", decided(ROTATE, "loop", signal="loop"))
QUIET = ("", decided())
LOOPS = ("", decided(PROCEED, "loop"))


@pytest.mark.parametrize(
    ("why", "turns", "outcomes"),
    [
        ("two turns later nothing shows yet", [QUIET, QUIET], []),
        ("quiet at the third", [QUIET, QUIET, QUIET], [("loop", ENDED)]),
        ("it took two turns to stop", [LOOPS, LOOPS, QUIET], [("loop", ENDED)]),
        ("still there at the third", [QUIET, QUIET, LOOPS], [("loop", PERSISTED)]),
        ("a notice is no finding", [QUIET, QUIET, ("", decided(PROCEED, "loop", notice=True))],
         [("loop", ENDED)]),
        ("another signal at the third", [QUIET, QUIET, ("", decided(PROCEED, "spin"))],
         [("loop", ENDED)]),
        ("told to commit for it", [LOOPS, ("", decided(COMMIT, "loop", signal="loop"))],
         [("loop", PERSISTED)]),
        ("told to commit for something else", [("", decided(COMMIT, "spin", signal="spin")),
         QUIET, QUIET], [("loop", ENDED)]),
        ("another actor's turns", [("scout", decided())] * 5, []),
        ("another actor's loop", [QUIET, QUIET, ("scout", decided(PROCEED, "loop")), QUIET],
         [("loop", ENDED)]),
        ("rotated again, and then it ended", [LOOPS, FIRST, QUIET, QUIET, QUIET],
         [("loop", PERSISTED), ("loop", ENDED)]),
    ],
)  # fmt: skip
def test_what_becomes_of_the_pattern(
    why: str, turns: list[tuple[str, Decision]], outcomes: list[tuple[str, RotationOutcome]]
) -> None:
    assert shown(FIRST, *turns) == outcomes, why


def test_a_run_without_rotates_has_nothing_to_follow() -> None:
    assert follow(NONE_ROTATED, "", decided(PROCEED, "loop")) == (NONE_ROTATED, ())
