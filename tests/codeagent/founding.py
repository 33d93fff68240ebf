"""What the founding agent did, as recorded, and where this one does something else on purpose."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sidecar.testing.model_script import Fail, HangUp, Raw, Say, Step

RECORDED = Path(__file__).parent.parent / "data" / "codeagent.jsonl"

DIFFERENT: Mapping[str, str | None] = {
    "code-012": "x=1",  # an unclosed block of a whole reply is run
    "code-014": None,  # an empty block is none
}
"""Code that is found, where it is other than in the founding agent; docs/agent.md says why."""


def recorded(kind: str) -> Iterator[dict[str, Any]]:
    """Scenarios of a kind."""
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        scenario = json.loads(line)
        if scenario["kind"] == kind:
            yield scenario


def blocks() -> list[Any]:
    """Name, text and code of each block."""
    return [
        pytest.param(
            scenario["name"],
            scenario["input"]["text"],
            DIFFERENT.get(scenario["name"], scenario["founding"]["code"]),
            id=scenario["name"],
        )
        for scenario in recorded("codeblock")
    ]


ANSWERS: Mapping[str, str | None] = {
    "code-032": None,  # final_answer(None) raises, and so
    "code-033": None,  # does final_answer("")
    "code-074": None,  # an answer comes over the pipe, and no file stands for one
    "code-076": None,
}
"""Of steps, where it is other than in the founding agent."""

RUNS: Mapping[str, Mapping[str, Any]] = {
    "code-087": {"final_answer": "x"},  # a reply with code is run, whatever its words say
    "code-101": {"tool_calls_by_name": {}},  # calls are counted when they are made
    "code-102": {"tool_calls_by_name": {"web_search": 3}},
}
"""What a run comes to, where it is other than in the founding agent."""

_DOCUMENT = Path(__file__).parents[2] / "docs" / "agent.md"
ROWS: frozenset[str] = frozenset(re.findall(r"code-\d{3}", _DOCUMENT.read_text(encoding="utf-8")))
"""Scenarios that docs/agent.md names as other than in the founding agent."""


def said(reply: Any) -> Step:
    """A model's reply, as it was recorded."""
    if isinstance(reply, str):
        return Say(text=reply, input_tokens=100, output_tokens=10)
    if reply.get("hangup"):
        return HangUp()
    if "status" in reply:
        return Fail(status=reply["status"])
    body = reply["body"]
    if "usage" not in body or "content" not in body:
        return Raw(body=json.dumps(body).encode())
    text = "\n".join(block["text"] for block in body["content"])
    return Say(text=text, **body["usage"])
