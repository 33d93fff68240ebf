"""mini-swe-agent: its trajectories (`*.traj.json`) and what it prints, as Terminal-Bench logs it.

`agent.log` of a Terminal-Bench trial is a terminal session with everything that came on screen:
colours, a spinner, and lines broken at the width of the terminal, which stay broken. `results.json`
beside it says whether the trial was solved.
"""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from sidecar.datasets.json_text import decode
from sidecar.datasets.moves import (
    Answered,
    Broken,
    Call,
    Document,
    Fault,
    Finding,
    Move,
    Person,
    Recording,
    Said,
    Skipped,
)
from sidecar.datasets.shapes import Content, FunctionCall, each, outcome, slug, words
from sidecar.v1.run_pb2 import Usage

EXPECTED: Final = "a trajectory of mini-swe-agent: messages with role and content"
RESULTS: Final = "results"
"""Role of the file beside a log."""

_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])")
_SPINNER: Final = re.compile(r"[\u2800-\u28ff] Waiting for the LM to respond\.\.\.\r?")
_RULE: Final = re.compile(r"^\u2500{20,}$", re.MULTILINE)
_STEP: Final = re.compile(r"^mini-swe-agent \(step \d+, \$(\d+\.\d+)\):$", re.MULTILINE)
_REPLY: Final = re.compile(r"^User:$", re.MULTILINE)
_FAREWELL: Final = re.compile(r"^Saved trajectory to '", re.MULTILINE)

_COMMAND: Final = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)\n?```", re.DOTALL)
_RETURN_CODE: Final = re.compile(r"<returncode>\s*(-?\d+)\s*</returncode>")
_OUTPUT: Final = re.compile(r"<output>\n?(.*?)\n?</output>", re.DOTALL)


class _Action(msgspec.Struct, frozen=True):
    command: str


class _Extra(msgspec.Struct, frozen=True):
    actions: list[_Action] | None = None
    cost: float | None = None
    timestamp: float | None = None


class _Message(msgspec.Struct, frozen=True):
    role: str
    content: Content = None
    extra: _Extra = _Extra()
    tool_calls: list[FunctionCall] | None = None
    tool_call_id: str | None = None


class _Trajectory(msgspec.Struct, frozen=True):
    messages: list[_Message]


class _Trial(msgspec.Struct, frozen=True):
    task_id: str
    trial_name: str
    is_resolved: bool | None = None


def convert(document: Document) -> Iterator[Finding]:
    """The recording in a trajectory or a log."""
    if document.text:
        return _log(document)
    if len(document.records) == 1:
        return each(
            document.records,
            _Trajectory,
            EXPECTED,
            lambda trajectory: _read(document, trajectory.messages),
        )
    return _list(document)


def _list(document: Document) -> Iterator[Finding]:
    """Version 1 wrote the messages alone."""
    messages: list[_Message] = []
    yield from each(document.records, _Message, EXPECTED, lambda found: _keep(messages, found))
    yield from _read(document, messages)


def _keep(messages: list[_Message], message: _Message) -> Iterator[Finding]:
    messages.append(message)
    return iter(())


def _read(document: Document, messages: list[_Message]) -> Iterator[Finding]:
    yield Recording(
        session_id=slug("mini-swe-agent", document.stem),
        agent="mini-swe-agent",
        task=document.stem,
        moves=tuple(_moves(messages)),
    )


def _log(document: Document) -> Iterator[Finding]:
    """The recording in a terminal log; none where the agent never began."""
    trial = _trial(document)
    if isinstance(trial, Broken):
        yield trial
        return
    messages = list(_printed(document.text))
    if not messages:
        yield Skipped(kind="log without a step")
        return
    yield Recording(
        session_id=slug("terminal-bench", trial.trial_name),
        agent="terminal-bench-mini-swe-agent",
        task=f"terminal-bench {trial.task_id}",
        solved=trial.is_resolved,
        moves=(Person(), *_moves(messages)),
    )


def _trial(document: Document) -> _Trial | Broken:
    text = document.beside.get(RESULTS)
    if text is None:
        # sessions/agent.log lies in the folder of its trial.
        name = document.parts[-3] if len(document.parts) >= 3 else document.stem
        return _Trial(task_id=name.split(".")[0], trial_name=name)
    try:
        return msgspec.convert(decode(text), _Trial)
    except (ValueError, msgspec.ValidationError) as error:
        return Broken(
            place="results.json", problem=f"{error}; expected task_id, trial_name, is_resolved"
        )


def _printed(log: str) -> Iterator[_Message]:
    """The messages that were printed, from the first step on."""
    text = _SPINNER.sub("", _ESCAPE.sub("", log))
    text = _RULE.sub("", re.sub(r"\r*\n", "\n", text).replace("\r", ""))
    spent = 0.0
    steps = _STEP.split(text)[1:]
    for cost, step in zip(steps[::2], steps[1::2], strict=True):
        said, *heard = _REPLY.split(step, maxsplit=1)
        extra = _Extra(cost=round(float(cost) - spent, 6))
        yield _Message(role="assistant", content=said.strip(), extra=extra)
        spent = float(cost)
        for reply in heard:
            yield _Message(role="user", content=_FAREWELL.split(reply)[0].strip())


def _moves(messages: list[_Message]) -> Iterator[Move]:
    asked = begun = False
    for message in messages:
        text, extra = words(message.content), message.extra
        if message.role == "assistant":
            calls = tuple(_calls(message, text))
            asked, begun = bool(calls), True
            tokens = None if extra.cost is None else Usage(cost_usd=extra.cost)
            said = _COMMAND.sub("", text).strip()
            yield Said(text=said, calls=calls, usage=tokens, at_s=extra.timestamp)
        elif message.role in ("user", "tool"):
            yield from _replied(message, text, asked=asked, begun=begun)


def _calls(message: _Message, text: str) -> Iterator[Call]:
    """What was asked for: tool calls, the actions that were noted, or the one block in the text.

    Any other number of blocks is answered with a reminder.
    """
    if message.tool_calls:
        for call in message.tool_calls:
            yield Call(id=call.id, name=call.function.name, arguments=call.function.arguments)
        return
    noted = message.extra.actions
    commands = _COMMAND.findall(text) if noted is None else [action.command for action in noted]
    if noted is not None or len(commands) == 1:
        for command in commands:
            yield Call(name="bash", arguments={"command": command})


def _replied(message: _Message, text: str, *, asked: bool, begun: bool) -> Iterator[Move]:
    """What the environment answered; before the first step it is the task."""
    if not begun:
        yield Person()
    elif asked:
        code, output = _RETURN_CODE.search(text), _OUTPUT.search(text)
        yield Answered(
            text=output[1] if output else text,
            outcome=outcome(code is not None and code[1] != "0"),
            call_id=message.tool_call_id or "",
            at_s=message.extra.timestamp,
        )
    elif text:
        yield Fault(kind="format error", message=text)
