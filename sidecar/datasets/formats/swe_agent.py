"""SWE-agent: one JSON object for each run, `*.traj`, with its steps under `trajectory`.

Written by SWE-agent 0.5 and later. The file does not say whether the issue was solved.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from sidecar.datasets.moves import (
    Answered,
    Call,
    Document,
    Fault,
    Finding,
    Move,
    Recording,
    Said,
    Skipped,
)
from sidecar.datasets.shapes import each, outcome, slug

EXPECTED: Final = (
    "a trajectory of SWE-agent: trajectory, a list of steps with action and observation"
)

_COMMANDS: Final = frozenset(
    "open goto scroll_up scroll_down create edit insert append search_dir search_file find_file "
    "submit str_replace_editor".split()
)
"""Commands of its own shell interface, each of which is a tool; the rest is run by bash."""

_FAILED: Final = re.compile(
    r"\ATraceback \(most recent call last\):|^(?:[\w.]*(?:Error|Exception): )"
    r"|: (?:No such file or directory|command not found|Permission denied)\r?$"
    r"|\(No such file or directory\)"
    r"|\AYour proposed edit has introduced new syntax error",
    re.MULTILINE,
)
"""Its steps have no exit codes."""


class _Step(msgspec.Struct, frozen=True):
    action: str = ""
    observation: str | None = ""
    thought: str = ""
    response: str = ""


class _Info(msgspec.Struct, frozen=True):
    exit_status: str | None = None


class _Run(msgspec.Struct, frozen=True):
    trajectory: list[_Step] | None = None
    info: _Info = _Info()
    history: list[dict[str, object]] = []


def convert(document: Document) -> Iterator[Finding]:
    """The recording in the file."""

    def read(run: _Run) -> Iterator[Finding]:
        if not run.trajectory:
            # A demonstration holds the conversation alone, which says nothing of results.
            yield Skipped(kind="trajectory without steps")
            return
        yield Recording(
            session_id=slug("swe-agent", document.stem),
            agent="swe-agent",
            task=document.stem,
            moves=tuple(_moves(run.trajectory)),
            facts={"exit_status": run.info.exit_status},
        )

    return each(document.records, _Run, EXPECTED, read)


def _moves(steps: list[_Step]) -> Iterator[Move]:
    for step in steps:
        action = step.action.strip()
        said = (step.thought or step.response).strip()
        seen = step.observation or ""
        if not action:
            yield Said(text=said)
            if seen:
                yield Fault(kind="no command", message=seen)
            continue
        name = action.split(None, 1)[0]
        call = Call(name=name if name in _COMMANDS else "bash", arguments={"command": action})
        yield Said(text=said, calls=(call,))
        yield Answered(text=seen, outcome=outcome(_FAILED.search(seen)))
