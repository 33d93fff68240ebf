"""tau-bench: a JSON list of runs, each an OpenAI-style chat with a simulated person.

`historical_trajectories/*.json` of sierra-research/tau-bench, and what its `run.py` writes.
"""

from collections.abc import Iterator

import msgspec

from sidecar.datasets.moves import (
    Answered,
    Call,
    Document,
    Finding,
    Move,
    Person,
    Recording,
    Said,
)
from sidecar.datasets.shapes import Content, FunctionCall, each, outcome, slug, words

EXPECTED = "a run of tau-bench: task_id, trial, reward and traj, a list of chat messages"


class _Message(msgspec.Struct, frozen=True):
    role: str
    content: Content = None
    tool_calls: list[FunctionCall] | None = None
    tool_call_id: str | None = None


class _Run(msgspec.Struct, frozen=True):
    task_id: int | str
    traj: list[_Message]
    trial: int = 0
    reward: float | None = None


def convert(document: Document) -> Iterator[Finding]:
    """One recording for each run in the file."""

    def read(run: _Run) -> Iterator[Finding]:
        yield Recording(
            session_id=slug("taubench", document.stem, run.task_id, run.trial),
            agent=slug("taubench", document.stem),
            task=f"taubench {_domain(document.stem)} {run.task_id}",
            # The reward is 1 where the database and the answers are as the task wants them.
            solved=None if run.reward is None else run.reward >= 1,
            moves=tuple(_moves(run.traj)),
        )

    return each(document.records, _Run, EXPECTED, read)


def _domain(stem: str) -> str:
    """`airline` of `gpt-4o-airline`."""
    return stem.rsplit("-", 1)[-1]


def _moves(messages: list[_Message]) -> Iterator[Move]:
    for message in messages:
        text = words(message.content)
        match message.role:
            case "user":
                yield Person()
            case "assistant":
                calls = (
                    Call(id=call.id, name=call.function.name, arguments=call.function.arguments)
                    for call in message.tool_calls or ()
                )
                yield Said(text=text, calls=tuple(calls))
            case "tool":
                # Its tools answer a refusal with a text that begins so; nothing else marks it.
                failed = text.startswith("Error")
                yield Answered(
                    text=text, outcome=outcome(failed), call_id=message.tool_call_id or ""
                )
