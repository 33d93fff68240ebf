"""Names of spans, span attributes, events and links.

OpenTelemetry moved its GenAI conventions out of the package `opentelemetry-semantic-conventions`,
where every `gen_ai.*` constant is now marked as deprecated, and publishes no package for their new
place; so the names stand here. They follow github.com/open-telemetry/semantic-conventions-genai as
of November 2026 (status: development). What those conventions do not name is ours: `sidecar.*`.

docs/spans.md is written from this file.
"""

from dataclasses import dataclass
from typing import Final

# Spans. No convention names a turn, so these are ours, and constant: a name groups spans.
TURN_SPAN: Final = "sidecar.turn"
COMMAND_SPAN: Final = "sidecar.command"
SESSION_SPAN: Final = "sidecar.session"

# A call of a model is named by the conventions, with the model behind it: `chat claude-haiku-4-5`.
CHAT: Final = "chat"

# Of the reference agent, with the name of the agent, tool or workflow behind it.
AGENT_SPAN: Final = "invoke_agent"
TOOL_SPAN: Final = "execute_tool"
WORKFLOW_SPAN: Final = "invoke_workflow"

AGENT_SPANS: Final = (AGENT_SPAN, TOOL_SPAN, WORKFLOW_SPAN)
"""Those that the sidecar itself never sends."""

# Events
EVALUATION_EVENT: Final = "gen_ai.evaluation.result"
DIRECTIVE_EVENT: Final = "sidecar.directive"

# What a link leads to.
LINK: Final = "sidecar.link"

# Attributes
CONVERSATION_ID: Final = "gen_ai.conversation.id"
SESSION_ID: Final = "session.id"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_VERSION: Final = "gen_ai.agent.version"
REQUEST_MODEL: Final = "gen_ai.request.model"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
OPERATION_NAME: Final = "gen_ai.operation.name"
PROVIDER_NAME: Final = "gen_ai.provider.name"
SERVER_ADDRESS: Final = "server.address"
SERVER_PORT: Final = "server.port"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
RESPONSE_MODEL: Final = "gen_ai.response.model"
RESPONSE_ID: Final = "gen_ai.response.id"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
EVALUATION_NAME: Final = "gen_ai.evaluation.name"
EVALUATION_SCORE: Final = "gen_ai.evaluation.score.value"
EVALUATION_LABEL: Final = "gen_ai.evaluation.score.label"
EVALUATION_EXPLANATION: Final = "gen_ai.evaluation.explanation"
ERROR_TYPE: Final = "error.type"
EVALUATION_THRESHOLD: Final = "sidecar.evaluation.threshold"
DECISION_ID: Final = "sidecar.decision.id"
SEQUENCE: Final = "sidecar.sequence"
CAUSE: Final = "sidecar.cause"
STATE: Final = "sidecar.state"
STATE_BEFORE: Final = "sidecar.state.before"
DIRECTIVE: Final = "sidecar.directive"
SIGNAL: Final = "sidecar.signal"
SIGNALS: Final = "sidecar.signals"
OVERRIDDEN: Final = "sidecar.overridden"
REJECTED_FIELD: Final = "sidecar.rejection.field"
POLICY: Final = "sidecar.policy"
POLICY_REVISION: Final = "sidecar.policy.revision"
MODE: Final = "sidecar.mode"
LABEL_PREFIX: Final = "sidecar.label."
TURN_ID: Final = "sidecar.turn.id"
ACTOR: Final = "sidecar.actor"
APPROACH: Final = "sidecar.approach"
USER_INPUT: Final = "sidecar.user_input"
FINAL_ANSWER: Final = "sidecar.final_answer"
TOOL_CALLS: Final = "sidecar.tool_calls"
TOOLS: Final = "sidecar.tools"
FAILURES: Final = "sidecar.failures"
FAILURE_KINDS: Final = "sidecar.failure.kinds"
OUTPUT_LINES: Final = "sidecar.output_lines"
FILES_CHANGED: Final = "sidecar.files_changed"
CONFIDENCE: Final = "sidecar.confidence"
REWARD: Final = "sidecar.reward"
COST: Final = "sidecar.usage.cost_usd"
CONTEXT_TOKENS: Final = "sidecar.usage.context_tokens"
CONTEXT_WINDOW: Final = "sidecar.usage.context_window"
COMMAND: Final = "sidecar.command"
TURNS: Final = "sidecar.turns"
OUTCOME: Final = "sidecar.outcome"
PURPOSE: Final = "sidecar.model.purpose"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
WORKFLOW_NAME: Final = "gen_ai.workflow.name"
USAGE_TYPE: Final = "gen_ai.token.type"
STOP_REASON: Final = "sidecar.agent.stop_reason"
ANSWER_SOURCE: Final = "sidecar.answer.source"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """One attribute and where it stands."""

    name: str
    type: str
    """string, int, double, boolean or string[]."""
    on: tuple[str, ...]
    """Spans, events and links that may carry it."""
    help: str


def _attribute(name: str, kind: str, on: tuple[str, ...], text: str) -> Attribute:
    return Attribute(name=name, type=kind, on=on, help=text)


_SIDECAR = (TURN_SPAN, COMMAND_SPAN, SESSION_SPAN, CHAT)
_AGENT = (AGENT_SPAN,)
_TOOL = (TOOL_SPAN,)
_ALL = (*_SIDECAR, *_AGENT, *_TOOL)
_DECIDED = (TURN_SPAN, COMMAND_SPAN)
_TURN = (TURN_SPAN,)
_MODEL = (CHAT,)
_CACHING = (TURN_SPAN, CHAT)
_SPENDING = (*_CACHING, *_AGENT)
_EVALUATION = (EVALUATION_EVENT,)

ATTRIBUTES: Final = (
    _attribute(CONVERSATION_ID, "string", _ALL, "The session's id."),
    _attribute(
        SESSION_ID, "string", _ALL, "The session's id again, for backends that group by it."
    ),
    _attribute(AGENT_NAME, "string", (*_SIDECAR, *_AGENT), "Name of the agent."),
    _attribute(AGENT_VERSION, "string", _SIDECAR, "Version of the agent."),
    _attribute(
        REQUEST_MODEL,
        "string",
        (*_SIDECAR, *_AGENT),
        "Model that the agent asks; on a model's call, that one.",
    ),
    _attribute(POLICY, "string", _SIDECAR, "Name of the policy in force."),
    _attribute(POLICY_REVISION, "string", _SIDECAR, "Revision of the policy in force."),
    _attribute(MODE, "string", _SIDECAR, "enforce or observe."),
    _attribute(f"{LABEL_PREFIX}<key>", "string", _SIDECAR, "A label of `open`."),
    _attribute(
        SEQUENCE, "int", _DECIDED, "Number of the turn, or of the last turn before a command."
    ),
    _attribute(
        DECISION_ID, "string", (*_DECIDED, DIRECTIVE_EVENT), "As in the reply and the journal."
    ),
    _attribute(CAUSE, "string", _DECIDED, "turn, operator, idle or judge."),
    _attribute(STATE, "string", _DECIDED, "The breaker after it."),
    _attribute(STATE_BEFORE, "string", _DECIDED, "The breaker before it."),
    _attribute(
        DIRECTIVE,
        "string",
        (*_DECIDED, SESSION_SPAN, DIRECTIVE_EVENT, AGENT_SPAN),
        "proceed, rotate, commit or halt; on a session or an agent, the strongest that was sent.",
    ),
    _attribute(SIGNAL, "string", (*_DECIDED, DIRECTIVE_EVENT), "Signal that the directive names."),
    _attribute(SIGNALS, "string[]", _DECIDED, "Signals above none: those of the events."),
    _attribute(OVERRIDDEN, "boolean", _DECIDED, "The policy withheld a directive; only when true."),
    _attribute(
        ERROR_TYPE,
        "string",
        (*_SPENDING, *_TOOL),
        "Why a turn was not counted, a model gave no reply, a tool nothing; with status ERROR.",
    ),
    _attribute(REJECTED_FIELD, "string", _TURN, "The field at fault."),
    _attribute(INPUT_TOKENS, "int", _SPENDING, "Tokens sent to the model, cached ones included."),
    _attribute(OUTPUT_TOKENS, "int", _SPENDING, "Tokens that the model produced."),
    _attribute(CACHE_READ_TOKENS, "int", _CACHING, "Of the input tokens, those read from a cache."),
    _attribute(
        CACHE_WRITE_TOKENS, "int", _CACHING, "Of the input tokens, those written to a cache."
    ),
    _attribute(
        COST, "double", _SPENDING, "Cost in US dollars; absent where the price is not known."
    ),
    _attribute(CONTEXT_TOKENS, "int", _TURN, "Tokens in the model's context after the turn."),
    _attribute(CONTEXT_WINDOW, "int", _TURN, "Size of the model's context window in tokens."),
    _attribute(TURN_ID, "string", _TURN, "The turn's own id."),
    _attribute(ACTOR, "string", _TURN, "Subagent that took the turn."),
    _attribute(APPROACH, "string", _TURN, "What is being tried."),
    _attribute(USER_INPUT, "boolean", _TURN, "A person has spoken before it; only when true."),
    _attribute(TOOL_CALLS, "int", _TURN, "Tool calls made."),
    _attribute(TOOLS, "string[]", _TURN, "Names of the tools in the first 16 calls, each once."),
    _attribute(FAILURES, "int", _TURN, "Errors."),
    _attribute(FAILURE_KINDS, "string[]", _TURN, "Types of the first 16 errors, each once."),
    _attribute(OUTPUT_LINES, "int", _TURN, "Lines that the assistant produced."),
    _attribute(FILES_CHANGED, "int", _TURN, "Files written, created or deleted."),
    _attribute(CONFIDENCE, "double", _TURN, "The agent's confidence."),
    _attribute(REWARD, "double", _TURN, "Reward of the turn."),
    _attribute(
        FINAL_ANSWER,
        "boolean",
        (TURN_SPAN, SESSION_SPAN, AGENT_SPAN),
        "The turn, or the run, had a final answer; on a turn only when true.",
    ),
    _attribute(COMMAND, "string", (COMMAND_SPAN,), "continue, reset, idle or verdict."),
    _attribute(
        OPERATION_NAME,
        "string",
        (*_MODEL, *_AGENT, *_TOOL, WORKFLOW_SPAN),
        "chat, invoke_agent, execute_tool or invoke_workflow.",
    ),
    _attribute(TOOL_NAME, "string", _TOOL, "Name of the tool; `_OTHER`: there is none such."),
    _attribute(TOOL_TYPE, "string", _TOOL, "function."),
    _attribute(WORKFLOW_NAME, "string", (WORKFLOW_SPAN,), "Name of the workflow."),
    _attribute(STOP_REASON, "string", _AGENT, "Why the run stopped."),
    _attribute(ANSWER_SOURCE, "string", _AGENT, "text, model, history or none."),
    _attribute(PROVIDER_NAME, "string", _MODEL, "anthropic."),
    _attribute(
        SERVER_ADDRESS,
        "string",
        _MODEL,
        "Host that the model is asked at; absent where a profile of the SDK names it, and on spans "
        "of the reference agent.",
    ),
    _attribute(SERVER_PORT, "int", _MODEL, "Port of that host."),
    _attribute(
        PURPOSE, "string", _MODEL, "commit, review, agent, grounded, image, search or judge."
    ),
    _attribute(REQUEST_MAX_TOKENS, "int", _MODEL, "Tokens that the model may produce."),
    _attribute(RESPONSE_MODEL, "string", _MODEL, "Model that replied."),
    _attribute(RESPONSE_ID, "string", _MODEL, "The API's id of the reply."),
    _attribute(FINISH_REASONS, "string[]", _MODEL, "Why the model stopped, in the API's own word."),
    _attribute(TURNS, "int", (SESSION_SPAN, AGENT_SPAN), "Turns counted."),
    _attribute(OUTCOME, "string", (SESSION_SPAN,), "How the run ended, as its agent sees it."),
    _attribute(EVALUATION_NAME, "string", _EVALUATION, "The signal."),
    _attribute(EVALUATION_SCORE, "double", _EVALUATION, "What was measured, in the signal's unit."),
    _attribute(EVALUATION_THRESHOLD, "double", _EVALUATION, "What it was held against."),
    _attribute(EVALUATION_LABEL, "string", _EVALUATION, "notice, warning or break."),
    _attribute(EVALUATION_EXPLANATION, "string", _EVALUATION, "The evidence in one sentence."),
    _attribute(
        LINK,
        "string",
        ("link",),
        "first_turn, last_turn, or previous_session: the last turn of the session gone on from.",
    ),
)
