"""What a run's MCP server tells of it: bounded, each decision with its own turn."""

from typing import Any

from sidecar.client import Reason
from sidecar.client.decision import directive_of
from sidecar.client.directive import Directive
from sidecar.explaining.explanation import explain
from sidecar.mcp.history import History
from sidecar.v1 import run_pb2 as pb

READING = pb.Reading(signal="loop", severity=pb.SEVERITY_WARNING, value=3, threshold=3)


def decided(sequence: int, *, late: bool = False, **facts: Any) -> Directive:
    facts = {"cause": pb.CAUSE_TURN, "state": pb.STATE_HEALTHY, **facts}
    decision = pb.Decision(sequence=sequence, **facts)
    return directive_of(decision, late=late, reason=Reason.TIMEOUT if late else None)


def rotated(sequence: int, *, late: bool = False) -> Directive:
    state, rotate = pb.STATE_WARNING, pb.Rotate()
    return decided(sequence, late=late, state=state, rotate=rotate, readings=[READING])


def rows(history: History) -> list[tuple[int | None, str]]:
    return [(row.turn, row.state) for row in explain(history.session("s")).rows]


def test_a_late_decision_stands_in_the_row_of_its_own_turn() -> None:
    history = History(policy="")
    history.add(pb.Turn(), decided(1))
    history.add(pb.Turn(), Directive(fail_open_reason=Reason.TIMEOUT))
    history.add(pb.Turn(), rotated(2, late=True))

    assert rows(history) == [(1, "HEALTHY"), (2, "WARNING (repeated 3x)"), (3, "-")]
    assert history.sequence == 3


def test_what_an_operator_decided_stands_between_the_turns() -> None:
    history = History(policy="")
    history.add(pb.Turn(), decided(1))
    history.add(pb.Turn(), decided(1, cause=pb.CAUSE_OPERATOR, state=pb.STATE_RECOVERY))

    assert rows(history) == [(1, "HEALTHY"), (None, "RECOVERY (-)"), (2, "-")]


def test_turns_beyond_the_bound_are_told_no_more_and_still_counted() -> None:
    history = History(policy="", turns_max=3)
    for sequence in range(1, 6):
        progress = pb.Progress(files_changed=2)
        history.add(pb.Turn(progress=progress), decided(sequence))
    session = history.session("s")

    assert [turn for turn, _ in rows(history)] == [3, 4, 5]
    assert (session.session.totals.turns, session.session.totals.files_changed) == (5, 10)


def test_a_rotation_is_told_with_the_approach_before_and_after() -> None:
    history = History(policy="")
    history.add(pb.Turn(approach="grep"), rotated(1))
    history.add(pb.Turn(approach="read"), decided(2))
    found = explain(history.session("s"))

    assert found.approaches == ("grep (iterations 1): rotated: loop", "read (iterations 2)")
    assert found.rotations == ("iteration 1 (loop): previous grep, new read",)


def test_the_hash_of_an_error_is_equal_where_the_error_is() -> None:
    history = History(policy="")
    for sequence, message in enumerate(("ValueError: x", "ValueError: x", "KeyError: y"), 1):
        failure = pb.Failure(kind=message.partition(":")[0], message=message)
        history.add(pb.Turn(failures=[failure]), decided(sequence))
    errors = [row.error for row in explain(history.session("s")).rows]

    assert errors[0] == errors[1] != errors[2]
    assert history.session("s").session.totals.errors_distinct == 2


def test_a_turn_that_is_not_counted_says_so() -> None:
    history = History(policy="")
    rejection = pb.Rejection(reason="TOOL_CALLS_MAX")
    turn = pb.Turn(tool_calls=[pb.ToolCall(name="Grep")] * 300)
    history.add(turn, decided(1, rejection=rejection))

    assert rows(history) == [(1, "HEALTHY (not counted: TOOL_CALLS_MAX)")]
    assert history.session("s").session.totals.turns == 0
