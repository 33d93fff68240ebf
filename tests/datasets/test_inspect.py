"""What the logs of Inspect become."""

from typing import Any

import pytest

from sidecar.datasets.formats import inspect_ai
from sidecar.datasets.moves import Broken
from tests.datasets.telling import document, findings, only, skipped, told, usage


def log(**sample: Any) -> dict[str, Any]:
    """A log with one sample."""
    return {
        "version": 2,
        "eval": {"task": "ctf", "model": "anthropic/claude"},
        "samples": [{"id": 1, "epoch": 2, **sample}],
    }


SAMPLE = {
    "messages": [
        {"role": "user", "content": "Find the flag", "source": "input", "id": "m0"},
        {
            "role": "assistant",
            "id": "m1",
            "content": [{"type": "reasoning"}, {"type": "text", "text": "Look"}],
            "tool_calls": [{"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": f"attachment://{'0' * 32}"},
        {"role": "user", "content": "Please go on"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c2", "function": "rm", "arguments": {}}],
        },
        {
            "role": "tool",
            "tool_call_id": "c2",
            "content": "",
            "error": {"type": "approval", "message": "rejected"},
        },
    ],
    "attachments": {"0" * 32: "flag.txt"},
}


@pytest.mark.parametrize(
    ("why", "usage_"),
    [
        (
            "apart from it",
            {"input_tokens": 10, "input_tokens_cache_read": 900, "input_tokens_cache_write": 90},
        ),
        ("within it", {"input_tokens": 1000, "input_tokens_cache_read": 900}),
    ],
)
def test_an_inspect_samples_cached_tokens_are_input(why: str, usage_: dict[str, int]) -> None:
    output = {
        "choices": [{"message": {"id": "m1"}}],
        "usage": {**usage_, "output_tokens": 50, "total_tokens": 1050},
    }
    events = [{"event": "state"}, {"event": "model", "output": output}, "no event"]
    written = log(**SAMPLE, events=events, scores={"match": {"value": "C"}})
    run = only(inspect_ai.convert, document(written))
    assert run.session_id == "inspect-ctf-anthropic-claude-1-2"
    assert (run.solved, run.task) == (True, "ctf 1")
    assert told(run) == [
        "user> 'Look' bash(cmd='ls') = ok 'flag.txt'",
        "'' rm() = denied 'rejected'",
    ]
    counted = usage(run, 1)
    assert (counted["input_tokens"], counted["context_tokens"]) == (1000, 1050), why


@pytest.mark.parametrize(
    ("value", "solved"),
    [("C", True), ("I", False), ("P", False), (1, True), (0.5, False), (True, True), ("yes", None)],
)
def test_an_inspect_score_says_whether_a_sample_was_solved(value: Any, solved: bool | None) -> None:
    written = log(**SAMPLE, scores={"any": {"value": value}})
    assert only(inspect_ai.convert, document(written)).solved is solved


def test_an_inspect_log_without_samples_is_passed_over_and_a_broken_sample_is_named() -> None:
    empty = {"eval": {"task": "ctf"}, "samples": None}
    assert skipped(findings(inspect_ai.convert, document(empty))) == {"log without samples": 1}
    (found,) = findings(inspect_ai.convert, document(log(messages="none")))
    assert isinstance(found, Broken)
    assert found.place == "sample 1"
