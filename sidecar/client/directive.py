"""What a report of a turn returns: what the agent should do now."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sidecar.v1.run_pb2 import Decision


class Kind(StrEnum):
    """What the agent should do, the weakest first. Equal to its plain string."""

    PROCEED = "proceed"
    """Go on."""
    ROTATE = "rotate"
    """Try another approach."""
    COMMIT = "commit"
    """Answer now with what is known."""
    HALT = "halt"
    """Stop."""

    @property
    def strength(self) -> int:
        """From 0, proceed, to 3, halt: of several the strongest is handed to the agent first."""
        return tuple(Kind).index(self)


class Reason(StrEnum):
    """Why the client went on without the sidecar. Equal to its plain string."""

    CONNECT = "connect"
    """No session could be opened: nobody listens, nobody answers, the address is unusable."""
    TIMEOUT = "timeout"
    """The session is open and no decision came in time."""
    STREAM = "stream"
    """The stream broke."""
    REJECTED = "rejected"
    """The sidecar refuses this client."""
    DRAINING = "draining"
    """The sidecar is stopping."""
    INTERNAL = "internal"
    """The client's own fault, or a value that could not be sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one signal made of the turn."""

    signal: str
    severity: str
    """"warning" or "break"; empty: one that this client does not know."""
    value: float
    """What was measured, in the signal's own unit."""
    threshold: float
    """What it was held against."""
    summary: str
    """The evidence in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """What the agent should do now. Without a sidecar it is a plain proceed."""

    kind: Kind = Kind.PROCEED
    instruction: str = ""
    """Ready for the agent's context: a rotate's or commit's instruction, the reason of a halt, or
    what a proceed thought worth knowing."""
    suggestions: tuple[str, ...] = ()
    approaches_tried: tuple[str, ...] = ()
    """Oldest first."""
    handover: bool = False
    """With a commit: a hand-over summary is wanted, and a new session goes on from here."""
    wait_max_s: float | None = None
    """When set, call `wait_for_operator` before going on; it waits this long at most."""
    late: bool = False
    """Whether it answers an earlier turn, whose own answer did not come in time."""
    fail_open_reason: Reason | None = None
    """Why the turn just reported has no decision; None: it has one, or none is due (observe)."""
    cause: str = ""
    """"turn", "operator" or "idle"; empty: no decision stands behind it."""
    state: str = ""
    """"healthy", "warning", "tripped" or "recovery"; empty: not known."""
    readings: tuple[Reading, ...] = ()
    """Signals above none, the gravest first."""
    decision: Decision | None = field(default=None, repr=False, hash=False)
    """The message as it came; None: there is none."""
