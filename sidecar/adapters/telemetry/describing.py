"""The attributes of each kind of span: worked out on the exporter's thread."""

from collections.abc import Iterable
from typing import Final

from sidecar.adapters.semconv import attributes as names
from sidecar.adapters.telemetry.record import Raw
from sidecar.adapters.telemetry.wording import STRENGTH_NAMES, command_name, directive_name
from sidecar.core.directive import Decision, Strength
from sidecar.core.opening import Closing, Command
from sidecar.core.turn import Turn
from sidecar.ports import ModelCall, Rejected

PROVIDER: Final = "anthropic"

NAMES_MAX: Final = 16
"""Tools, or kinds of failure, named on one span."""


def of_turn(turn: Turn, decision: Decision, tool_calls: int, failures: int) -> dict[str, Raw]:
    """A turn that was counted; of its calls and failures it may hold the first NAMES_MAX only."""
    usage = turn.usage
    return {
        **_of_decision(decision),
        names.TURN_ID: turn.id or None,
        names.ACTOR: turn.actor or None,
        names.APPROACH: turn.approach or None,
        names.USER_INPUT: turn.user_input or None,
        names.FINAL_ANSWER: turn.has_final_answer or None,
        names.INPUT_TOKENS: usage.input_tokens,
        names.OUTPUT_TOKENS: usage.output_tokens,
        names.CACHE_READ_TOKENS: usage.cache_read_input_tokens,
        names.CACHE_WRITE_TOKENS: usage.cache_write_input_tokens,
        names.CONTEXT_TOKENS: usage.context_tokens,
        names.CONTEXT_WINDOW: usage.context_window,
        names.COST: usage.cost_usd,
        names.TOOL_CALLS: tool_calls,
        names.TOOLS: _once(call.name for call in turn.tool_calls),
        names.FAILURES: failures,
        names.FAILURE_KINDS: _once(failure.kind for failure in turn.failures),
        names.OUTPUT_LINES: turn.output_lines,
        names.FILES_CHANGED: turn.progress.files_changed,
        names.CONFIDENCE: turn.confidence,
        names.REWARD: turn.reward,
    }


def of_rejected(rejected: Rejected, decision: Decision) -> dict[str, Raw]:
    """A turn that was not counted; it carries nothing that could be believed."""
    return {
        **_of_decision(decision),
        names.ERROR_TYPE: rejected.rejection.reason,
        names.REJECTED_FIELD: rejected.rejection.field or None,
    }


def of_command(command: Command, decision: Decision) -> dict[str, Raw]:
    """Something that was done to a run from outside."""
    return {**_of_decision(decision), names.COMMAND: command_name(command)}


def of_session(closing: Closing, turns: int, strongest: Strength) -> dict[str, Raw]:
    """A run that is over."""
    return {
        names.TURNS: turns,
        names.OUTCOME: closing.outcome.value,
        names.FINAL_ANSWER: closing.has_final_answer,
        names.DIRECTIVE: STRENGTH_NAMES[strongest],
    }


def of_model_call(call: ModelCall) -> dict[str, Raw]:
    """A model that was asked."""
    spent, server = call.spent, call.server
    replied = spent is not None
    # Nothing is sent in no tokens: the API did not count them.
    counted = spent if spent is not None and spent.input_tokens else None
    return {
        names.OPERATION_NAME: names.CHAT,
        names.PROVIDER_NAME: PROVIDER,
        names.SERVER_ADDRESS: server.host if server else None,
        names.SERVER_PORT: server.port if server else None,
        names.REQUEST_MODEL: call.model,
        names.REQUEST_MAX_TOKENS: call.output_tokens_max,
        names.PURPOSE: call.purpose.value,
        names.RESPONSE_MODEL: call.reply_model or None,
        names.RESPONSE_ID: call.reply_id or None,
        names.FINISH_REASONS: (call.stop_reason,) if call.stop_reason else None,
        names.ERROR_TYPE: None if replied else call.outcome,
        names.INPUT_TOKENS: counted.input_tokens if counted else None,
        names.OUTPUT_TOKENS: counted.output_tokens if counted else None,
        names.CACHE_READ_TOKENS: counted.cache_read_tokens if counted else None,
        names.CACHE_WRITE_TOKENS: counted.cache_write_tokens if counted else None,
        names.COST: spent.cost_usd if spent else None,
    }


def _of_decision(decision: Decision) -> dict[str, Raw]:
    return {
        names.SEQUENCE: decision.sequence,
        names.DECISION_ID: decision.decision_id,
        names.CAUSE: decision.cause.value,
        names.STATE: decision.state.value,
        names.STATE_BEFORE: decision.state_before.value,
        names.DIRECTIVE: directive_name(decision.directive),
        names.SIGNAL: decision.signal or None,
        names.SIGNALS: tuple(reading.signal for reading in decision.readings) or None,
        names.OVERRIDDEN: decision.overridden or None,
        names.POLICY_REVISION: decision.policy_revision or None,
    }


def _once(named: Iterable[str]) -> tuple[str, ...] | None:
    """Each name once, in the order of their first turns; None for none."""
    return tuple(dict.fromkeys(name for name in named if name)) or None
