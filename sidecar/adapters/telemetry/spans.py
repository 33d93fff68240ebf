"""Spans of turns, commands and runs.

One short span per turn, ended when its decision is made, under the agent's own span where the turn
names one: a span is exported when it ends, so one that lasted as long as the session would be seen
only after it, and lost in a crash. What belongs together is found by `gen_ai.conversation.id`, and
by links. The spans have no `gen_ai.operation.name`: they stand beside the agent's own `chat` and
`execute_tool` spans, and a backend must not take them for more model calls.

The SDK takes 18 us to start and end a span. Here the event loop makes ids, asks the sampler and
queues a record; the exporter's thread makes the span of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Final

from opentelemetry.context import Context
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import DEFAULT_ON, Sampler
from opentelemetry.sdk.trace.sampling import Decision as Sampling
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    TraceFlags,
    set_span_in_context,
)

from sidecar.adapters.semconv import attributes as names
from sidecar.adapters.telemetry.describing import (
    NAMES_MAX,
    of_command,
    of_model_call,
    of_rejected,
    of_session,
    of_turn,
)
from sidecar.adapters.telemetry.exporting import SpanQueue
from sidecar.adapters.telemetry.record import Raw, SpanRecord
from sidecar.adapters.telemetry.text import cut
from sidecar.adapters.telemetry.trace_context import parse_traceparent
from sidecar.adapters.telemetry.trails import Trail
from sidecar.core.directive import Decision, Strength
from sidecar.core.opening import Closing, Command
from sidecar.core.turn import Turn
from sidecar.ports import ModelCall, Rejected

PAST_MAX_S: Final = 86_400.0
"""An agent sends turns again after an outage, but keeps only the last 256: those are of today."""

FUTURE_MAX_S: Final = 60.0
"""An agent's clock may be ahead by as much; beyond that it is wrong."""

FIRST_TURN: Final = "first_turn"
LAST_TURN: Final = "last_turn"
PREVIOUS_SESSION: Final = "previous_session"

_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)


class Spans:
    """Makes spans and queues them. No method blocks."""

    def __init__(self, *, sampler: Sampler, queue: SpanQueue) -> None:
        """Sample by `sampler`, export by `queue`."""
        self._sampler = sampler
        self._queue = queue
        self._ids = RandomIdGenerator()

    def turn(
        self, trail: Trail, turn: Turn, decision: Decision, *, received_s: float
    ) -> SpanContext | None:
        """A turn that was decided on; None where it has no span."""
        parent = parse_traceparent(turn.traceparent) if turn.traceparent else None
        context = self._sample(names.TURN_SPAN, trail.attributes, parent)
        if context is None:
            return None
        start_s, end_s = times(turn, received_s=received_s)
        calls, failures = len(turn.tool_calls), len(turn.failures)
        self._queue.offer(
            SpanRecord(
                name=names.TURN_SPAN,
                context=context,
                parent=parent,
                links=_links(trail),
                start_s=start_s,
                end_s=end_s,
                session=trail.attributes,
                describe=partial(of_turn, _slim(turn), decision, calls, failures),
                decision=decision,
            )
        )
        if trail.first is None:
            trail.first = context
        trail.last = context
        return context

    def rejected(
        self, trail: Trail, rejected: Rejected, decision: Decision, *, now_s: float
    ) -> None:
        """A turn that was not counted; of its own times and parent nothing is known."""
        describe = partial(of_rejected, rejected, decision)
        self._decided(names.TURN_SPAN, trail, decision, describe, now_s=now_s)

    def command(self, trail: Trail, command: Command, decision: Decision, *, now_s: float) -> None:
        """Something that was done to the run from outside."""
        describe = partial(of_command, command, decision)
        self._decided(names.COMMAND_SPAN, trail, decision, describe, now_s=now_s)

    def session(
        self,
        trail: Trail,
        closing: Closing,
        strongest: Strength,
        *,
        turns: int,
        opened_s: float,
        now_s: float,
    ) -> None:
        """The whole run, written when it is closed; its strongest directive was that one."""
        context = self._sample(names.SESSION_SPAN, trail.attributes, None)
        if context is None:
            return
        links = ((trail.first, FIRST_TURN), (trail.last, LAST_TURN))
        self._queue.offer(
            SpanRecord(
                name=names.SESSION_SPAN,
                context=context,
                parent=None,
                links=tuple((turn, what) for turn, what in links if turn is not None),
                start_s=min(opened_s, now_s),
                end_s=now_s,
                session=trail.attributes,
                describe=partial(of_session, closing, turns, strongest),
            )
        )

    def model_call(self, call: ModelCall, trail: Trail | None) -> None:
        """A call that the sidecar made of a model, under the last turn of its session."""
        parent = None if trail is None else trail.last
        session = {names.CONVERSATION_ID: cut(call.session_id)} if call.session_id else {}
        attributes = session if trail is None else trail.attributes
        context = self._sample(names.CHAT, attributes, parent)
        if context is None:
            return
        self._queue.offer(
            SpanRecord(
                name=cut(f"{names.CHAT} {call.model}"),
                context=context,
                parent=parent,
                start_s=call.began_s,
                end_s=call.ended_s,
                session=attributes,
                describe=partial(of_model_call, call),
                kind=SpanKind.CLIENT,
            )
        )

    def _decided(
        self,
        name: str,
        trail: Trail,
        decision: Decision,
        describe: Callable[[], Mapping[str, Raw]],
        *,
        now_s: float,
    ) -> None:
        """A span without a length, for a decision that no measured turn led to."""
        context = self._sample(name, trail.attributes, None)
        if context is None:
            return
        self._queue.offer(
            SpanRecord(
                name=name,
                context=context,
                parent=None,
                links=_links(trail),
                start_s=now_s,
                end_s=now_s,
                session=trail.attributes,
                describe=describe,
                decision=decision,
            )
        )

    def _sample(
        self, name: str, attributes: Mapping[str, str], parent: SpanContext | None
    ) -> SpanContext | None:
        """A new span's context; None where the sampler does not want the span, or the queue does
        not admit it."""
        trace_id = self._ids.generate_trace_id() if parent is None else parent.trace_id
        state = None
        if self._sampler is DEFAULT_ON:  # nearly everybody's, and not worth 2 us to be asked
            if parent is not None and not parent.trace_flags.sampled:
                return None
        else:
            result = self._sampler.should_sample(
                _under(parent), trace_id, name, SpanKind.INTERNAL, attributes
            )
            if result.decision is not Sampling.RECORD_AND_SAMPLE:
                return None
            state = result.trace_state
        if not self._queue.admit():
            return None
        return SpanContext(
            trace_id=trace_id,
            span_id=self._ids.generate_span_id(),
            is_remote=False,
            trace_flags=_SAMPLED,
            trace_state=state,
        )


def _under(parent: SpanContext | None) -> Context:
    if parent is None:
        return Context()
    return set_span_in_context(NonRecordingSpan(parent), Context())


def times(turn: Turn, *, received_s: float) -> tuple[float, float]:
    """When the turn began and ended: by its own times where they can be true, else when received.

    All are seconds since the epoch.
    """
    end_s = received_s if turn.end_s is None else turn.end_s
    start_s = end_s if turn.start_s is None else turn.start_s
    sane = isfinite(start_s) and isfinite(end_s) and start_s <= end_s
    if sane and start_s >= received_s - PAST_MAX_S and end_s <= received_s + FUTURE_MAX_S:
        return start_s, end_s
    return received_s, received_s


def _links(trail: Trail) -> tuple[tuple[SpanContext, str], ...]:
    if trail.first is not None:
        return ((trail.first, FIRST_TURN),)
    if trail.previous is not None:
        return ((trail.previous, PREVIOUS_SESSION),)
    return ()


def _slim(turn: Turn) -> Turn:
    """The turn with no more calls and failures than a span names.

    2,048 turns of 256 calls each would hold 170 MiB while they wait for a collector.
    """
    if len(turn.tool_calls) <= NAMES_MAX and len(turn.failures) <= NAMES_MAX:
        return turn
    calls, failures = turn.tool_calls[:NAMES_MAX], turn.failures[:NAMES_MAX]
    return replace(turn, tool_calls=calls, failures=failures, repeated=())
