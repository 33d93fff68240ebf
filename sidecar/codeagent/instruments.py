"""What an agent shows of its work: spans and metrics of OpenTelemetry, by its GenAI conventions.

    invoke_workflow answer_with_review
      invoke_agent codeagent
        chat <model>
        execute_tool python
          execute_tool web_search
        sidecar.turn                   by the sidecar, which is told of the span above

Only OpenTelemetry's API is used: where no SDK is set up, all of this is nothing. Names, counts,
times and reasons are shown, and never content: no question, code, argument, result or answer.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, TypeAlias

from opentelemetry import metrics, trace
from opentelemetry.metrics import Histogram, Meter
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

from sidecar.adapters.semconv import attributes as names
from sidecar.codeagent.result import Outcome, StopReason
from sidecar.commit import Committed
from sidecar.ports import ModelReply, ModelRequest, Spent
from sidecar.review import Review
from sidecar.version import VERSION

SCOPE: Final = "sidecar.codeagent"
PROVIDER: Final = "anthropic"
FUNCTION: Final = "function"
"""The type of a tool that runs on the agent's side."""
REVIEW: Final = "review"
"""Name of an evaluation: what a second model makes of an answer."""
REVIEWED: Final = "answer_with_review"
"""Name of a workflow: an agent, a second opinion, and the agent once more where it is needed."""
NO_SIGNAL: Final = "none"

TOKEN_BUCKETS: Final = tuple(4.0**power for power in range(14))
"""1 to 67,108,864, as the conventions have it."""
DURATION_BUCKETS: Final = tuple(0.01 * 2**power for power in range(14))
"""0.01 s to 81.92 s, likewise."""
AGENT_BUCKETS: Final = tuple(0.1 * 2**power for power in range(13))
"""0.1 s to 409.6 s, likewise."""
CALL_BUCKETS: Final = tuple(2.0**power for power in range(8))
"""1 to 128, likewise."""

Fact: TypeAlias = str | int | float | bool | tuple[str, ...] | None
"""Of an attribute; None: absent."""


@dataclass(slots=True, kw_only=True)
class Operation:
    """One that is under way."""

    span: Span
    error: str = ""
    """Why it came to nothing, as a word; empty: it did not."""
    measured: dict[str, str] = field(default_factory=dict)
    """Attributes of its measurements."""

    def say(self, facts: Mapping[str, Fact]) -> None:
        """What came of it, for the span."""
        for name, fact in facts.items():
            if fact is not None:
                self.span.set_attribute(name, fact)


@dataclass(slots=True, kw_only=True)
class Invocation:
    """A run of the agent that is under way."""

    operation: Operation
    session_id: str
    model_calls: int = 0
    tool_calls: int = 0

    @property
    def traceparent(self) -> str:
        """For those who are told of the run (W3C Trace Context); empty: there is no span."""
        context = self.operation.span.get_span_context()
        if not context.is_valid:
            return ""
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


class Instruments:
    """Begins and ends spans, and measures. For any number of runs at a time."""

    def __init__(self, tracer: Tracer | None = None, meter: Meter | None = None) -> None:
        """Without a tracer or a meter those of the application's own SDK, if it has one."""
        self._tracer = tracer or trace.get_tracer(SCOPE, VERSION)
        meter = meter or metrics.get_meter(SCOPE, VERSION)
        self._tokens = _histogram(meter, "gen_ai.client.token.usage", "{token}", TOKEN_BUCKETS)
        self._chat_s = _histogram(meter, "gen_ai.client.operation.duration", "s", DURATION_BUCKETS)
        self._tool_s = _histogram(meter, "gen_ai.execute_tool.duration", "s", DURATION_BUCKETS)
        self._agent_s = _histogram(meter, "gen_ai.invoke_agent.duration", "s", AGENT_BUCKETS)
        self._model_calls = _histogram(
            meter, "gen_ai.invoke_agent.inference_calls", "{inference_call}", CALL_BUCKETS
        )
        self._tool_calls = _histogram(
            meter, "gen_ai.invoke_agent.tool_calls", "{tool_call}", CALL_BUCKETS
        )
        self._cost = meter.create_counter("sidecar.agent.cost", "USD", "Of model calls.")
        self._runs = meter.create_counter("sidecar.agent.runs", "{run}", "By their stop reason.")
        self._commits = meter.create_counter(
            "sidecar.agent.forced_commits", "{commit}", "By signal and source of the answer."
        )
        self._reviews = meter.create_counter("sidecar.agent.reviews", "{review}", "By verdict.")

    @contextmanager
    def workflow(self, name: str) -> Iterator[Operation]:
        """Several runs that belong together."""
        facts = {names.OPERATION_NAME: names.WORKFLOW_SPAN, names.WORKFLOW_NAME: name}
        with self._span(f"{names.WORKFLOW_SPAN} {name}", facts, SpanKind.INTERNAL) as span:
            yield Operation(span=span)

    @contextmanager
    def invocation(self, agent: str, *, session_id: str, model: str) -> Iterator[Invocation]:
        """A run of an agent."""
        facts = {
            names.OPERATION_NAME: names.AGENT_SPAN,
            names.AGENT_NAME: agent,
            names.REQUEST_MODEL: model,
            **_session(session_id),
        }
        with self._span(f"{names.AGENT_SPAN} {agent}", facts, SpanKind.INTERNAL) as span:
            named = {names.AGENT_NAME: agent}
            operation = Operation(span=span, measured=named)
            run = Invocation(operation=operation, session_id=session_id)
            with _Timed(operation, self._agent_s):
                yield run
            self._model_calls.record(run.model_calls, {names.AGENT_NAME: agent})
            self._tool_calls.record(run.tool_calls, {names.AGENT_NAME: agent})

    @contextmanager
    def chat(
        self, request: ModelRequest, model: str, run: Invocation | None
    ) -> Iterator[Operation]:
        """A call of a model, in a run or beside all runs."""
        if run is not None:
            run.model_calls += 1
        asked = {
            names.OPERATION_NAME: names.CHAT,
            names.PROVIDER_NAME: PROVIDER,
            names.REQUEST_MODEL: model,
        }
        facts = {
            **asked,
            names.REQUEST_MAX_TOKENS: request.output_tokens_max,
            names.PURPOSE: request.purpose.value,
            **_session(request.session_id),
        }
        with self._span(f"{names.CHAT} {model}", facts, SpanKind.CLIENT) as span:
            chat = Operation(span=span, measured=asked)
            with _Timed(chat, self._chat_s):
                yield chat

    @contextmanager
    def tool(self, name: str, run: Invocation) -> Iterator[Operation]:
        """A call of a tool."""
        run.tool_calls += 1
        facts = {
            names.OPERATION_NAME: names.TOOL_SPAN,
            names.TOOL_NAME: name,
            names.TOOL_TYPE: FUNCTION,
            **_session(run.session_id),
        }
        with self._span(f"{names.TOOL_SPAN} {name}", facts, SpanKind.INTERNAL) as span:
            tool = Operation(span=span, measured={names.TOOL_NAME: name})
            with _Timed(tool, self._tool_s):
                yield tool

    def replied(self, chat: Operation, reply: ModelReply) -> None:
        """A model did."""
        spent = reply.spent
        chat.say(
            {
                names.RESPONSE_MODEL: reply.model or None,
                names.RESPONSE_ID: reply.id or None,
                names.FINISH_REASONS: (reply.stop_reason,) if reply.stop_reason else None,
                **_usage(spent),
                names.CACHE_READ_TOKENS: spent.cache_read_tokens,
                names.CACHE_WRITE_TOKENS: spent.cache_write_tokens,
            }
        )
        for kind, tokens in (("input", spent.input_tokens), ("output", spent.output_tokens)):
            self._tokens.record(tokens, {**chat.measured, names.USAGE_TYPE: kind})
        if spent.cost_usd:
            self._cost.add(spent.cost_usd, chat.measured)

    def committed(self, committed: Committed) -> None:
        """An answer was forced, or there was none."""
        source = committed.source.value.lower()
        signal = committed.signal or NO_SIGNAL
        self._commits.add(1, {names.ANSWER_SOURCE: source, names.SIGNAL: signal})

    def reviewed(self, workflow: Operation, review: Review) -> None:
        """A second model has judged an answer."""
        verdict = "error" if review.error else review.verdict.value.lower()
        facts = {names.EVALUATION_NAME: REVIEW, names.EVALUATION_LABEL: verdict}
        workflow.span.add_event(names.EVALUATION_EVENT, facts)
        self._reviews.add(1, {names.EVALUATION_LABEL: verdict})

    def finished(self, run: Invocation, outcome: Outcome) -> None:
        """A run is over."""
        failed = outcome.stop_reason in (StopReason.ERROR, StopReason.TIMED_OUT)
        run.operation.error = outcome.stop_reason.value if failed else ""
        told = [told.directive.kind for told in outcome.told]
        strongest = max(told, key=lambda kind: kind.strength, default=None)
        run.operation.say(
            {
                names.STOP_REASON: outcome.stop_reason.value,
                names.ANSWER_SOURCE: outcome.source.value.lower(),
                names.FINAL_ANSWER: outcome.answer is not None,
                names.TURNS: outcome.turns,
                names.DIRECTIVE: "proceed" if strongest is None else strongest.value,
                names.INPUT_TOKENS: outcome.input_tokens,
                names.OUTPUT_TOKENS: outcome.output_tokens,
                names.COST: outcome.cost_usd,
            }
        )
        self._runs.add(1, {names.STOP_REASON: outcome.stop_reason.value})

    @contextmanager
    def _span(self, name: str, facts: Mapping[str, str | int], kind: SpanKind) -> Iterator[Span]:
        # An exception's text and traceback could quote what a run is about, so none is recorded.
        with self._tracer.start_as_current_span(
            name,
            kind=kind,
            attributes=facts,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield span


class _Timed:
    """Measures an operation, and marks it where it came to nothing. A context manager."""

    def __init__(self, operation: Operation, histogram: Histogram) -> None:
        self._operation = operation
        self._histogram = histogram
        self._began_s = time.monotonic()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        operation = self._operation
        if kind is not None and not operation.error:
            operation.error = kind.__name__
        if operation.error:
            operation.measured[names.ERROR_TYPE] = operation.error
            operation.span.set_attribute(names.ERROR_TYPE, operation.error)
            operation.span.set_status(StatusCode.ERROR)
        self._histogram.record(time.monotonic() - self._began_s, operation.measured)


def _histogram(meter: Meter, name: str, unit: str, buckets: tuple[float, ...]) -> Histogram:
    return meter.create_histogram(name, unit, explicit_bucket_boundaries_advisory=buckets)


def _session(session_id: str) -> dict[str, str]:
    return (
        dict.fromkeys((names.CONVERSATION_ID, names.SESSION_ID), session_id) if session_id else {}
    )


def _usage(spent: Spent) -> dict[str, Fact]:
    return {
        names.INPUT_TOKENS: spent.input_tokens,
        names.OUTPUT_TOKENS: spent.output_tokens,
        names.COST: spent.cost_usd,
    }
