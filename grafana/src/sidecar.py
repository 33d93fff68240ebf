"""Sidecar: the health of the sidecars themselves."""

from typing import Any

from grafana_foundation_sdk.builders import dashboard as build

from grafana.src.board import SIDECAR, Row, board, chosen, places, source
from grafana.src.panels import (
    GREEN,
    RED,
    YELLOW,
    heat_map,
    lines,
    stacked,
    stat_panel,
)
from grafana.src.queries import as_heatmap, now, over_time
from grafana.src.sidecar_machine import components, models, process
from grafana.src.sidecar_series import FAILED, LATE, of, quantile, rate


def sidecar() -> build.Dashboard:
    """The dashboard."""
    return board(
        uid=SIDECAR,
        title="Agent sidecar / Sidecar",
        description="Is the sidecar itself all right? How fast it decides, how often agents went "
        "on "
        "without it, what it refused and lost, what it takes of the machine, and whether its "
        "store, "
        "exporter and models work. Reads Prometheus.",
        since="now-1h",
        variables=[
            source("prometheus"),
            *places(),
            chosen("instance", "Instance", "sidecar_ready", within=("cluster", "namespace", "job")),
        ],
        rows=[
            Row(title="At a glance", panels=_glance()),
            Row(title="Decisions", panels=_decisions()),
            Row(title="Refused and lost", panels=_losses()),
            Row(title="The process", panels=process()),
            Row(title="Store, exporter and bounds", panels=components()),
            Row(title="Models that the sidecar asks", panels=models()),
        ],
    )


def _fail_open(by: str = "") -> str:
    # As in grafana/rules: `internal` is also a value left out of a turn that was decided on.
    reported = rate("sidecar_client_fail_open_total", 'reason!="internal"')
    failed = f"sum{by} ({reported})"
    decided = f"sum{by} ({rate('sidecar_decision_duration_seconds_count')})"
    return f"{failed} / ({failed} + {decided} > 0)"


def _fail_open_by_agent() -> str:
    failed = f"sum by (agent) ({rate('sidecar_agent_fail_open_total')})"
    counted = f"sum by (agent) ({rate('sidecar_turns_total')})"
    return f"{failed} / ({failed} + {counted} > 0)"


def _glance() -> list[Any]:
    small: dict[str, Any] = {"span": 4, "height": 4}
    return [
        stat_panel(
            "Up",
            "Sidecars that answer Prometheus, as a share of those it knows.",
            now(f"sum({of('up')}) / count({of('up')})"),
            unit="percentunit",
            at=((None, RED), (0.95, YELLOW), (1.0, GREEN)),
            **small,
        ),
        stat_panel(
            "Ready",
            "Sidecars that accept agents. One that drains does not, and is alive all the same.",
            # One that is down has no such series: where all are, zero and not unknown.
            now(f"sum({of('sidecar_ready')}) or vector(0)"),
            unit="none",
            **small,
        ),
        stat_panel(
            "Decisions",
            "Decisions a second, of turns and of what was done from outside.",
            over_time(f"sum({rate('sidecar_decisions_total')})"),
            unit="ops",
            **small,
        ),
        stat_panel(
            "p99 decision",
            "Of a hundred decisions the slowest took so long, from a turn's arrival. The objective "
            "is 50 ms; an agent waits 200 ms by default.",
            over_time(quantile(0.99, "sidecar_decision_duration_seconds")),
            unit="s",
            at=LATE,
            **small,
        ),
        stat_panel(
            "Failed open",
            "Share of the turns that agents went on from without a decision, as clients report it "
            "once they are back.",
            over_time(_fail_open()),
            unit="percentunit",
            at=FAILED,
            decimals=2,
            **small,
        ),
        stat_panel(
            "Last start",
            "How long ago the sidecar that was started last came up: a small number is a restart.",
            now(f"min({of('sidecar_uptime_seconds')})"),
            unit="dtdurations",
            **small,
        ),
    ]


def _decisions() -> list[Any]:
    latency = "sidecar_decision_duration_seconds"
    return [
        heat_map(
            "Decision latency",
            "Decisions by how long they took; a point is one decision, and leads to its trace "
            "where "
            "Prometheus keeps exemplars.",
            as_heatmap(f"sum by (le) ({rate(f'{latency}_bucket')})"),
            unit="s",
            span=12,
            height=9,
        ),
        lines(
            "Decision latency, quantiles",
            "Over all sidecars chosen. The lines are the objective, 50 ms, and what an agent waits "
            "by default, 200 ms.",
            over_time(quantile(0.5, latency), "p50"),
            over_time(quantile(0.99, latency), "p99"),
            over_time(quantile(0.999, latency), "p99.9"),
            unit="s",
            at=LATE,
            min=0,
            span=12,
            height=9,
        ),
        lines(
            "Fail-open ratio, by client",
            "Share of turns that the clients of an agent went on from without a decision, as they "
            "report it when they are back; nothing is known of a client that never came back.",
            over_time(_fail_open_by_agent(), "{{agent}}"),
            unit="percentunit",
            at=FAILED,
            min=0,
            span=6,
        ),
        lines(
            "Fail-open ratio, by sidecar",
            "The same by the sidecar that they were without: one that stands out is slow or was "
            "away, where all its agents do; an agent that stands out has a client that asks for "
            "too little time.",
            over_time(_fail_open(" by (instance)"), "{{instance}}"),
            unit="percentunit",
            at=FAILED,
            min=0,
            span=6,
        ),
        stacked(
            "Give-ups per minute, by reason",
            "As clients state it. connect: no sidecar there; timeout: too slow; stream: it broke; "
            "rejected: the call was refused; draining: the sidecar was stopping; internal: a fault "
            "of the client's own, or a value that could not be sent, which is not part of the "
            "ratio.",
            over_time(
                f"60 * sum by (reason) ({rate('sidecar_client_fail_open_total')})", "{{reason}}"
            ),
            unit="opm",
            span=6,
        ),
        stacked(
            "Decisions, by cause",
            "Decisions a second: turn, operator (continue, reset), idle (a wait that ended) and "
            "judge.",
            over_time(f"sum by (cause) ({rate('sidecar_decisions_total')})", "{{cause}}"),
            unit="ops",
            span=6,
        ),
    ]


def _losses() -> list[Any]:
    per_minute = "60 * sum by ({}) ({})"
    return [
        stacked(
            "Refused, by reason",
            "Calls and streams refused or ended, a minute, by the reason of the protocol.",
            over_time(per_minute.format("reason", rate("sidecar_refused_total")), "{{reason}}"),
            over_time(
                per_minute.format("reason", rate("sidecar_turns_rejected_total")),
                "turn: {{reason}}",
            ),
            unit="opm",
            no_value="nothing was refused",
        ),
        stacked(
            "Lost, by what and why",
            "What was accepted and given up, a minute: spans, journal entries, snapshots, saved "
            "runs, decisions, texts beyond their bounds.",
            over_time(
                per_minute.format("what, reason", rate("sidecar_lost_total")),
                "{{what}}: {{reason}}",
            ),
            unit="opm",
            no_value="nothing was lost",
        ),
        stacked(
            "Turns missing and sessions let go",
            "Turns that neither side has any more, and sessions that left memory without a "
            "close, by "
            "reason, a minute.",
            over_time(f"60 * sum({rate('sidecar_turns_missing_total')})", "turns missing"),
            over_time(
                per_minute.format("reason", rate("sidecar_sessions_detached_total")),
                "session {{reason}}",
            ),
            unit="opm",
        ),
    ]
