"""What a decision tells the agent, and which action gets which directive."""

from collections.abc import Mapping
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Final, TypeAlias

from sidecar.core.breaker import State
from sidecar.core.digests.measured import hex16, utf8
from sidecar.core.reading import Reading, Severity
from sidecar.core.value import value


class Strength(IntEnum):
    """How much a directive asks; the strongest of a turn wins."""

    PROCEED = 0
    ROTATE = 1
    COMMIT = 2
    HALT = 3


class Action(Enum):
    """What a policy does about a signal at a severity."""

    ROTATE = "rotate"
    PAUSE = "pause"
    ASK_USER = "ask_user"
    COMMIT = "commit"
    REST = "rest"
    STOP = "stop"


def strength(action: Action, severity: Severity) -> Strength:
    """The directive that an action amounts to: `ask_user` waits at a warning, stops at a break."""
    match action:
        case Action.ROTATE | Action.PAUSE:
            return Strength.ROTATE
        case Action.COMMIT | Action.REST:
            return Strength.COMMIT
        case Action.STOP:
            return Strength.HALT
        case Action.ASK_USER:
            return Strength.HALT if severity is Severity.BREAK else Strength.ROTATE


@value
class Proceed:
    """Go on."""

    notice: str = ""


@value
class Rotate:
    """Try another approach."""

    instruction: str
    approaches_tried: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    wait_max_s: float | None = None
    """When set, the agent waits this long for a person before it goes on."""


@value
class Commit:
    """Answer now with what is known."""

    instruction: str
    handover: bool = False


@value
class Halt:
    """Stop."""

    reason: str


Directive: TypeAlias = Proceed | Rotate | Commit | Halt

_STRENGTHS: Final[Mapping[type, Strength]] = MappingProxyType(
    {
        Proceed: Strength.PROCEED,
        Rotate: Strength.ROTATE,
        Commit: Strength.COMMIT,
        Halt: Strength.HALT,
    }
)


def strength_of(directive: Directive) -> Strength:
    """How much the directive asks; a table, because this is asked every turn."""
    return _STRENGTHS[type(directive)]


PROCEED = Proceed()


class Cause(Enum):
    """What made the sidecar speak."""

    TURN = "turn"
    OPERATOR = "operator"
    IDLE = "idle"
    JUDGE = "judge"
    """A verdict was heard. Kept, and said to nobody: its reading comes with the next turn."""


@value
class Rejection:
    """Why a turn was not counted."""

    reason: str
    """Upper-case name of the fault."""
    field: str = ""
    description: str = ""


@value
class Decision:
    """The fold's answer to one turn or command."""

    decision_id: str
    sequence: int
    cause: Cause
    state: State
    state_before: State
    readings: tuple[Reading, ...] = ()
    """Readings above NONE: BREAK before WARNING, each group in the order of SIGNALS."""
    below: tuple[Reading, ...] = ()
    """Readings of severity NONE, in no order: for who watches the run, not for its agent."""
    directive: Directive = PROCEED
    signal: str = ""
    """The signal that the directive names; empty with a plain proceed."""
    overridden: bool = False
    """Whether the policy's force_continue withheld a directive."""
    rejection: Rejection | None = None
    policy_revision: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether it answers a turn with proceed and nothing else, as most do."""
        return (
            self.directive is PROCEED
            and not self.readings
            and self.rejection is None
            and not self.overridden
            and self.cause is Cause.TURN
        )


def decision_id(
    session_id: str, sequence: int, cause: Cause, revision: str, number: int = 0
) -> str:
    """16 hex digits over what a decision answers; `number` is the command's, 0 for a turn."""
    if cause is Cause.TURN:
        facts = f"{session_id}\n{sequence}\nturn\n{revision}"
    else:
        facts = f"{session_id}\n{sequence}\n{cause.value}\n{revision}\n{number}"
    return hex16(utf8(facts))
