"""What the words of a tool's name say."""

from typing import Any

import pytest

from sidecar.adapters.convert import TurnBounds, TurnReader
from sidecar.core.digests.tool_name import only_plans, words_of
from sidecar.core.policy import Lens
from sidecar.core.turn import CallKind, ToolCall, Turn
from sidecar.presets import DEFAULT
from sidecar.v1 import run_pb2

READER = TurnReader(key=b"names of tools" * 2, lens=DEFAULT.lens, bounds=TurnBounds())


def read(name: str, arguments: str = "", result: str = "The list has been modified.") -> ToolCall:
    """A call of the tool, as the wire brings it."""
    call = run_pb2.ToolCall(name=name, arguments_json=arguments, result_text=result)
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
    "name", ["create_todo", "todo", "update_plan", "plan", "get_plan_details", "thinker", "Task"]
)
def test_work_on_lists_and_plans_of_others_does_not(name: str) -> None:
    assert not only_plans(name)
    assert read(name).informs


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("think", '{"thought": "Next the parser."}'),
        ("mcp__sequential-thinking__sequentialthinking", '{"thoughtNumber": 3}'),
        ("task_tracker", '{"command": "plan"}'),
        ("update_plan", '{"plan": [{"step": "read", "status": "pending"}]}'),
    ],
)
def test_what_an_agent_tells_itself_teaches_nothing_where_it_is_merely_confirmed(
    name: str, arguments: str
) -> None:
    assert not read(name, arguments).informs
    assert read(name, arguments, "1. Read a.py\n2. It cannot be parsed: see line 3").informs


@pytest.mark.parametrize("given", [run_pb2.CALL_KIND_UNSPECIFIED, run_pb2.CALL_KIND_PLAIN])
@pytest.mark.parametrize("arguments", [{"arguments_json": "{}"}, {"arguments_digest": "a1"}, {}])
def test_what_the_policy_says_of_a_tool_stands_above_what_its_agent_reads(
    given: run_pb2.CallKind, arguments: dict[str, Any]
) -> None:
    lens = Lens(waiting_tools=frozenset({"poll"}), navigation_tools=frozenset({"turn_leaf"}))
    reader = TurnReader(key=b"names of tools" * 2, lens=lens, bounds=TurnBounds())
    names = ("poll", "turn_leaf", "other")
    calls = [run_pb2.ToolCall(name=name, call_kind=given, **arguments) for name in names]
    turn = reader.read(run_pb2.Turn(sequence=1, tool_calls=calls))

    assert isinstance(turn, Turn)
    kinds = [call.kind for call in turn.tool_calls]
    assert kinds == [CallKind.WAIT, CallKind.NAVIGATION, CallKind.PLAIN]


def test_beside_a_digest_a_call_is_what_its_name_says_unless_its_agent_says_more() -> None:
    calls = [
        run_pb2.ToolCall(name="wait_for_agent", arguments_digest="a1"),
        run_pb2.ToolCall(
            name="wait_for_agent", arguments_digest="a1", call_kind=run_pb2.CALL_KIND_PLAIN
        ),
    ]
    turn = READER.read(run_pb2.Turn(sequence=1, tool_calls=calls))

    assert isinstance(turn, Turn)
    assert [call.kind for call in turn.tool_calls] == [CallKind.WAIT, CallKind.PLAIN]
