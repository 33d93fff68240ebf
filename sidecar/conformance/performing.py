"""One step of a table, done by whichever side plays it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from google.protobuf import json_format

from sidecar.conformance.faults import TableError
from sidecar.conformance.filling import fill
from sidecar.conformance.table import Step, steps_of


class Play(Protocol):
    """One side of a case."""

    @property
    def variables(self) -> MutableMapping[str, Any]:
        """What the steps so far have named."""
        ...


PlayT = TypeVar("PlayT", bound=Play)
Act: TypeAlias = Callable[[PlayT, Any], Awaitable[None]]
"""What a word of the table does, given its argument."""


REPEAT: Final = "repeat"
"""The word that does steps again and again, on either side."""


async def pause_ms(_: Play, duration_ms: Any) -> None:
    """Time passes."""
    await asyncio.sleep(duration_ms / 1000)


async def let(play: Play, variables: Any) -> None:
    """Sets variables."""
    play.variables.update(variables)


OF_EITHER_SIDE: Final[Mapping[str, Act[Play]]] = MappingProxyType(
    {"pause_ms": pause_ms, "let": let}
)


async def perform(step: Step, play: PlayT, acts: Mapping[str, Act[PlayT]]) -> None:
    """Does or awaits one thing. Raises Departure, or TableError for a fault of the table."""
    try:
        if step.word == REPEAT:
            await _repeat(step.argument, play, acts)
        elif act := {**acts, **OF_EITHER_SIDE}.get(step.word):
            await act(play, fill(step.argument, play.variables))
        else:
            words = ", ".join((*acts, *OF_EITHER_SIDE, REPEAT))
            raise TableError(f"no step {step.word!r}; there are {words}")
    except TableError:
        raise
    except (KeyError, TypeError, ValueError, json_format.ParseError) as error:
        raise TableError(f"{step.word}: {type(error).__name__}: {error}") from error


async def _repeat(loop: Any, play: PlayT, acts: Mapping[str, Act[PlayT]]) -> None:
    """Steps again and again, a variable counting; they are filled in each time anew."""
    name, (first, last) = loop["name"], fill(loop["from_to"], play.variables)
    steps = steps_of(loop["steps"])
    for number in range(first, last + 1):
        play.variables[name] = number
        for step in steps:
            await perform(step, play, acts)
