"""Inspect: the JSON logs of inspect_ai, one evaluation with its samples.

`inspect log dump` writes the JSON of a log in the `.eval` form. A sample is a run; its messages
name no costs, which its events do.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from sidecar.datasets.moves import (
    Answered,
    Call,
    Document,
    Finding,
    Move,
    Person,
    Record,
    Recording,
    Said,
    Skipped,
)
from sidecar.datasets.shapes import Content, Count, each, outcome, slug, total, words
from sidecar.v1.run_pb2 import Usage

EXPECTED: Final = "a log of Inspect: eval with task and model, and samples"
SAMPLE: Final = "a sample of an Inspect log: id, epoch and messages"

_ATTACHMENT: Final = re.compile(r"attachment://([0-9a-f]{32})")
"""Long texts stand apart, under the digest that is named in their place."""
_PEOPLE: Final = ("input", "operator")
_GRADES: Final = {"C": True, "P": False, "I": False, "N": False}


class _Eval(msgspec.Struct, frozen=True):
    task: str
    model: str = ""


class _Log(msgspec.Struct, frozen=True):
    eval: _Eval
    samples: list[Any] | None = None


class _Call(msgspec.Struct, frozen=True):
    function: str
    id: str = ""
    arguments: Any = None


class _Error(msgspec.Struct, frozen=True):
    type: str = ""
    message: str = ""


class _Message(msgspec.Struct, frozen=True):
    role: str
    content: Content = None
    id: str | None = None
    source: str | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    error: _Error | None = None


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: Count = 0
    output_tokens: Count = 0
    total_tokens: Count = 0
    input_tokens_cache_read: Count | None = None
    input_tokens_cache_write: Count | None = None
    total_cost: float | None = None


class _Named(msgspec.Struct, frozen=True):
    id: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Named = _Named()


class _Output(msgspec.Struct, frozen=True):
    choices: list[_Choice] = []
    usage: _Usage | None = None


class _Event(msgspec.Struct, frozen=True):
    event: str = ""
    output: _Output | None = None


class _Score(msgspec.Struct, frozen=True):
    value: Any = None


class _Sample(msgspec.Struct, frozen=True):
    id: str | int
    messages: list[_Message]
    epoch: int = 1
    scores: dict[str, _Score] | None = None
    events: list[Any] = []
    attachments: dict[str, str] = {}


def convert(document: Document) -> Iterator[Finding]:
    """One recording for each sample in the log."""
    return each(document.records, _Log, EXPECTED, _read)


def _read(log: _Log) -> Iterator[Finding]:
    def read(sample: _Sample) -> Iterator[Finding]:
        moves = tuple(_moves(sample))
        if not any(isinstance(move, Said) for move in moves):
            yield Skipped(kind="sample without an answer")
            return
        yield Recording(
            session_id=slug("inspect", log.eval.task, log.eval.model, sample.id, sample.epoch),
            agent=slug("inspect", log.eval.task),
            model=log.eval.model,
            task=f"{log.eval.task} {sample.id}",
            solved=_solved(sample.scores),
            moves=moves,
        )

    if not log.samples:
        yield Skipped(kind="log without samples")
    numbered = (
        Record(place=f"sample {number}", value=value)
        for number, value in enumerate(log.samples or (), start=1)
    )
    yield from each(numbered, _Sample, SAMPLE, read)


def _solved(scores: Mapping[str, _Score] | None) -> bool | None:
    """What the first scorer found: a grade, or a share of which 1 is all."""
    value = next((score.value for score in (scores or {}).values()), None)
    match value:
        case bool() | int() | float():
            return value >= 1
        case str():
            return _GRADES.get(value)
    return None


def _moves(sample: _Sample) -> Iterator[Move]:
    costs = _costs(sample.events)

    def text(message: _Message) -> str:
        return _ATTACHMENT.sub(
            lambda found: sample.attachments.get(found[1], found[0]), words(message.content)
        )

    begun = False
    for message in sample.messages:
        match message.role:
            case "user" if message.source in _PEOPLE or not begun:
                # A later message without a source is the scaffold's, which bids it go on.
                yield Person()
            case "assistant":
                begun = True
                calls = (
                    Call(id=call.id, name=call.function, arguments=call.arguments)
                    for call in message.tool_calls or ()
                )
                tokens = costs.get(message.id or "")
                yield Said(text=text(message), calls=tuple(calls), usage=tokens)
            case "tool":
                error = message.error
                yield Answered(
                    text=text(message) or (error.message if error else ""),
                    outcome=outcome(error, denied=error is not None and error.type == "approval"),
                    call_id=message.tool_call_id or "",
                )


def _costs(events: list[Any]) -> dict[str, Usage]:
    """What each answer cost, by the id of its message."""
    found: dict[str, Usage] = {}
    for value in events:
        try:
            event = msgspec.convert(value, _Event)
        except msgspec.ValidationError:
            continue  # An event that does not say what an answer cost.
        if event.output is None or event.output.usage is None:
            continue
        tokens = _tokens(event.output.usage)
        found.update(
            {choice.message.id: tokens for choice in event.output.choices if choice.message.id}
        )
    return found


def _tokens(usage: _Usage) -> Usage:
    """Whether the input counts cached tokens has changed with versions and providers; the total
    always does."""
    read, written = usage.input_tokens_cache_read, usage.input_tokens_cache_write
    apart = total(usage.input_tokens, read, written)
    sent = usage.total_tokens - usage.output_tokens if usage.total_tokens else apart
    return Usage(
        input_tokens=sent if sent is None else max(sent, usage.input_tokens),
        output_tokens=usage.output_tokens,
        cache_read_input_tokens=read,
        cache_write_input_tokens=written,
        context_tokens=total(sent, usage.output_tokens),
        cost_usd=usage.total_cost,
    )
