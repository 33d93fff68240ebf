"""What a run of the agent came to."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from sidecar.client import Directive
from sidecar.codeagent.observation import clip
from sidecar.codeagent.runner.step import Ended, Step, ToolUse
from sidecar.core.answers.answer import Source
from sidecar.core.value import value

STEP_SHOWN_CHARS = 1_500
"""Of a step that a reviewer is shown."""


class StopReason(StrEnum):
    """Why a run stopped."""

    ANSWERED = "answered"
    COMMITTED = "committed"
    """The sidecar told it to."""
    MAX_TURNS = "max_turns"
    NO_CODE = "no_code"
    HALTED = "halted"
    """The sidecar, or an operator of it, told it to."""
    ERROR = "error"
    TIMED_OUT = "timed_out"
    """A model call was not answered in time."""


@value
class Told:
    """A directive other than proceed."""

    turn: int
    directive: Directive

    @property
    def signal(self) -> str:
        """What caused it; empty: an operator, or not known."""
        readings = self.directive.readings
        return readings[0].signal if readings else ""


@value
class Outcome:
    """Where a conversation ended."""

    stop_reason: StopReason
    answer: str | None = None
    source: Source = Source.NONE
    """TEXT: the agent's own. MODEL, HISTORY: of a forced commit."""
    error: str = ""
    turns: int = 0
    replans: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None: of one call at least it is not known."""
    steps: tuple[Step, ...] = ()
    tool_calls: Mapping[str, int]
    """By name, those that were made."""
    told: tuple[Told, ...] = ()


@value
class AgentResult:
    """A run."""

    question_id: str
    session_id: str
    outcome: Outcome
    isolation: str
    """How its code was contained."""
    give_ups: Mapping[str, int]
    """How often it went on without a sidecar that was to watch it, by the client's reasons."""
    wall_s: float

    @property
    def answer(self) -> str | None:
        """The answer; None: there is none."""
        return self.outcome.answer

    @property
    def trajectory(self) -> tuple[str, ...]:
        """What it did and found, step by step."""
        return tuple(
            clip(f"{step.code}\n-> {step.error or step.output.strip()}", STEP_SHOWN_CHARS)
            for step in self.outcome.steps
        )

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        outcome = self.outcome
        return {
            "question_id": self.question_id,
            "session_id": self.session_id,
            "answer": outcome.answer,
            "source": outcome.source,
            "stop_reason": outcome.stop_reason,
            "turns": outcome.turns,
            "tool_calls": dict(outcome.tool_calls),
            "input_tokens": outcome.input_tokens,
            "output_tokens": outcome.output_tokens,
            "cost_usd": outcome.cost_usd,
            "wall_s": round(self.wall_s, 3),
            "replans": outcome.replans,
            "timed_out": outcome.stop_reason is StopReason.TIMED_OUT,
            "error": outcome.error or None,
            "steps": [_step(step) for step in outcome.steps],
            "decisions": [_told(told) for told in outcome.told],
            "isolation": self.isolation,
            "give_ups": dict(self.give_ups),
        }


def _step(step: Step) -> dict[str, Any]:
    return {
        "code": step.code,
        "output": step.output,
        "stderr": step.complaints,
        "error": step.error,
        "ended": step.ended,
        "timed_out": step.ended is Ended.TIMED_OUT,
        "duration_s": round(step.duration_s, 3),
        "tools": [_use(use) for use in step.uses],
    }


def _use(use: ToolUse) -> dict[str, Any]:
    return {
        "name": use.name,
        "arguments": dict(use.arguments),
        "result": use.result,
        "failed": use.failed,
        "duration_s": round(use.duration_s, 3),
    }


def _told(told: Told) -> dict[str, Any]:
    return {
        "turn": told.turn,
        "directive": told.directive.kind.value,
        "signal": told.signal,
        "instruction": told.directive.instruction,
    }
