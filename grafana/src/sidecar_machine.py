"""Panels of the dashboard Sidecar: the process, its components, and the models that it asks."""

from typing import Any

from grafana_foundation_sdk.models.dashboard import DataTransformerConfig

from grafana.src.panels import (
    GREEN,
    RED,
    YELLOW,
    grid,
    lines,
    named,
    stacked,
    timeline,
)
from grafana.src.queries import now_as_table, over_time
from grafana.src.sidecar_series import STATUSES, of, quantile, rate


def process() -> list[Any]:
    return [
        lines(
            "Memory",
            "Resident memory of each sidecar.",
            over_time(of("process_resident_memory_bytes"), "{{instance}}"),
            unit="bytes",
            min=0,
        ),
        lines(
            "CPU",
            "Cores in use by each sidecar. It is one process with one event loop: at 1 it is full.",
            over_time(rate("process_cpu_seconds_total"), "{{instance}}"),
            unit="none",
            at=((None, GREEN), (0.7, YELLOW), (0.9, RED)),
            min=0,
        ),
        lines(
            "Event-loop lag",
            "How late the loop's heartbeat came: the 99th percentile of each sidecar. All "
            "decisions "
            "wait that long.",
            over_time(quantile(0.99, "sidecar_event_loop_lag_seconds", "instance"), "{{instance}}"),
            unit="s",
            at=((None, GREEN), (0.05, YELLOW), (0.25, RED)),
            min=0,
        ),
        lines(
            "Memory and file descriptors, of their limits",
            "Resident memory as a share of what the process may have, and open descriptors of "
            "those allowed. Each stream takes a descriptor.",
            over_time(
                f"{of('process_resident_memory_bytes')} / {of('sidecar_memory_limit_bytes')}",
                "memory {{instance}}",
            ),
            over_time(
                f"{of('process_open_fds')} / {of('process_max_fds')}",
                "descriptors {{instance}}",
            ),
            unit="percentunit",
            at=((None, GREEN), (0.7, YELLOW), (0.9, RED)),
            min=0,
        ),
        lines(
            "Streams and sessions, of their bounds",
            "Open streams, and sessions in memory, as shares of streams_max and sessions_max. "
            "Beyond a bound streams are refused, and the session idle for longest is let go. A "
            "closed session is in memory until its idle time is over, so 100 % of sessions_max is "
            "usual where many runs end.",
            over_time(
                f"{of('sidecar_streams')} / ignoring (bound) "
                f"{of('sidecar_bound', _bound('streams_max'))}",
                "streams {{instance}}",
            ),
            over_time(
                f"{of('sidecar_sessions_held')} / ignoring (bound) "
                f"{of('sidecar_bound', _bound('sessions_max'))}",
                "sessions {{instance}}",
            ),
            unit="percentunit",
            at=((None, GREEN), (0.7, YELLOW), (0.9, RED)),
            min=0,
        ),
        lines(
            "Garbage collections of the oldest generation",
            "A minute, of each sidecar. These take longest; many of them and a lag of the loop go "
            "together.",
            over_time(
                f"60 * {rate('python_gc_collections_total', _generation('2'))}", "{{instance}}"
            ),
            unit="opm",
            min=0,
        ),
    ]


def _bound(key: str) -> str:
    return f'bound="{key}"'


def _generation(number: str) -> str:
    return f'generation="{number}"'


def components() -> list[Any]:
    numbered = " or ".join(
        f"({of('sidecar_component_status', _status(status))} == 1) * {number}"
        for number, status in enumerate(STATUSES, 1)
    )
    numbers = {str(number): color for number, color in enumerate(STATUSES.values(), 1)}
    words = {str(number): status for number, status in enumerate(STATUSES, 1)}
    tables = [
        now_as_table(f"max by (instance, version, python_version) ({of('sidecar_build_info')})"),
        now_as_table(f"max by (instance, policy, revision) ({of('sidecar_policy_info')})"),
    ]
    return [
        timeline(
            "Status of store, exporter and models",
            "What each component says of itself. recoverable: it fails and is tried again; "
            "permanent: somebody has to mend it. Agents are answered all the while.",
            over_time(f"max by (instance, component) ({numbered})", "{{component}} {{instance}}"),
            mappings=named(numbers, words),
            span=12,
        ),
        lines(
            "Spans",
            "Spans a second: made, and taken by the collector. What is made is exported, lost or "
            "still queued.",
            over_time(f"sum({rate('sidecar_spans_total')})", "made"),
            over_time(f"sum({rate('sidecar_spans_exported_total')})", "exported"),
            over_time(f"sum({rate('sidecar_lost_total', _what('span'))})", "lost"),
            unit="ops",
            min=0,
            span=6,
        ),
        lines(
            "Span queue",
            "Share of span_queue_max that waits for export. A full queue takes no more.",
            over_time(
                f"{of('sidecar_span_queue_spans')} / ignoring (bound) "
                f"{of('sidecar_bound', _bound('span_queue_max'))}",
                "{{instance}}",
            ),
            unit="percentunit",
            at=((None, GREEN), (0.5, YELLOW), (0.9, RED)),
            min=0,
            max=1,
            span=6,
        ),
        _info("Versions", "Version of each sidecar and of its Python.", tables[0], span=8),
        _info(
            "Policies and their revisions",
            "A revision changes exactly when a threshold does. Two sidecars with different "
            "revisions "
            "of one policy judge runs differently.",
            tables[1],
            span=16,
        ),
    ]


def _status(status: str) -> str:
    return f'status="{status}"'


def _what(what: str) -> str:
    return f'what="{what}"'


def _info(title: str, description: str, query: Any, *, span: int) -> Any:
    hidden = {"excludeByName": {"Time": True, "Value": True}}
    organize = DataTransformerConfig(id_val="organize", options=hidden)
    return grid(title, description, query, span=span, height=7, transformations=[organize])


def models() -> list[Any]:
    return [
        stacked(
            "Model calls per minute",
            "Calls that the sidecar made for forced commits, reviews and the judge, by purpose and "
            "by why the model stopped or gave no reply.",
            over_time(
                f"60 * sum by (purpose, outcome) ({rate('sidecar_model_calls_total')})",
                "{{purpose}}: {{outcome}}",
            ),
            unit="opm",
            no_value="no model is asked",
        ),
        lines(
            "Time of a model call",
            "Quantiles, attempts that were repeated included.",
            over_time(quantile(0.5, "sidecar_model_call_duration_seconds"), "p50"),
            over_time(quantile(0.95, "sidecar_model_call_duration_seconds"), "p95"),
            unit="s",
            min=0,
            no_value="no model is asked",
        ),
        lines(
            "Cost of model calls per hour",
            "What an hour costs at the present rate, by purpose; a model whose price is not known "
            "adds nothing.",
            over_time(
                f"3600 * sum by (purpose) ({rate('sidecar_model_cost_usd_total')})", "{{purpose}}"
            ),
            unit="currencyUSD",
            min=0,
            no_value="no model is asked",
        ),
        stacked(
            "Tokens of model calls per minute",
            "Input and output, by purpose.",
            over_time(
                f"60 * sum by (purpose) ({rate('sidecar_model_tokens_total', _paid())})",
                "{{purpose}}",
            ),
            unit="short",
            no_value="no model is asked",
        ),
        stacked(
            "Verdicts per minute",
            "Reviews of answers, and what the judge found of runs.",
            over_time(
                f"60 * sum by (verdict) ({rate('sidecar_reviews_total')})", "review: {{verdict}}"
            ),
            over_time(
                f"60 * sum by (verdict) ({rate('sidecar_judge_verdicts_total')})",
                "judge: {{verdict}}",
            ),
            unit="opm",
            no_value="nothing is judged",
        ),
        stacked(
            "What was done from outside",
            "Commands a minute: continue, reset, the end of a wait, a verdict; and directives "
            "that a "
            "policy's force_continue withheld.",
            over_time(f"60 * sum by (command) ({rate('sidecar_commands_total')})", "{{command}}"),
            over_time(f"60 * sum({rate('sidecar_directives_withheld_total')})", "withheld"),
            unit="opm",
        ),
    ]


def _paid() -> str:
    return 'type=~"input|output"'
