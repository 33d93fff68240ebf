"""Arguments as models write them, and what of them is named as not taken."""

from collections.abc import Mapping
from typing import Any

UNFIT: tuple[tuple[Mapping[str, Any], list[str]], ...] = (
    ({"files_changed": "many"}, ["files_changed"]),
    ({"files_changed": -1}, ["files_changed"]),
    ({"files_changed": "2"}, []),
    ({"files_changed": True, "input_tokens": False}, ["input_tokens", "files_changed"]),
    ({"cost_usd": True, "confidence": False}, ["cost_usd", "confidence"]),
    ({"confidence": [0.5]}, ["confidence"]),
    ({"text": {"a": 1}}, ["text"]),
    ({"tool_calls": "Grep"}, ["tool_calls"]),
    ({"tool_calls": 7}, ["tool_calls"]),
    ({"tool_calls": ["Grep"]}, ["tool_calls"]),
    ({"tool_calls": [None]}, ["tool_calls"]),
    ({"tool_calls": [{"name": "Grep", "duration_s": True}]}, ["duration_s"]),
    ({"tool_calls": '[{"name": "Grep"}]'}, []),
    ({"tool_calls": {"name": "Grep"}}, []),
    ({"tool_calls": [{"name": "Grep", "outcome": "fine"}]}, ["outcome"]),
    ({"tool_calls": ""}, []),
    ({"failures": ["TypeError: x", {"kind": "TypeError"}]}, []),
    ({"failures": ["TypeError: x", None]}, ["failures"]),
    ({"failures": [1]}, ["failures"]),
    ({"final_answer": None, "approach": None}, []),
    ({"user_input": True, "session_id": "theirs"}, ["session_id", "user_input"]),
    ({"__proto__": 1, "x" * 500: 2}, ["__proto__", "x" * 64]),
)
