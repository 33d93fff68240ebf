"""A step as the events OpenHands keeps: a person's message, the agent's, calls and what they gave.

An event is known by its identity: two are the same to a stuck detector when theirs are equal.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from eval.baselines.told import Call, Outcome, Step

CONTEXT_WINDOW: Final = "context_window"
"""Kind of the failure that stands for a condensation in a recorded run."""


class Kind(Enum):
    """What an event is."""

    PERSON = auto()
    MESSAGE = auto()
    ACTION = auto()
    RESULT = auto()
    ERROR = auto()
    REJECTION = auto()
    CONDENSATION = auto()


OBSERVATIONS: Final = frozenset({Kind.RESULT, Kind.ERROR, Kind.REJECTION, Kind.CONDENSATION})

_RESULT_KINDS: Final = {
    Outcome.OK: Kind.RESULT,
    Outcome.ERROR: Kind.ERROR,
    Outcome.DENIED: Kind.REJECTION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of an OpenHands history."""

    kind: Kind
    identity: object = None
    call: Call | None = None
    """Of actions and of what they gave."""


def events(step: Step) -> Iterator[Event]:
    """A step's events in order. What was said before a call is the first call's thought."""
    if step.person_spoke:
        yield Event(kind=Kind.PERSON)
    for _ in filter(CONTEXT_WINDOW.__eq__, step.failures):
        yield Event(kind=Kind.CONDENSATION)
    if step.text and not step.calls:
        yield Event(kind=Kind.MESSAGE, identity=step.text)
    thought = step.text
    for call in step.calls:
        yield Event(kind=Kind.ACTION, identity=(call.canonical, thought), call=call)
        kind = _RESULT_KINDS[call.outcome]
        yield Event(kind=kind, identity=(kind, call.name, call.result), call=call)
        thought = ""


def last(history: Sequence[Event], kinds: frozenset[Kind], count: int) -> list[Event]:
    """The last `count` events of some kinds, the latest first; fewer where there are fewer."""
    found = []
    for event in reversed(history):
        if event.kind in kinds:
            found.append(event)
            if len(found) == count:
                break
    return found


def alike(found: Sequence[Event], count: int) -> bool:
    """Whether there are `count` events and all are the same."""
    return len(found) == count and len({event.identity for event in found}) == 1


def alternate(found: Sequence[Event], count: int) -> bool:
    """Whether there are `count` events and every other one is the same."""
    return (
        len(found) == count
        and len({event.identity for event in found[::2]}) == 1
        and len({event.identity for event in found[1::2]}) == 1
    )
