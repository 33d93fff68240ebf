"""Every metric: name, type, unit, labels, help and buckets.

The prefix is `sidecar_`, units are base units, counters end in `_total`. docs/metrics.md is written
from this file, and `sidecar.adapters.telemetry.families` builds the metrics from it.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Kind(Enum):
    """Type of a metric, as Prometheus has it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric, as it is exposed."""

    name: str
    kind: Kind
    unit: str
    """What one is; "1" for a share or a mere flag."""
    labels: tuple[str, ...] = ()
    help: str
    buckets: tuple[float, ...] = ()
    """Upper bounds, without +Inf."""
    foreign: bool = False
    """Whether prometheus_client defines and collects it."""


def _counter(name: str, unit: str, labels: str, text: str) -> Metric:
    kind = Kind.COUNTER
    return Metric(name=name, kind=kind, unit=unit, labels=tuple(labels.split()), help=text)


def _gauge(name: str, unit: str, labels: str, text: str) -> Metric:
    kind = Kind.GAUGE
    return Metric(name=name, kind=kind, unit=unit, labels=tuple(labels.split()), help=text)


def _histogram(name: str, unit: str, buckets: tuple[float, ...], text: str) -> Metric:
    return Metric(name=name, kind=Kind.HISTOGRAM, unit=unit, buckets=buckets, help=text)


def _foreign(name: str, kind: Kind, unit: str, labels: str, text: str) -> Metric:
    return Metric(
        name=name, kind=kind, unit=unit, labels=tuple(labels.split()), help=text, foreign=True
    )


def _doubling(first: float, count: int) -> tuple[float, ...]:
    return tuple(round(first * 2**step, 6) for step in range(count))


TURNS_COUNTED: Final = _counter(
    "sidecar_turns_total", "turns", "agent model mode", "Turns that were counted."
)
TURNS_REJECTED: Final = _counter(
    "sidecar_turns_rejected_total", "turns", "reason", "Malformed turns that were not counted."
)
TURNS_MISSING: Final = _counter(
    "sidecar_turns_missing_total", "turns", "", "Turns that neither agent nor sidecar has any more."
)
TURN_DURATION: Final = _histogram(
    "sidecar_turn_duration_seconds",
    "seconds",
    _doubling(0.1, 13),
    "Time that an agent's turn took, by the agent's clock.",
)  # buckets of gen_ai.invoke_agent.duration
TOKENS: Final = _counter(
    "sidecar_tokens_total",
    "tokens",
    "agent model type",
    "Tokens that agents reported: input (cached ones included), output, cache_read, cache_write.",
)
COST_USD: Final = _counter(
    "sidecar_cost_usd_total", "US dollars", "agent model", "Cost that agents reported."
)
CONTEXT_RATIO: Final = _histogram(
    "sidecar_context_ratio",
    "1",
    (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0),
    "Share of the model's context window that was full after a turn.",
)
TOOLS_CALLED: Final = _counter(
    "sidecar_tool_calls_total", "calls", "tool outcome", "Tool calls: ok, error or denied."
)
DECISIONS: Final = _counter(
    "sidecar_decisions_total",
    "decisions",
    "directive signal cause mode policy",
    "Decisions, by directive and the signal that it names. In mode observe none was sent.",
)
DECISION_DURATION: Final = _histogram(
    "sidecar_decision_duration_seconds",
    "seconds",
    (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0),
    "Time from a turn's arrival to its decision. An agent waits 0.2 s by default.",
)
ROTATIONS: Final = _counter(
    "sidecar_rotations_total",
    "rotations",
    "signal outcome",
    "Rotates that were sent, by what became of the pattern within three turns: ended, persisted, "
    "or run_over where the run was closed before. What does not show yet when a sidecar stops is "
    "not counted.",
)
COMMIT_BUDGET_LEFT: Final = _histogram(
    "sidecar_commit_budget_left_ratio",
    "1",
    (0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9),
    "Share of a run's limits (turns, input tokens, cost) that was left when it was first told to "
    "commit: of the limit nearest to its end. Runs without a limit are not counted.",
)
WITHHELD: Final = _counter(
    "sidecar_directives_withheld_total",
    "directives",
    "",
    "Directives that a policy's force_continue withheld.",
)
READINGS: Final = _counter(
    "sidecar_readings_total",
    "readings",
    "signal severity",
    "Readings above none: notice, warning or break.",
)
STATE_CHANGES: Final = _counter(
    "sidecar_state_changes_total", "changes", "state_before state", "Changes of a breaker's state."
)
COMMANDS: Final = _counter(
    "sidecar_commands_total",
    "commands",
    "command",
    "What was done to runs from outside: continue, reset, idle, verdict.",
)
SESSIONS: Final = _gauge(
    "sidecar_sessions", "sessions", "state", "Sessions that are open, by the breaker's state."
)
SESSIONS_HELD: Final = _gauge(
    "sidecar_sessions_held",
    "sessions",
    "",
    "Sessions in memory, which sessions_max bounds: closed ones stay for session_idle_ttl_s.",
)
STREAMS: Final = _gauge("sidecar_streams", "streams", "", "Streams that have opened a session.")
SESSIONS_OPENED: Final = _counter(
    "sidecar_sessions_opened_total",
    "sessions",
    "agent how",
    "Openings: new, resumed, continued from another session, or orphaned: begun afresh, since the "
    "session to go on from is not held.",
)
SESSIONS_DETACHED: Final = _counter(
    "sidecar_sessions_detached_total",
    "sessions",
    "reason",
    "Sessions that left memory: `expired`, idle for session_idle_ttl_s, which closes a run that "
    "was open, or `evicted` by new ones, which leaves it as it was in the store.",
)
RUNS: Final = _counter(
    "sidecar_runs_total",
    "runs",
    "agent outcome directive answered policy",
    "Runs that were closed: how they ended, the strongest directive sent to them, and whether "
    "they have a final answer.",
)
SESSION_TURNS: Final = _histogram(
    "sidecar_session_turns", "turns", _doubling(1, 11), "Turns of runs that were closed, their own."
)
SESSION_DURATION: Final = _histogram(
    "sidecar_session_duration_seconds",
    "seconds",
    (1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200),
    "Time from opening to close.",
)  # buckets of gen_ai.invoke_workflow.duration
REFUSED: Final = _counter(
    "sidecar_refused_total", "calls", "reason", "Calls and streams that were refused or ended."
)
LOST: Final = _counter(
    "sidecar_lost_total",
    "items",
    "what reason",
    "What was accepted and given up: spans, journal entries, snapshots, saved runs, decisions that "
    "an agent was too slow to read, texts and labels beyond their bounds, measurements that make "
    "no sense. A session that begins anew gives up what was kept of it: its entries as `replaced`, "
    "its snapshot as of another `version` of the sidecar, or with its `policy_gone`.",
)
CLIENT_FAIL_OPEN: Final = _counter(
    "sidecar_client_fail_open_total",
    "turns",
    "reason",
    "Times that a client went on without a decision, as clients report it.",
)
AGENT_FAIL_OPEN: Final = _counter(
    "sidecar_agent_fail_open_total",
    "turns",
    "agent",
    "Times that the clients of an agent went on without a decision, as they report it; faults of "
    "their own, `internal`, apart.",
)
MODEL_CALLS: Final = _counter(
    "sidecar_model_calls_total",
    "calls",
    "purpose model outcome",
    "Calls that the sidecar made of models, by why the model stopped or gave no reply.",
)
MODEL_CALL_DURATION: Final = _histogram(
    "sidecar_model_call_duration_seconds",
    "seconds",
    (0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128),
    "Time of such a call, attempts that were repeated included.",
)
MODEL_TOKENS: Final = _counter(
    "sidecar_model_tokens_total",
    "tokens",
    "purpose model type",
    "Tokens of such calls: input (cached ones included), output, cache_read, cache_write.",
)
MODEL_COST_USD: Final = _counter(
    "sidecar_model_cost_usd_total",
    "US dollars",
    "purpose model",
    "Cost of such calls; none is added for a model whose price is not known.",
)
FORCED_COMMITS: Final = _counter(
    "sidecar_forced_commits_total",
    "commits",
    "source signal",
    "Forced commits, by where the answer is from (model, history, none) and the signal.",
)
REVIEWS: Final = _counter(
    "sidecar_reviews_total",
    "reviews",
    "verdict",
    "Reviews of answers: pass, fail, uncertain, or error where the review itself went wrong.",
)
JUDGE_VERDICTS: Final = _counter(
    "sidecar_judge_verdicts_total",
    "verdicts",
    "verdict",
    "Runs that were to be judged, by what the judge found (progressing, circling, finished, "
    "unsure), or by why it found nothing: failed, bounded (a bound was met), or stale (the run was "
    "over, continued or reset before its verdict came).",
)
SPANS: Final = _counter(
    "sidecar_spans_total", "spans", "", "Spans made: each is exported, lost or still queued."
)
SPANS_EXPORTED: Final = _counter(
    "sidecar_spans_exported_total", "spans", "", "Spans that a collector accepted."
)
SPANS_QUEUED: Final = _gauge(
    "sidecar_span_queue_spans", "spans", "", "Spans that wait for export or are being exported."
)
LOOP_LAG: Final = _histogram(
    "sidecar_event_loop_lag_seconds",
    "seconds",
    (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
    "How late the event loop's heartbeat came.",
)
COMPONENT_STATUS: Final = _gauge(
    "sidecar_component_status",
    "1",
    "component status",
    "1 for the status that a component has: starting, ok, recoverable, permanent, stopping.",
)
MEMORY_LIMIT: Final = _gauge(
    "sidecar_memory_limit_bytes",
    "bytes",
    "",
    "Memory that the process may have: the least limit of its cgroups, or the machine's memory.",
)
READY: Final = _gauge("sidecar_ready", "1", "", "1 while agents are accepted, else 0.")
UPTIME: Final = _gauge(
    "sidecar_uptime_seconds",
    "seconds",
    "",
    "Time since it started, by a clock that nobody sets.",
)
BOUND: Final = _gauge("sidecar_bound", "1", "bound", "The configured bounds, by their keys.")
POLICY_INFO: Final = _gauge(
    "sidecar_policy_info", "1", "policy revision", "1 for each policy, with its revision."
)
BUILD_INFO: Final = _gauge(
    "sidecar_build_info", "1", "version python_version", "1, with the version that runs."
)

METRICS: Final = (
    TURNS_COUNTED,
    TURNS_REJECTED,
    TURNS_MISSING,
    TURN_DURATION,
    TOKENS,
    COST_USD,
    CONTEXT_RATIO,
    TOOLS_CALLED,
    DECISIONS,
    DECISION_DURATION,
    ROTATIONS,
    COMMIT_BUDGET_LEFT,
    WITHHELD,
    READINGS,
    STATE_CHANGES,
    COMMANDS,
    SESSIONS,
    SESSIONS_HELD,
    STREAMS,
    SESSIONS_OPENED,
    SESSIONS_DETACHED,
    RUNS,
    SESSION_TURNS,
    SESSION_DURATION,
    REFUSED,
    LOST,
    CLIENT_FAIL_OPEN,
    AGENT_FAIL_OPEN,
    MODEL_CALLS,
    MODEL_CALL_DURATION,
    MODEL_TOKENS,
    MODEL_COST_USD,
    FORCED_COMMITS,
    REVIEWS,
    JUDGE_VERDICTS,
    SPANS,
    SPANS_EXPORTED,
    SPANS_QUEUED,
    LOOP_LAG,
    COMPONENT_STATUS,
    MEMORY_LIMIT,
    READY,
    UPTIME,
    BOUND,
    POLICY_INFO,
    BUILD_INFO,
    _foreign("process_cpu_seconds_total", Kind.COUNTER, "seconds", "", "CPU time of the process."),
    _foreign("process_resident_memory_bytes", Kind.GAUGE, "bytes", "", "Resident memory."),
    _foreign("process_virtual_memory_bytes", Kind.GAUGE, "bytes", "", "Virtual memory."),
    _foreign("process_start_time_seconds", Kind.GAUGE, "seconds", "", "Start, since the epoch."),
    _foreign("process_open_fds", Kind.GAUGE, "files", "", "Open file descriptors."),
    _foreign("process_max_fds", Kind.GAUGE, "files", "", "File descriptors allowed."),
    _foreign("python_gc_collections_total", Kind.COUNTER, "1", "generation", "Collections."),
    _foreign(
        "python_gc_objects_collected_total",
        Kind.COUNTER,
        "objects",
        "generation",
        "Objects that the collector freed.",
    ),
    _foreign(
        "python_gc_objects_uncollectable_total",
        Kind.COUNTER,
        "objects",
        "generation",
        "Objects that the collector could not free.",
    ),
)
"""Every metric on /metrics. None has a session, a user or any text of a run as a label."""
