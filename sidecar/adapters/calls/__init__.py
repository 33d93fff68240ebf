"""What the services do, whichever protocol a call came by."""

from dataclasses import dataclass

from sidecar.adapters.calls.answers import AnswerCalls
from sidecar.adapters.calls.codes import CODES
from sidecar.adapters.calls.control import ControlCalls
from sidecar.adapters.calls.turns import TurnCalls

__all__ = ["CODES", "AnswerCalls", "Calls", "ControlCalls", "TurnCalls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """All that can be asked of one sidecar."""

    turns: TurnCalls
    answers: AnswerCalls
    control: ControlCalls
