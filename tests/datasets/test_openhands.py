"""What the events of OpenHands become."""

from typing import Any

from sidecar.datasets.formats import openhands
from tests.datasets.telling import asked, document, findings, only, recordings, skipped, told, usage


def _event(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": f"2025-01-01T00:00:{number:02}", "source": "agent", **fields}


def _response(id_: str, *calls: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": id_,
        "model": "claude",
        "choices": [{"message": {"content": "", "tool_calls": list(calls)}}],
        "usage": {"prompt_tokens": 500, "completion_tokens": 30, "cache_read_input_tokens": 400},
    }


RESPONSE = _response(
    "r1",
    asked("t1", "execute_bash", '{"command": "ls", "security_risk": "LOW"}'),
    asked("t2", "execute_bash", '{"command": "false"}'),
)
EVENTS = [
    _event(1, source="user", action="message", args={"content": "Fix it"}),
    _event(2, action="recall", args={}),
    _event(
        3,
        action="run",
        args={"command": "ls", "thought": "Look", "is_confirmed": "confirmed"},
        tool_call_metadata={
            "function_name": "execute_bash",
            "tool_call_id": "t1",
            "model_response": RESPONSE,
        },
    ),
    _event(4, observation="run", cause=3, content="a.py", extras={"metadata": {"exit_code": 0}}),
    _event(
        5,
        action="run",
        args={"command": "false", "thought": ""},
        tool_call_metadata={
            "function_name": "execute_bash",
            "tool_call_id": "t2",
            "model_response": RESPONSE,
        },
    ),
    _event(
        6,
        observation="run",
        cause=5,
        content="",
        message="ran",
        extras={"metadata": {"exit_code": 1}},
    ),
    _event(7, action="edit", args={"path": "a.py", "thought": "Edit", "security_risk": -1}),
    _event(8, observation="edit", cause=7, content="ERROR:\nNo replacement was performed"),
    _event(9, observation="error", cause=-1, content="the reply held no action"),
    _event(10, action="finish", args={"thought": "All done"}),
]
EVENT_TURNS = [
    (
        "user> 'Look' execute_bash(command='ls') = ok 'a.py' "
        "execute_bash(command='false') = error 'ran'"
    ),
    (
        "'Edit' edit(path='a.py') = error 'ERROR:\\nNo replacement was performed' "
        "! agent error: the reply held no action"
    ),
    "'All done'",
]


def test_the_actions_of_one_response_are_one_turn_of_openhands() -> None:
    run = only(openhands.convert, document(*EVENTS, name="owner__repo-1.json"))
    assert run.session_id == "openhands-owner-repo-1"
    assert told(run) == EVENT_TURNS
    assert usage(run, 1) == {
        "input_tokens": 500,
        "output_tokens": 30,
        "cache_read_input_tokens": 400,
        "context_tokens": 530,
    }


def test_arguments_that_openhands_adds_to_every_tool_are_no_arguments() -> None:
    run = only(openhands.convert, document(*EVENTS))
    assert not [line for line in told(run) if "security_risk" in line]


def test_a_line_of_output_jsonl_is_an_instance_with_what_its_report_says() -> None:
    pairs = [[EVENTS[0], {"observation": "null"}], [EVENTS[6], EVENTS[7]]]
    instances = [
        {"instance_id": "a__b-1", "history": EVENTS, "test_result": {"report": {"resolved": True}}},
        {"instance_id": "a__b-2", "history": EVENTS, "resolved": False},
        {"issue": {"number": 5}, "history": pairs},
    ]
    found = recordings(openhands.convert, document(*instances, name="output.jsonl"))
    assert [(run.session_id, run.solved) for run in found] == [
        ("openhands-a-b-1", True),
        ("openhands-a-b-2", False),
        ("openhands-output-3", None),
    ]
    assert told(found[2]) == [
        "user> 'Edit' edit(path='a.py') = error 'ERROR:\\nNo replacement was performed'"
    ]


TEXT = [{"type": "text", "text": "Look"}]
NEWER = [
    {"kind": "SystemPromptEvent", "source": "agent"},
    {"kind": "MessageEvent", "source": "user", "llm_message": {"content": TEXT}},
    {
        "kind": "ActionEvent",
        "source": "agent",
        "thought": TEXT,
        "tool_name": "terminal",
        "tool_call_id": "c1",
        "tool_call": {"name": "terminal", "arguments": '{"command": "ls", "summary": "List"}'},
        "llm_response_id": "r1",
    },
    {
        "kind": "ActionEvent",
        "source": "agent",
        "thought": [],
        "tool_name": "editor",
        "tool_call_id": "c2",
        "tool_call": {"name": "editor", "arguments": "{}"},
        "llm_response_id": "r1",
    },
    {
        "kind": "ObservationEvent",
        "tool_call_id": "c1",
        "observation": {"content": TEXT, "exit_code": 2, "kind": "TerminalObservation"},
    },
    {"kind": "UserRejectObservation", "tool_call_id": "c2", "rejection_reason": "no"},
    {"kind": "AgentErrorEvent", "error": "no such tool"},
    {
        "kind": "MessageEvent",
        "source": "agent",
        "llm_message": {"content": [{"type": "text", "text": "Done"}]},
    },
]


def test_events_of_version_1_are_read_by_their_kinds() -> None:
    found = findings(openhands.convert, document(*NEWER))
    assert skipped(found) == {"SystemPromptEvent": 1}
    assert told(only(openhands.convert, document(*NEWER))) == [
        (
            "user> 'Look' terminal(command='ls') = error 'Look' editor() = denied 'no' "
            "! agent error: no such tool"
        ),
        "'Done'",
    ]
