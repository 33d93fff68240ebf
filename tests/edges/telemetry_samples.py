"""Sessions, turns and decisions to record, and telemetry to record them with."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from sidecar.adapters.semconv.attributes import LINK
from sidecar.adapters.telemetry import TelemetrySettings, build
from sidecar.adapters.telemetry.exporting import Loss, SpanQueue
from sidecar.adapters.telemetry.recorder import Soon, at_once
from sidecar.adapters.telemetry.rendering import Renderer
from sidecar.core.breaker import State
from sidecar.core.directive import Cause, Decision, Rejection, Rotate, Strength
from sidecar.core.opening import Closing, Continue, Mode, Opening
from sidecar.core.policy import Policy
from sidecar.core.reading import Reading, Severity
from sidecar.core.turn import Progress, ToolCall, Turn, Usage
from sidecar.health import Component, Health
from sidecar.ports import ModelCall, Purpose, Recorder, Rejected, Server, SessionFacts, Spent
from sidecar.testing import FakeClock

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNSAMPLED = TRACEPARENT[:-2] + "00"
TRACE_ID = int(TRACEPARENT[3:35], 16)
PARENT_ID = int(TRACEPARENT[36:52], 16)

WAIT_S = CLOSE_S = 20.0
"""More than any export takes; a test that waits so long has failed."""

POLICY = Policy(name="default", watches=(), revision="0123456789ab")


def facts(session_id: str = "run-1", **opening: Any) -> SessionFacts:
    """A session; `opening` are fields of Opening."""
    named = {"agent_name": "coder", "agent_version": "1.0", "model": "opus"}
    return SessionFacts(
        opening=Opening(session_id=session_id, **{**named, **opening}), policy=POLICY
    )


def observed(session: SessionFacts) -> SessionFacts:
    """The same session, in MODE_OBSERVE."""
    return replace(session, opening=replace(session.opening, mode=Mode.OBSERVE))


def turn(sequence: int = 1, **measured: Any) -> Turn:
    """A turn with everything measured; `measured` are fields of Turn."""
    full = Turn(
        sequence=sequence,
        id=f"turn-{sequence}",
        traceparent=TRACEPARENT,
        actor="scout",
        approach="bisect",
        user_input=True,
        has_final_answer=True,
        usage=Usage(
            input_tokens=1_000,
            output_tokens=50,
            cache_read_input_tokens=800,
            cache_write_input_tokens=100,
            context_tokens=4_000,
            context_window=8_000,
            cost_usd=0.25,
        ),
        tool_calls=(ToolCall(name="Grep", call=b"1"), ToolCall(name="Edit", call=b"2")),
        output_lines=12,
        progress=Progress(files_changed=2),
        confidence=0.5,
        reward=1.5,
    )
    return replace(full, **measured)


def decision(sequence: int = 1, **decided: Any) -> Decision:
    """A plain proceed; `decided` are fields of Decision."""
    plain = Decision(
        decision_id=f"{sequence:016x}",
        sequence=sequence,
        cause=Cause.TURN,
        state=State.HEALTHY,
        state_before=State.HEALTHY,
        policy_revision=POLICY.revision,
    )
    return replace(plain, **decided)


def rotate(sequence: int = 1, **decided: Any) -> Decision:
    """A rotate for the signal `loop`, with its reading."""
    reading = Reading(
        severity=Severity.WARNING,
        value=3,
        threshold=3,
        summary="Grep was called 3 times",
        signal="loop",
    )
    warned: dict[str, Any] = {
        "readings": (reading,),
        "directive": Rotate(instruction="Another way is needed."),
        "signal": "loop",
        "state": State.WARNING,
    }
    return decision(sequence, **{**warned, **decided})


def everything(recorder: Recorder, now_s: float) -> None:
    """One call of each kind, at a time in seconds since the epoch."""
    session = facts()
    recorder.opened(session, resumed=False)
    recorder.decided(session, turn(start_s=now_s - 2, end_s=now_s), rotate(), received_s=now_s)
    rejection = Rejection(reason="TOOL_CALLS_MAX", field="tool_calls")
    recorder.rejected(
        session, Rejected(sequence=2, rejection=rejection), decision(2, rejection=rejection)
    )
    recorder.commanded(session, Continue(reason="go on"), decision(2, cause=Cause.OPERATOR))
    recorder.closed(session, Closing(), turns=2, opened_s=now_s - 10, strongest=Strength.ROTATE)
    recorder.detached(session, reason="expired")
    recorder.sessions({"healthy": 3}, held=5, streams=2)
    recorder.refused("STREAMS_MAX")
    recorder.lost("journal", "queue_full", 4)
    recorder.lost("snapshot", "too_large")
    recorder.missing(7)
    recorder.gave_up(session, "timeout", 5)
    recorder.gave_up(session, "internal", 1)
    recorder.asked(model_call(now_s))
    recorder.committed("HISTORY", "loop")
    recorder.reviewed("FAIL")
    recorder.judged("circling")


def model_call(now_s: float, **facts: Any) -> ModelCall:
    """A call that took two seconds; `facts` are fields of ModelCall."""
    plain: dict[str, Any] = {
        "model": "claude-haiku-4-5",
        "purpose": Purpose.COMMIT,
        "session_id": "run-1",
        "output_tokens_max": 1_024,
        "began_s": now_s - 2,
        "ended_s": now_s,
        "outcome": "end",
        "stop_reason": "end_turn",
        "server": Server("api.example", 443),
        "spent": Spent(
            input_tokens=1_000,
            output_tokens=50,
            cache_read_tokens=800,
            cache_write_tokens=100,
            cost_usd=0.25,
            latency_s=2.0,
        ),
        "reply_model": "claude-haiku-4-5-20251001",
        "reply_id": "msg_1",
    }
    return ModelCall(**{**plain, **facts})


class World:
    """Telemetry with a registry, a clock and a health of its own."""

    def __init__(
        self,
        exporter: SpanExporter | None = None,
        *,
        soon: Soon = at_once,
        **settings: Any,
    ) -> None:
        self.clock = FakeClock()
        self.health = Health(self.clock)
        self.registry = CollectorRegistry()
        self.telemetry = build(
            TelemetrySettings(version="1.2.3", **settings),
            registry=self.registry,
            clock=self.clock,
            health=self.health,
            exporter=exporter,
            soon=soon,
        )

    def decide(
        self, made: Decision | None = None, session: SessionFacts | None = None, **turns: Any
    ) -> None:
        """A turn that came just now; `turns` are fields of Turn."""
        self.telemetry.decided(
            session or facts(),
            turn(**turns),
            made or decision(turns.get("sequence", 1)),
            received_s=self.clock.now_s(),
        )

    def close(
        self, session: SessionFacts | None = None, closing: Closing | None = None, **run: Any
    ) -> None:
        """The end of a run of one turn that was opened now and told nothing; `run` are keywords
        of `Recorder.closed`."""
        plain = {"turns": 1, "opened_s": self.clock.now_s(), "strongest": Strength.PROCEED}
        self.telemetry.closed(session or facts(), closing or Closing(), **{**plain, **run})

    def series(self, name: str) -> dict[tuple[str, ...], float]:
        """The values of a metric."""
        return series(self.registry, name)


class SpanWorld(World):
    """Telemetry that exports into memory."""

    def __init__(self, **settings: Any) -> None:
        self.exporter = InMemorySpanExporter()
        super().__init__(self.exporter, **settings)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Nothing is exported meanwhile."""
        gate, export = threading.Event(), self.exporter.export

        def wait_and_export(spans: Sequence[ReadableSpan]) -> SpanExportResult:
            gate.wait()
            return export(spans)

        self.exporter.export = wait_and_export  # type: ignore[method-assign]
        try:
            yield
        finally:
            gate.set()

    def spans(self) -> list[ReadableSpan]:
        """All spans so far; the last thing that can be asked."""
        assert self.telemetry.close(within_s=CLOSE_S) == 0
        return list(self.exporter.get_finished_spans())


def attributes_of(span: ReadableSpan) -> dict[str, Any]:
    """The span's attributes, without the SDK's None."""
    return dict(span.attributes or {})


def context_of(span: ReadableSpan) -> SpanContext:
    """The span's context, without the SDK's None."""
    context = span.get_span_context()
    assert context is not None
    return context


def links_of(span: ReadableSpan) -> list[tuple[int, Any]]:
    """Ids of the spans linked to, each with what it is."""
    return [(link.context.span_id, dict(link.attributes or {})[LINK]) for link in span.links]


class Tallied:
    """Counts spans for a queue that is tested without metrics."""

    def __init__(self) -> None:
        self.made_count = 0
        self.exported_count = 0
        self.losses: dict[Loss, int] = {}

    def made(self) -> None:
        self.made_count += 1

    def exported(self, count: int) -> None:
        self.exported_count += count

    def lost(self, loss: Loss, count: int) -> None:
        self.losses[loss] = self.losses.get(loss, 0) + count

    @property
    def settled(self) -> int:
        """Spans whose fate is known."""
        return self.exported_count + sum(self.losses.values())


def span_queue(exporter: SpanExporter, tally: Tallied, **options: Any) -> SpanQueue:
    """A queue that has started, with a component of its own unless one is given."""
    plain: dict[str, Any] = {
        "render": Renderer(Resource({"service.name": "test"}), version="0").render,
        "tally": tally,
        "component": Component("exporter", FakeClock()),
        "spans_max": 2048,
        "batch_max": 64,
        "delay_s": 0.01,
        "retry_s": 0.01,
    }
    queue = SpanQueue(exporter, **{**plain, **options})
    queue.start()
    return queue


def series(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    """The values of a metric by the values of its labels, in the order of their names."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for sample in samples(registry)
        if sample.name == name
    }


def samples(registry: CollectorRegistry) -> list[Sample]:
    """What a scraper reads that asks for OpenMetrics, parsed strictly."""
    text = generate_openmetrics(registry).decode()  # type: ignore[no-untyped-call]
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return [sample for family in families for sample in family.samples]


def series_count(registry: CollectorRegistry) -> int:
    """Lines that are samples."""
    lines = generate_latest(registry).decode().splitlines()
    return sum(1 for line in lines if not line.startswith("#"))


def wait_until(happened: Callable[[], bool]) -> None:
    """Poll; raises TimeoutError when it never happens."""
    turnstile = threading.Event()
    until_s = time.monotonic() + WAIT_S
    while not happened():
        if time.monotonic() > until_s:
            raise TimeoutError
        turnstile.wait(0.005)
