"""What became of a call: as its agent says, or else as its result does."""

import pytest

from sidecar.adapters.convert import TurnBounds, TurnReader
from sidecar.core.turn import Outcome, Turn
from sidecar.presets import DEFAULT
from sidecar.v1 import run_pb2

READER = TurnReader(key=b"outcomes" * 2, lens=DEFAULT.lens, bounds=TurnBounds())
REFUSED = "Error: no such order"


def read(call: run_pb2.ToolCall) -> Turn:
    turn = READER.read(run_pb2.Turn(sequence=1, tool_calls=[call]))
    assert isinstance(turn, Turn)
    return turn


def test_a_call_whose_outcome_is_not_said_failed_where_its_result_says_so() -> None:
    said = read(run_pb2.ToolCall(result_text=REFUSED, outcome=run_pb2.OUTCOME_ERROR))
    unsaid = read(run_pb2.ToolCall(result_text=REFUSED))
    assert unsaid.tool_calls[0].outcome is Outcome.ERROR
    assert unsaid == said
    assert len(unsaid.failures) == 1


@pytest.mark.parametrize(
    ("outcome", "read_as"),
    [
        (run_pb2.OUTCOME_OK, Outcome.OK),
        (run_pb2.OUTCOME_ERROR, Outcome.ERROR),
        (run_pb2.OUTCOME_DENIED, Outcome.DENIED),
    ],
)
def test_what_the_agent_says_is_believed(outcome: run_pb2.Outcome, read_as: Outcome) -> None:
    for text in (REFUSED, "3 orders"):
        turn = read(run_pb2.ToolCall(result_text=text, outcome=outcome))
        assert turn.tool_calls[0].outcome is read_as


@pytest.mark.parametrize(
    "call",
    [
        run_pb2.ToolCall(result_text="3 orders"),
        run_pb2.ToolCall(result_digest=REFUSED),
        run_pb2.ToolCall(),
    ],
    ids=["other text", "digest", "no result"],
)
def test_else_it_worked(call: run_pb2.ToolCall) -> None:
    assert read(call).tool_calls[0].outcome is Outcome.OK
