"""What the words of a tool's name say."""

import pytest

from sidecar.adapters.convert import TurnBounds, TurnReader
from sidecar.core.digests.tool_name import only_plans, words_of
from sidecar.core.turn import ToolCall, Turn
from sidecar.presets import DEFAULT
from sidecar.v1 import run_pb2

READER = TurnReader(key=b"names of tools" * 2, lens=DEFAULT.lens, bounds=TurnBounds())


def read(name: str) -> ToolCall:
    """A call of the tool, as the wire brings it."""
    call = run_pb2.ToolCall(name=name, result_text="The list has been modified.")
    turn = READER.read(run_pb2.Turn(sequence=1, tool_calls=[call]))
    assert isinstance(turn, Turn)
    return turn.tool_calls[0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("str_replace_editor", "str replace editor"),
        ("functions.apply_patch", "functions apply patch"),
        ("mcp__github__create-issue", "mcp  github  create issue"),
        ("TodoWrite", "todo write"),
        ("getHTTPStatus", "get http status"),
        ("", ""),
    ],
)
def test_a_name_is_taken_apart_at_what_separates_its_words(name: str, words: str) -> None:
    assert words_of(name) == (words.split(" ") if words else [])


@pytest.mark.parametrize(
    "name",
    "TodoWrite todowrite write_todos update_todo_list manage_todo_list".split(),
)
def test_the_lists_that_agents_keep_for_themselves_only_plan(name: str) -> None:
    assert only_plans(name)
    assert not read(name).informs


@pytest.mark.parametrize(
    "name", ["create_todo", "todo", "update_plan", "plan", "get_plan_details", "think", "Task"]
)
def test_work_on_lists_and_plans_of_others_does_not(name: str) -> None:
    assert not only_plans(name)
    assert read(name).informs
