"""Who is in the fleet."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sidecar.demo.mind import Mind, Role
from sidecar.demo.minds.between import BETWEEN
from sidecar.demo.minds.boaster import BOASTER
from sidecar.demo.minds.filler import FILLER
from sidecar.demo.minds.looper import LOOPER
from sidecar.demo.minds.patient import PATIENT
from sidecar.demo.minds.reader import READER
from sidecar.demo.minds.spinner import SPINNER
from sidecar.demo.minds.steady import STEADY

MINDS: Final[tuple[Mind, ...]] = (
    STEADY,
    PATIENT,
    BETWEEN,
    LOOPER,
    SPINNER,
    READER,
    FILLER,
    BOASTER,
)
"""The three that do well first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One agent of the fleet: a role under a name of its own."""

    name: str
    role: Role


def mind_of(place: int) -> Mind:
    """The mind of the agent in that place: each in turn."""
    return MINDS[place % len(MINDS)]


def cast(agents: int) -> Iterator[Part]:
    """So many agents, the minds in turn; a name is the mind's, numbered from the second on."""
    for place in range(agents):
        mind = mind_of(place)
        number = place // len(MINDS) + 1
        name = mind.name if number == 1 else f"{mind.name}-{number}"
        yield Part(name=name, role=mind)
