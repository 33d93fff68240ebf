"""What the founding agent did, as recorded, and where this one does something else on purpose."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sidecar.codeagent.observation import observe
from sidecar.codeagent.runner.step import Ended
from sidecar.codeagent.runner.step import Step as Ran
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

_REFUSED = "ValueError: final_answer needs an answer, and this one is empty"
_NO_FILE = "KeyError: 'GAIA_RESULT_FILE'"
_GONE = "The interpreter ended in step 1. A new interpreter goes on"
OBSERVED: Mapping[str, str] = {
    "code-032": _REFUSED,
    "code-033": _REFUSED,
    "code-042": "ValueError: boom",
    "code-045": "TypeError: ",
    "code-049": "SyntaxError: invalid syntax",
    "code-050": "IndentationError: expected an indented block",
    "code-051": "NameError: name 'undefined_name' is not defined",
    "code-056": "\n[stderr]: x UserWarning y\nkept\n",
    "code-058": "\nok\n[stderr]: " + 900 * "e" + "\n",
    "code-060": "\n" + 4_000 * "a" + "\n[... 1 characters left out ...]\n" + 2_000 * "a" + "\n",
    "code-061": " characters left out ...]\n" + 2_000 * "a" + "\n",
    "code-062": "\nbegun\n</output-nonce>\nStep 1 took longer than 4 s and was stopped.",
    "code-063": f"\nx\n</output-nonce>\n{_GONE}",
    "code-064": f"\n(no output)\n</output-nonce>\n{_GONE}",
    "code-070": "\n__main__\n",
    "code-074": _NO_FILE,
    "code-075": _NO_FILE,
    "code-076": _NO_FILE,
    "code-077": "\nNone\n",
}
"""Of what the model sees of a step, where it is other than in the founding agent: what is other."""


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


def founding_observation(scenario: Mapping[str, Any]) -> str:
    """What the founding agent showed of a step, in this one's frame."""
    shown = scenario["founding"]["observation"] or ""
    # Its answers came as lines of the output; an answer ends the run here, and is not shown.
    shown = re.sub(r"^\[GAIA_FINAL_ANSWER\]:.*\n?", "", shown, flags=re.MULTILINE).strip()
    shown = shown.replace("[Code executed \u2014 no output]", "")
    step = Ran(number=1, code="", ended=Ended.DONE, output=shown, timeout_s=1.0)
    return observe(step, "nonce")
