"""What a scripted mind is: what it does next, given what came of the last thing it did.

A mind stands where a real agent has its model. It is a generator: it yields a Move, its agent
carries the move out, reports the turn, and sends back what was seen. Nothing in it is random, so a
mind that sees the same does the same.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Protocol, TypeAlias

from sidecar.client import Directive

WINDOW_TOKENS = 200_000
"""A usual context window; nothing here comes near it but the mind that means to."""


class Tool(StrEnum):
    """What there is on a workbench."""

    READ = "read_file"
    WRITE = "write_file"
    EDIT = "edit_file"
    SEARCH = "search"
    RUN = "run"
    START = "start_job"
    LOOK = "look_at_job"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One use of a tool."""

    tool: Tool
    arguments: Mapping[str, str]


class Context(Enum):
    """What a move leaves in the mind's context."""

    KEPT = "kept"
    FRESH = "fresh"
    """Nothing of what was before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What a mind does in one turn."""

    text: str
    """What it says."""
    calls: tuple[Call, ...] = ()
    approach: str = ""
    """What it is trying, in a few words."""
    confidence: float | None = None
    """How sure it is, in [0, 1]; None: it does not say."""
    final_answer: str = ""
    context: Context = Context.KEPT
    pause_s: float = 0.0
    """Least time until its next move, whatever the demo's speed: for work that takes its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one call."""

    text: str
    failed: bool = False
    files_changed: int = 0
    tests_passed: int | None = None
    """None: no tests were run."""
    tests_failed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a mind sees of its last move."""

    results: tuple[Result, ...]
    directive: Directive


Script: TypeAlias = Generator[Move, Seen, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What a mind runs into unless it is told."""

    signal: str
    """The signal that is expected to name it first."""
    turns_unwatched: int
    """How many turns the script takes when nobody tells it anything."""


class Role(Protocol):
    """What an agent of the demo is there for."""

    @property
    def name(self) -> str:
        """In one word."""
        ...

    @property
    def aim(self) -> str:
        """What it does, in a few words for a table."""
        ...

    @property
    def trouble(self) -> Trouble | None:
        """What is expected of it; None: it does well, and nothing is to disturb it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Mind:
    """A script with all that belongs to it: a role."""

    name: str
    aim: str
    """What it does, in a few words for a table."""
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What lies on its bench when it begins: text by relative path."""
    script: Callable[[float], Script]
    """Made for a speed: 1 is one that a person can watch, 10 ten times as fast."""
    trouble: Trouble | None = None
    """None: it does well, and nothing is to disturb it."""
    edits_files: bool = True
    """Whether that is its work; an agent that never does reports no count of them."""
    window_tokens: int = WINDOW_TOKENS
