"""What happened in a run, one move after another, whatever tool recorded it.

A converter says what happened; `sidecar.datasets.turns` makes turns of it, alike for all formats.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sidecar.v1 import run_pb2
from sidecar.v1.run_pb2 import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call as the model asked for it."""

    name: str
    arguments: Any = None
    """A JSON text, or a value to be written as one; None: no arguments."""
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person spoke."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The model answered: a turn begins."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage | None = None
    """Cached tokens are among the input, whatever the source counts."""
    at_s: float | None = None
    """When it was asked, or where the source has only that, when it had answered; seconds since
    1970."""
    until_s: float | None = None
    """When it had answered."""
    actor: str = ""
    """Of the subagent; empty: the agent itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A tool answered."""

    text: str
    outcome: run_pb2.Outcome = run_pb2.OUTCOME_OK
    call_id: str = ""
    """Empty: the oldest call without an answer."""
    at_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The turn failed apart from its calls, as when the model's reply could not be read."""

    kind: str
    message: str


Move: TypeAlias = Person | Said | Answered | Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One run."""

    session_id: str
    agent: str
    """What recorded it, as gen_ai.agent.name."""
    moves: tuple[Move, ...]
    model: str = ""
    task: str = ""
    """What it was about; runs of one task name the same."""
    solved: bool | None = None
    """Whether the source says that it was solved; None: it does not say."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else the source knows of it, for its label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A record that could not be read."""

    place: str
    """Number of the line, or words that name the record."""
    problem: str
    """What was wrong and what would be right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Records that were passed over: of a kind that says nothing about turns, or an unknown one."""

    kind: str
    count: int = 1


Finding: TypeAlias = Recording | Broken | Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One parsed record."""

    place: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One file, parsed."""

    stem: str
    """Name of the file without folders and suffixes."""
    parts: tuple[str, ...] = ()
    """Of its path, the name last."""
    records: tuple[Record, ...] = ()
    """Of a JSON or JSON Lines file."""
    text: str = ""
    """Of any other file."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Texts of the files that the format reads beside it, by their role; those that are there."""
