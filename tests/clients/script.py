"""One script of turns, in proto3 JSON as a driver gets it, and the one form of its decisions."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from sidecar.v1 import run_pb2

SESSION_ID = "same"
POLICY = "default"
LIMITS: Mapping[str, Any] = {"max_turns": "12"}


def _turn(**facts: Any) -> dict[str, Any]:
    return facts


def _call(name: str, arguments: str, result: str, **facts: Any) -> dict[str, Any]:
    return {"name": name, "arguments_json": arguments, "result_text": result, **facts}


GREP = _call("Grep", '{"q": "a", "n": 1.0}', "a.py:1: über 2 Treffer\n")

SCRIPT: tuple[Mapping[str, Any], ...] = (
    _turn(text="Ich sehe nach.", approach="grep", usage={"input_tokens": "1200"}, output_lines="3"),
    _turn(tool_calls=[GREP], approach="grep"),
    # The same arguments in another order and spelling.
    _turn(tool_calls=[_call("Grep", '{"n":1,"q":"a"}', GREP["result_text"])], approach="grep"),
    _turn(tool_calls=[GREP, GREP], approach="grep", confidence=0.5),
    _turn(tool_calls=[GREP], approach="grep", id="turn-5"),
    _turn(
        tool_calls=[
            _call("Bash", '{"cmd": "make"}', "TypeError: x is None", outcome="OUTCOME_ERROR")
        ],
        failures=[{"kind": "TypeError", "message": "x is None at 0x7f12 line 3"}],
        progress={"files_changed": "0", "tests_failed": "2", "test_coverage_ratio": 0.25},
    ),
    _turn(
        tool_calls=[{"name": "Edit", "arguments_digest": "0011223344556677"}],
        progress={"files_changed": "2"},
        approach="edit",
    ),
    _turn(tool_calls=[GREP], usage={"output_tokens": "9", "cost_usd": 0.125}),
    _turn(tool_calls=[GREP], actor="helper"),
    _turn(text="FINAL_ANSWER: 42", final_answer="42"),
    _turn(tool_calls=[GREP], reward=1.5),
    *(_turn(tool_calls=[GREP]) for _ in range(6)),
)
"""Each directive and a notice of the limit; sums, digests, an actor and an answer."""

DIRECTIVES = {"proceed", "rotate", "commit", "halt"}


def canonical(decisions: Iterable[Mapping[str, Any]], *, directory: str) -> list[str]:
    """Decisions in proto3 JSON, each parsed and written again: sorted, without spaces, and the
    sidecar's own directory masked."""
    written = []
    for decision in decisions:
        message = json_format.ParseDict(
            dict(decision), run_pb2.Decision(), ignore_unknown_fields=True
        )
        written.append(line_of(message).replace(directory, "DIRECTORY"))
    return written


def line_of(message: Message) -> str:
    """A message as JSON on one line: original field names, sorted, without spaces."""
    plain = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
