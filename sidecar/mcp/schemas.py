"""What the tools take and give, as JSON Schemas that a model reads."""

from types import MappingProxyType
from typing import Any, Final

from sidecar.mcp.message_schema import Schema, message_schema
from sidecar.v1 import answer_service_pb2, run_pb2

COUNTS: Final = MappingProxyType(
    {
        "output_lines": "Lines of text that you wrote in this turn.",
        "input_tokens": "Tokens sent to the model, cached ones included.",
        "output_tokens": "Tokens that the model produced.",
        "cache_read_input_tokens": "Of the input tokens, those read from a cache.",
        "cache_write_input_tokens": "Of the input tokens, those written to a cache.",
        "context_tokens": "Tokens in the context after the turn: a level, not a sum.",
        "context_window": "Size of the model's context window in tokens.",
        "files_changed": "Files written, created or deleted; leave out if you never edit files.",
        "files_changed_outside_plan": "Of the files changed, those that the plan does not name.",
        "tasks_completed": "Tasks completed in this turn.",
        "tasks_aligned": "Of the tasks completed, those that serve the plan.",
        "tests_passed": "Tests that passed.",
        "tests_failed": "Tests that failed.",
    }
)
NUMBERS: Final = MappingProxyType(
    {
        "cost_usd": "Cost of the turn in US dollars.",
        "test_coverage_ratio": "Share of the code that tests cover, from 0 to 1.",
        "confidence": "How sure you are that the work goes well, from 0 to 1.",
        "reward": "A score of the work on any steady scale; higher is better.",
    }
)
TEXTS: Final = MappingProxyType(
    {
        "text": "What you said in this turn.",
        "approach": "What is being tried, in a few words. Not for secrets.",
        "final_answer": "The answer to the task, once there is one.",
        "actor": "Name of the subagent that took the turn; leave out if it was you.",
        "id": "The turn's own id.",
    }
)

CALL_TEXTS: Final = MappingProxyType(
    {
        "name": "Name of the tool.",
        "result": "What it answered, as text.",
        "error": "What went wrong, if it failed.",
        "arguments_digest": "Any text that is equal when the arguments are, in place of them.",
        "result_digest": "Any text that is equal when the result is, in place of it.",
        "id": "The call's own id.",
    }
)
FAILURE_TEXTS: Final = MappingProxyType(
    {
        "kind": "Type of the error, as TypeError or exit 1.",
        "message": "The error's text.",
        "fingerprint": "Any text that is equal when the message is, in place of it.",
        "fingerprint_strict": "As fingerprint, with line and column numbers told apart.",
    }
)

STATES: Final = ("healthy", "warning", "tripped", "recovery")
GIVE_UPS: Final = ("connect", "timeout", "stream", "rejected", "draining", "internal")

IGNORED: Final = MappingProxyType[str, Any](
    {
        "type": "array",
        "items": {"type": "string"},
        "description": "Arguments that were not taken, or not as they were given.",
    }
)


def _of_type(name: str, meanings: MappingProxyType[str, str]) -> Schema:
    return {field: {"type": name, "description": text} for field, text in meanings.items()}


def _tool_call() -> Schema:
    return {
        "type": "object",
        "properties": {
            **_of_type("string", CALL_TEXTS),
            "arguments": {
                "type": ["object", "string"],
                "description": "What the tool was asked: an object, or JSON text.",
            },
            "outcome": {
                "enum": ["ok", "error", "denied"],
                "description": "Left out: error with an error, else ok.",
            },
            "result_kind": {"enum": ["plain", "empty", "acknowledgement", "running"]},
            "call_kind": {"enum": ["plain", "wait", "overview", "navigation", "write", "press"]},
            "duration_s": {"type": "number", "description": "Time that the call took, in seconds."},
        },
        "required": ["name"],
    }


def _failure() -> Schema:
    return {"type": ["object", "string"], "properties": _of_type("string", FAILURE_TEXTS)}


TURN: Final = MappingProxyType[str, Any](
    {
        "tool_calls": {
            "type": "array",
            "items": _tool_call(),
            "description": "The tool calls of this turn with what came of them, in order.",
        },
        "failures": {
            "type": "array",
            "items": _failure(),
            "description": "Errors of the turn; left out, they are read off failed calls.",
        },
        **_of_type("string", TEXTS),
        **_of_type("integer", COUNTS),
        **_of_type("number", NUMBERS),
    }
)
"""The arguments of `report_turn`, all of them optional: what is left out is unknown, not zero."""

COMMIT: Final = MappingProxyType[str, Any](
    {
        "question": {
            "type": "string",
            "description": "The question to be answered, where it is not the first message.",
        },
        "messages": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "role": {"enum": ["user", "assistant", "system", "tool"]},
                    "text": {"type": "string", "description": "What was said."},
                },
                "required": ["role", "text"],
            },
            "description": "The conversation so far, oldest first, as far as it bears on it.",
        },
    }
)
"""The arguments of `request_commit`."""


def taking(properties: MappingProxyType[str, Any]) -> Schema:
    """The input schema of a tool; what it does not know it passes over."""
    return {"type": "object", "properties": dict(properties), "additionalProperties": True}


def decision() -> Schema:
    """What `report_turn` gives: sidecar.v1.Decision, and what an agent needs beside it."""
    schema = message_schema(run_pb2.Decision)
    schema["properties"] |= {
        "kind": {
            "enum": ["proceed", "rotate", "commit", "halt"],
            "description": "Go on; try another approach; answer now; stop.",
        },
        "instruction": {"type": "string", "description": "What to do now, in words."},
        "late": {"type": "boolean", "description": "Whether it answers an earlier turn."},
        "fail_open_reason": {
            "enum": ["", *GIVE_UPS],
            "description": "Why this turn has no decision; empty: it has one.",
        },
        "ignored": dict(IGNORED),
    }
    schema["required"] = ["kind", "instruction", "late", "fail_open_reason", "ignored"]
    return schema


def status() -> Schema:
    """What `get_status` gives."""
    readings = message_schema(run_pb2.Decision)["properties"]["readings"]
    return {
        "type": "object",
        "properties": {
            "session_id": {"type": "string"},
            "connected": {
                "type": "boolean",
                "description": "Whether a sidecar is there and has every turn reported.",
            },
            "state": {"enum": ["", *STATES], "description": "Empty: nothing was decided yet."},
            "last_sequence": {"type": "integer", "description": "Turns reported so far."},
            "readings": readings,
            "give_ups": {"type": "object", "additionalProperties": {"type": "integer"}},
            "ignored": dict(IGNORED),
        },
        "required": ["session_id", "connected", "state", "last_sequence", "readings", "give_ups"],
    }


def committed() -> Schema:
    """What `request_commit` gives: sidecar.v1.ForceCommitResponse, or why there is none."""
    schema = message_schema(answer_service_pb2.ForceCommitResponse)
    schema["properties"] |= {
        "refusal": {"type": "string", "description": "Why no answer was asked for; empty: it was."},
        "retry_after_s": {"type": "number", "description": "When to ask again, in seconds; 0: no."},
        "ignored": dict(IGNORED),
    }
    schema["required"] = ["refusal", "retry_after_s", "ignored"]
    return schema
