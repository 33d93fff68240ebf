#!/usr/bin/env python3
"""Writes docs/metrics.md and docs/spans.md from the inventory: run it after changing a name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sidecar.adapters.semconv import ATTRIBUTES, METRICS, Attribute, Metric
from sidecar.adapters.semconv import attributes as names

DOCS: Final = Path(__file__).parent.parent / "docs"

METRICS_INTRODUCTION: Final = """\
# Metrics

<!-- Written by scripts/render_docs.py from sidecar/adapters/semconv. Do not edit. -->

`GET /metrics` on the telemetry listener (`telemetry_address`, by default `127.0.0.1:9464`) serves
them as plain text, or as OpenMetrics to a scraper that asks for it, compressed where it says so.

- No label holds a session, a user or any text of a run. A single session is found by its spans
  (`gen_ai.conversation.id`), by `sidecar sessions` and by `sidecar explain`.
- `agent`, `model` and `tool` take on the first 10 values that come (`label_values_max`); later ones
  are counted as `other`, and a missing one as `unknown`.
- All series of counters with labels together are bounded too (`counter_series_max`, 180). Beyond it
  a new series has `other` for agent, model, policy and tool, and at last for every label. So one
  sidecar under the defaults has at most 400 series, on a page of 31 KiB: measured 375, with every
  label at its full set.
- Labels of `open` that the operator lists in `label_keys` become labels `label_<key>` of every
  metric that has the label `agent`, under the same bound.
- In OpenMetrics `sidecar_decision_duration_seconds`, and `sidecar_decisions_total` where the
  directive is not a proceed, carry the trace as an exemplar: that of the sidecar's own span, or the
  agent's where the sidecar exports none. Prometheus keeps them with
  `--enable-feature=exemplar-storage`.
- Spans add up: `sidecar_spans_total` is the sum of `sidecar_spans_exported_total`,
  `sidecar_lost_total{what="span"}` and `sidecar_span_queue_spans`.
- A counter is 0 after a restart; `rate` and `increase` know.
"""

SPANS_INTRODUCTION: Final = """\
# Spans

<!-- Written by scripts/render_docs.py from sidecar/adapters/semconv. Do not edit. -->

Spans are exported over OTLP when the standard variables ask for it: `OTEL_EXPORTER_OTLP_ENDPOINT`
(or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`) is enough, and so is `OTEL_TRACES_EXPORTER=otlp`, which
goes to `http://localhost:4317`. Without any of them nothing is exported.

The SDK for Python reads the variables, those for `TRACES` before the general ones:

| variable | here |
|---|---|
| `OTEL_TRACES_EXPORTER` | `otlp`, `console` or `none`; `otlp,console` is both |
| `OTEL_EXPORTER_OTLP_PROTOCOL` | `grpc` (default) or `http/protobuf` |
| `OTEL_EXPORTER_OTLP_ENDPOINT`, `_HEADERS`, `_COMPRESSION`, ... | as in the standard |
| `OTEL_EXPORTER_OTLP_TIMEOUT` | seconds for one batch, as this SDK has it; 5 unless set, at most 8 |
| `OTEL_BSP_SCHEDULE_DELAY` | milliseconds between batches; 1,000 unless set |
| `OTEL_BSP_MAX_EXPORT_BATCH_SIZE` | 512 unless set |
| `OTEL_BSP_MAX_QUEUE_SIZE` | at most `span_queue_max` (2,048); a full queue takes no more |
| `OTEL_BSP_EXPORT_TIMEOUT` | milliseconds; lowers the timeout of a batch |
| `OTEL_TRACES_SAMPLER`, `_ARG` | `parentbased_always_on` unless set |
| `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | the service is `agent-sidecar` unless named |
| `OTEL_SDK_DISABLED` | `true` exports nothing |
| `OTEL_ATTRIBUTE_*_LIMIT`, `OTEL_SPAN_*_LIMIT` | not read: a span has the attributes listed below, each text cut to a bound |

Timeout and delay are below the standard's so that a collector that is away shows in `/statusz`
within 10 s. Most SDKs count the timeout in milliseconds: a variable that is shared with their programs,
such as `10000`, means 8 seconds here. A variable that cannot be understood switches exporting off and makes the component
`exporter` PERMANENT; the sidecar goes on. Of `OTEL_BSP_*` what is no whole number above 0, of at most 12 digits, is passed over, with a line in
the log, and a delay is a minute at most.

A batch that a collector does not take stays in the queue. The collector is then asked every five seconds,
with one span, and once it takes that with more and more. Lost are a span that it did not take alone for a minute,
and what comes while the queue is full; what is lost is counted. A batch whose answer came too late is
sent again, with the same span ids. Over HTTP a redirect, which is not followed, and a page of HTML are no
answers of a collector. Spans of a batch that a collector takes and yet rejects ("partial success") count as
exported: the SDK's exporters do not tell. Where `OTEL_TRACES_EXPORTER` names several, what one of them does not take is
lost at once, since another may have it.

`sidecar.turn`
: One turn, from its start to its end where the turn has plausible times, else at the moment it
  came. Its parent is the agent's own span, where `turn.traceparent` names one; else it is a root.
  It is exported as soon as it is decided on: a span as long as the session would be seen only at
  its end. A turn that was not counted has status ERROR.

`sidecar.command`
: Something that was done to the run from outside: continue, reset, the end of a wait, a verdict.

`sidecar.session`
: The whole run, from its opening to its close, written when it is closed.

`chat <model>`
: A call that the sidecar itself made of a model (a forced commit, a review, a verdict), by the
  conventions for generative AI, of kind CLIENT. Its parent is the last turn of the session that it
  was made for. A call without a reply has status ERROR.

The others are of kind INTERNAL; all are in the scope `sidecar`. The others have no
`gen_ai.operation.name`: they stand beside the agent's own model and tool spans, and should not be
counted as more of those.

The reference agent (`sidecar agent`) is a process of its own and exports its own spans, by the same
variables, in the scope `sidecar.codeagent` and as the service `codeagent`; [agent.md](agent.md) has
its metrics. All but its chats are of kind INTERNAL:

`invoke_agent codeagent`
: A run. Its `traceparent` goes with each turn that is reported, so the `sidecar.turn` spans of the
  run are its children. Status ERROR where the model failed.

`execute_tool python`, `execute_tool <tool>`
: A step, and below it the tools that its code called.

`chat <model>`
: A call of the model: below the run, or below the tool that asked. Without the attributes of the
  sidecar's policy.

`invoke_workflow answer_with_review`
: With `--review`: the runs and the reviews. Each verdict is an event `gen_ai.evaluation.result` on
  it, by the name `review`.

- A span links to the first turn of its session; the first turn of a session that goes on from
  another links to the last turn of that one; a session links to its first and its last turn. Links
  reach back to the start of the sidecar, no further.
- Each reading above none is an event `gen_ai.evaluation.result` on the span of its turn, each
  directive other than proceed an event `sidecar.directive`.
- No content: no arguments, results, messages, answers, digests or instructions. Identifiers (ids,
  names of agents, models, tools, labels, approaches) are cut at 128 bytes and are not for secrets.
"""

PLACES: Final = (
    (names.TURN_SPAN, "Attributes of `sidecar.turn`"),
    (names.COMMAND_SPAN, "Attributes of `sidecar.command`"),
    (names.SESSION_SPAN, "Attributes of `sidecar.session`"),
    (names.CHAT, "Attributes of `chat <model>`"),
    (names.AGENT_SPAN, "Attributes of `invoke_agent <agent>`"),
    (names.TOOL_SPAN, "Attributes of `execute_tool <tool>`"),
    (names.WORKFLOW_SPAN, "Attributes of `invoke_workflow <workflow>`"),
    (names.EVALUATION_EVENT, "Attributes of the event `gen_ai.evaluation.result`"),
    (names.DIRECTIVE_EVENT, "Attributes of the event `sidecar.directive`"),
    ("link", "Attributes of links"),
)


def pages() -> dict[str, str]:
    """The documents by their file names."""
    return {
        "metrics.md": "\n".join([METRICS_INTRODUCTION, *_metrics()]) + "\n",
        "spans.md": "\n".join([SPANS_INTRODUCTION, *_spans()]) + "\n",
    }


def _metrics() -> Iterator[str]:
    yield "| metric | type | unit | labels | meaning |"
    yield "|---|---|---|---|---|"
    for metric in METRICS:
        yield _metric(metric)
    yield ""
    yield "## Buckets"
    yield ""
    for metric in METRICS:
        if metric.buckets:
            yield f"- `{metric.name}`: {', '.join(f'{bucket:g}' for bucket in metric.buckets)}"


def _metric(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    cells = (f"`{metric.name}`", metric.kind.value, metric.unit, labels, metric.help)
    return f"| {' | '.join(cells)} |"


def _spans() -> Iterator[str]:
    for place, title in PLACES:
        yield f"## {title}"
        yield ""
        yield "| attribute | type | meaning |"
        yield "|---|---|---|"
        for attribute in ATTRIBUTES:
            if place in attribute.on:
                yield _attribute(attribute)
        yield ""


def _attribute(attribute: Attribute) -> str:
    return f"| `{attribute.name}` | {attribute.type} | {attribute.help} |"


if __name__ == "__main__":
    for file_name, text in pages().items():
        (DOCS / file_name).write_text(text, encoding="utf-8")
