"""What begins and ends a run, and what is done to it from outside."""

from dataclasses import field
from enum import Enum
from typing import TypeAlias

from sidecar.core.limits import Limits
from sidecar.core.value import value


class Mode(Enum):
    """Whether turns are answered."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


class RunOutcome(Enum):
    """How the agent's run ended, in the agent's own judgement."""

    UNSPECIFIED = "unspecified"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


@value
class Opening:
    """What an agent says of its run before the first turn."""

    session_id: str
    agent_name: str = ""
    agent_version: str = ""
    model: str = ""
    policy: str = ""
    """Name of the policy; empty: the default."""
    limits: Limits = field(default_factory=Limits)
    mode: Mode = Mode.ENFORCE
    previous_session_id: str = ""
    first_available_sequence: int = 0
    """Earliest turn that the agent can still send; 0: all."""
    labels: tuple[tuple[str, str], ...] = ()
    """Sorted by key."""


@value
class Beginning:
    """An opening, and what it was given."""

    opening: Opening
    limits: Limits
    """Those in force: what was asked for, within what the policy and the operator granted then."""


@value
class Succession:
    """An opening that goes on with another session's state."""

    opening: Opening
    inherited: str
    """The run that it begins with, as JSON (`sidecar.sessions.inheritance`)."""


@value
class Closing:
    """The agent's goodbye, or the operator's."""

    outcome: RunOutcome = RunOutcome.UNSPECIFIED
    has_final_answer: bool = False
    """In the goodbye, or in a turn before it."""
    reason: str = ""
    """Why, where it was not the agent who closed it."""


@value
class Continue:
    """Go on in spite of the signals, with more to spend where asked."""

    reason: str = ""
    extra_turns: int = 0
    extra_input_tokens: int = 0
    request_id: str = ""
    """The operator's name for it, which makes a repeat harmless; empty: none."""


@value
class Reset:
    """Begin again in recovery."""

    reason: str = ""
    request_id: str = ""
    """As that of Continue."""


@value
class Idle:
    """The time that a waiting agent was given is over."""

    waited_s: float = 0.0
    """0: it could not wait at all, and was answered with this in place of the rotate."""


def is_answer(event: object) -> bool:
    """Whether the event was answered to the turn before it, in place of that turn's decision."""
    return type(event) is Idle and event.waited_s == 0


class Finding(Enum):
    """What a judge makes of a run so far."""

    PROGRESSING = "progressing"
    CIRCLING = "circling"
    FINISHED = "finished"
    UNSURE = "unsure"


CITED_MAX = 8
"""Turns that a verdict cites; what it needs is two."""


@value
class Verdict:
    """A judge has spoken."""

    stuck: bool
    """Whether it finds the run circling, in turns that are there."""
    confidence: float = 0.0
    """In [0, 1]."""
    summary: str = ""
    """Its evidence in one sentence, without content: empty where the judge saw texts."""
    finding: Finding = Finding.UNSURE
    since: int = 0
    """Sequence of the turn from which it holds; 0: not said."""
    cited: tuple[int, ...] = ()
    """Sequences of the turns that it quotes, at most CITED_MAX."""
    texts_seen: bool = False
    """Whether the judge saw texts of the turns; else names, labels and counts only."""


Command: TypeAlias = Continue | Reset | Idle | Verdict
"""What is done to a run that was not its agent's doing."""


def request_of(command: Command) -> str:
    """The operator's name for the request; empty: none, so that every one counts."""
    match command:
        case Continue(request_id=request_id) | Reset(request_id=request_id):
            return request_id
        case Idle() | Verdict():
            return ""
