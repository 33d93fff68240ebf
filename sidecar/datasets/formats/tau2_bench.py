"""tau2-bench: one JSON object with the simulations of one agent in one domain.

`results/*.json` of sierra-research/tau2-bench and what `tau2 run` saves.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

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
)
from sidecar.datasets.shapes import Content, Count, each, outcome, seconds, slug, total, words
from sidecar.v1.run_pb2 import Usage

EXPECTED = "a file of tau2-bench: info and simulations, each with task_id and messages"
SIMULATION = "a simulation of tau2-bench: task_id, trial, reward_info and messages"

AGENT = "assistant"
"""Who asks for a tool, as messages name it; the simulated person has tools too."""


class _Call(msgspec.Struct, frozen=True):
    name: str
    id: str = ""
    arguments: dict[str, Any] | None = None
    requestor: str = AGENT


class _Usage(msgspec.Struct, frozen=True):
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None


class _Message(msgspec.Struct, frozen=True):
    role: str
    content: Content = None
    tool_calls: list[_Call] | None = None
    id: str | None = None
    error: bool = False
    requestor: str = AGENT
    timestamp: datetime | None = None
    usage: _Usage | None = None
    cost: float | None = None


class _Reward(msgspec.Struct, frozen=True):
    reward: float | None = None


class _Simulation(msgspec.Struct, frozen=True):
    task_id: str | int
    messages: list[_Message]
    trial: int | None = 0
    reward_info: _Reward | None = None


class _Named(msgspec.Struct, frozen=True):
    llm: str | None = None
    domain_name: str | None = None


class _Info(msgspec.Struct, frozen=True):
    agent_info: _Named = _Named()
    environment_info: _Named = _Named()


class _File(msgspec.Struct, frozen=True):
    simulations: list[Any]
    info: _Info = _Info()


def convert(document: Document) -> Iterator[Finding]:
    """One recording for each simulation in the file."""
    return each(document.records, _File, EXPECTED, lambda file: _read(file, document.stem))


def _read(file: _File, stem: str) -> Iterator[Finding]:
    model = file.info.agent_info.llm or ""
    domain = file.info.environment_info.domain_name or stem

    def read(simulation: _Simulation) -> Iterator[Finding]:
        yield Recording(
            session_id=slug("tau2", model, domain, simulation.task_id, simulation.trial or 0),
            agent=slug("tau2", model, domain),
            model=model,
            task=f"tau2 {domain} {simulation.task_id}",
            solved=_solved(simulation),
            moves=tuple(_moves(simulation.messages)),
        )

    numbered = (
        Record(place=f"simulation {number}", value=value)
        for number, value in enumerate(file.simulations, start=1)
    )
    yield from each(numbered, _Simulation, SIMULATION, read)


def _solved(simulation: _Simulation) -> bool | None:
    reward = simulation.reward_info.reward if simulation.reward_info else None
    return None if reward is None else reward >= 1


def _moves(messages: list[_Message]) -> Iterator[Move]:
    for message in messages:
        at_s = seconds(message.timestamp)
        text = words(message.content)
        match message.role:
            case "user" if text:
                yield Person()
            case "assistant":
                calls = (
                    Call(id=call.id, name=call.name, arguments=call.arguments or {})
                    for call in message.tool_calls or ()
                )
                yield Said(text=text, calls=tuple(calls), usage=_tokens(message), at_s=at_s)
            case "tool" if message.requestor == AGENT:
                yield Answered(
                    text=text,
                    outcome=outcome(message.error),
                    call_id=message.id or "",
                    at_s=at_s,
                )


def _tokens(message: _Message) -> Usage | None:
    if message.usage is None:
        return None
    usage = message.usage
    return Usage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        context_tokens=total(usage.prompt_tokens, usage.completion_tokens),
        cost_usd=message.cost,
    )
