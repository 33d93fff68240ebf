"""Puts telemetry together from what is configured and from the OTEL_* variables."""

import sys
from dataclasses import dataclass
from typing import Final

from opentelemetry.sdk.trace.export import SpanExporter
from prometheus_client import CollectorRegistry, disable_created_metrics

from sidecar.adapters.semconv import attributes as names
from sidecar.adapters.telemetry.exporters import SPANS, Choice, Several, choose, choose_batching
from sidecar.adapters.telemetry.exporting import TRIES_MAX, SpanQueue
from sidecar.adapters.telemetry.families import Families
from sidecar.adapters.telemetry.label_values import LabelValues
from sidecar.adapters.telemetry.model_metrics import ModelMetrics
from sidecar.adapters.telemetry.process import resource, sampler
from sidecar.adapters.telemetry.process_metrics import ProcessMetrics, register_process
from sidecar.adapters.telemetry.recorder import Soon, Telemetry, at_once
from sidecar.adapters.telemetry.rendering import Renderer
from sidecar.adapters.telemetry.run_metrics import RunMetrics
from sidecar.adapters.telemetry.spans import Spans
from sidecar.adapters.telemetry.text import cut
from sidecar.adapters.telemetry.trails import Trail, Trails
from sidecar.health import Health
from sidecar.ports import Clock, SessionFacts

EXPORTER: Final = "exporter"
"""The component's name in Health; there is none where no spans are to be exported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySettings:
    """What an operator sets; the rest is in the OTEL_* variables."""

    version: str
    label_keys: tuple[str, ...] = ()
    """Labels of `open` that become labels of the metrics by agent."""
    label_values_max: int = 10
    counter_series_max: int = 180
    """Series of counters with labels."""
    sessions_max: int = 10_000
    """Sessions remembered for links and exemplars."""
    span_queue_max: int = 2048
    own_ports: frozenset[int] = frozenset()
    """Ports of our own listeners, to which no span is sent."""


def build(
    settings: TelemetrySettings,
    *,
    registry: CollectorRegistry,
    clock: Clock,
    health: Health,
    exporter: SpanExporter | None = None,
    soon: Soon = at_once,
) -> Telemetry:
    """Telemetry, exporting from now on.

    `exporter` takes the place of the one that the variables ask for; `soon` puts off what is to be
    recorded of decisions.

    Raises ValueError where two `label_keys` make the same label. A wrong OTEL_* variable makes the
    component `exporter` permanently failed instead.
    """
    # Each counter would have a second series for its time of birth, which nobody here asks for.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    families = Families(
        registry, label_keys=settings.label_keys, series_max=settings.counter_series_max
    )
    runs = RunMetrics(families, label_values_max=settings.label_values_max)
    process = ProcessMetrics(families, version=settings.version)
    models = ModelMetrics(families, label_values_max=settings.label_values_max)
    register_process(registry, health)
    chosen = None if exporter is None else Choice(exporters=(exporter,))
    spans, queue = _spans(settings, process, health, chosen)
    return Telemetry(
        runs=runs,
        process=process,
        models=models,
        spans=spans,
        queue=queue,
        trails=Trails(_Beginner(settings).begin, trails_max=settings.sessions_max),
        clock=clock,
        soon=soon,
    )


def _spans(
    settings: TelemetrySettings,
    process: ProcessMetrics,
    health: Health,
    chosen: Choice[SpanExporter] | None,
) -> tuple[Spans | None, SpanQueue | None]:
    try:
        named = resource(settings.version)
        choice = chosen or choose(SPANS, console=sys.stdout, own_ports=settings.own_ports)
        # Where nothing is exported its variables may say what they like.
        sampled_by = sampler(named) if choice.exporters else None
    except ValueError as error:
        sampled_by, choice = None, Choice(problem=f"the OTEL_* variables: {error}")
    if choice.problem:
        health.component(EXPORTER).permanent(choice.problem)
    if sampled_by is None:
        return None, None
    batching = choose_batching(settings.span_queue_max)
    queue = SpanQueue(
        Several(choice.exporters),
        render=Renderer(named, version=settings.version).render,
        tally=process,
        component=health.component(EXPORTER),
        spans_max=batching.spans_max,
        batch_max=batching.batch_max,
        delay_s=batching.delay_s,
        # Of several, one may have taken what another did not, and would be given it twice.
        tries_max=TRIES_MAX if len(choice.exporters) == 1 else 1,
    )
    process.queued_by(queue.__len__)
    queue.start()
    return Spans(sampler=sampled_by, queue=queue), queue


class _Beginner:
    """Begins trails: folds a session's labels, and works out what its spans have in common."""

    def __init__(self, settings: TelemetrySettings) -> None:
        self._agents = LabelValues(settings.label_values_max)
        self._models = LabelValues(settings.label_values_max)
        self._policies = LabelValues(settings.label_values_max)
        self._extra = [(key, LabelValues(settings.label_values_max)) for key in settings.label_keys]

    def begin(self, session: SessionFacts) -> Trail:
        opening = session.opening
        labels = dict(opening.labels)
        return Trail(
            agent=self._agents.fold(opening.agent_name),
            model=self._models.fold(opening.model),
            mode=opening.mode.value,
            policy=self._policies.fold(session.policy.name),
            extra=tuple(values.fold(labels.get(key, "")) for key, values in self._extra),
            attributes=_attributes(session),
        )


def _attributes(session: SessionFacts) -> dict[str, str]:
    opening, policy = session.opening, session.policy
    known = {
        names.CONVERSATION_ID: opening.session_id,
        names.SESSION_ID: opening.session_id,
        names.AGENT_NAME: opening.agent_name,
        names.AGENT_VERSION: opening.agent_version,
        names.REQUEST_MODEL: opening.model,
        names.POLICY: policy.name,
        names.POLICY_REVISION: policy.revision,
        names.MODE: opening.mode.value,
    }
    labels = {f"{names.LABEL_PREFIX}{cut(key)}": value for key, value in opening.labels}
    return {name: cut(value) for name, value in {**known, **labels}.items() if value}
