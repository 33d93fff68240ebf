"""Fleet: are my agents all right?"""

from typing import Any

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from grafana.src.board import FLEET, Row, agents, board, places, source
from grafana.src.fleet_series import (
    ALL_AGENTS,
    COST,
    DECISIONS,
    PAID,
    RUNS,
    SESSIONS,
    SHARE,
    TOKENS,
    TRIPPED,
    TURNS,
    WORKED,
    chosen,
    grown,
)
from grafana.src.fleet_tables import offenders
from grafana.src.panels import (
    DIRECTIVE_COLORS,
    GREEN,
    RED,
    STATE_COLORS,
    YELLOW,
    bars,
    lines,
    stacked,
    stat_panel,
)
from grafana.src.queries import now, over_time


def fleet() -> build.Dashboard:
    """The dashboard."""
    return board(
        uid=FLEET,
        title="Agent sidecar / Fleet",
        description="Are my agents all right? What they do, what it costs, who is stuck, and "
        "what the "
        "sidecars said to them. Reads Prometheus and the recording rules in grafana/rules; the "
        "last "
        "row reads one sidecar's JSON API.",
        since="now-6h",
        variables=[source("prometheus"), source("infinity"), *places(), *agents()],
        rows=[
            Row(title="At a glance", panels=_glance()),
            Row(title="Runs", panels=_runs()),
            Row(title="Tokens and money", panels=_money()),
            Row(title="Who needs a look", panels=offenders()),
        ],
    )


def _glance() -> list[Any]:
    small: dict[str, Any] = {"span": 4, "height": 4}
    up, ready = chosen("up"), chosen("sidecar_ready")
    return [
        stat_panel(
            "Sidecars ready",
            "Sidecars that answer Prometheus and accept agents, as a share of those it knows. "
            f"{ALL_AGENTS}",
            # One that is down has no `sidecar_ready`: where all are, zero and not unknown.
            now(f"(sum({ready}) or vector(0)) / count({up})"),
            unit="percentunit",
            at=((None, RED), (0.95, YELLOW), (1.0, GREEN)),
            **small,
        ),
        stat_panel(
            "Sessions",
            f"Sessions that are open, whatever their state. {ALL_AGENTS}",
            over_time(f"sum({chosen(SESSIONS)})"),
            unit="none",
            **small,
        ),
        stat_panel(
            "Runs tripped",
            "Share of the runs that ended in this time which were told to commit or to halt.",
            now(
                f"(sum({grown(RUNS, TRIPPED)}) or vector(0)) / (sum({grown(RUNS)}) > 0)",
            ),
            unit="percentunit",
            at=SHARE,
            no_value="no runs",
            **small,
        ),
        stat_panel(
            "Rotations that worked",
            "Share of the rotates sent after which the pattern ended within three turns. Runs that "
            f"were over before are left out. {ALL_AGENTS}",
            now(
                f"""(sum({grown("signal_outcome:sidecar_rotations:increase5m", 'outcome="ended"')})
                or vector(0))
                / (sum({
                    grown("signal_outcome:sidecar_rotations:increase5m", 'outcome!="run_over"')
                }) > 0)"""
            ),
            unit="percentunit",
            at=WORKED,
            no_value="none sent",
            **small,
        ),
        stat_panel(
            "Tokens",
            "Input and output tokens that agents reported in this time.",
            now(f"sum({grown(TOKENS, PAID)})"),
            unit="short",
            **small,
        ),
        stat_panel(
            "Cost",
            "US dollars that agents reported in this time. An agent that reports none adds none.",
            now(f"sum({grown(COST)})"),
            unit="currencyUSD",
            decimals=2,
            no_value="not reported",
            **small,
        ),
    ]


def _runs() -> list[Any]:
    rotations = "signal_outcome:sidecar_rotations:increase5m"
    return [
        stacked(
            "Sessions by state",
            "Open sessions, by the state of their breaker. Tripped ones went beyond a limit, for "
            "which they are told to rotate, to commit or to halt, by policy and time; they are so "
            f"until they recover or are over. {ALL_AGENTS}",
            over_time(f"sum by (state) ({chosen(SESSIONS)})", "{{state}}"),
            unit="none",
            colors=STATE_COLORS,
        ),
        stacked(
            "Directives per minute, by signal",
            "Rotate, commit and halt, by the signal that asked for them. In mode observe they were "
            f"not sent. {ALL_AGENTS}",
            over_time(f"sum by (signal) ({chosen(DECISIONS)}) / 5", "{{signal}}"),
            unit="opm",
        ),
        stacked(
            "Runs ended, by the strongest directive",
            "Runs closed within five minutes, by the strongest directive that was sent to them.",
            over_time(f"sum by (directive) ({chosen(RUNS)})", "{{directive}}"),
            unit="none",
            colors=DIRECTIVE_COLORS,
        ),
        lines(
            "Share of runs tripped, by agent",
            "Of the runs that ended within the last hour, those that were told to commit or to "
            "halt; the highest, where an agent works in several namespaces. Above the upper line "
            "AgentRunsTrippedRatioHigh fires.",
            over_time(
                f"max by (agent) ({chosen('agent:sidecar_runs_tripped:ratio_increase1h')})",
                "{{agent}}",
            ),
            unit="percentunit",
            at=SHARE,
            min=0,
            max=1,
        ),
        bars(
            "Rotations that worked, by signal",
            "Of the rotates sent in this time, the share after which the pattern had ended within "
            f"three turns. {ALL_AGENTS}",
            now(
                f"""(sum by (signal) ({grown(rotations, 'outcome="ended"')})
                or 0 * sum by (signal) ({grown(rotations)}))
                / (sum by (signal) ({grown(rotations, 'outcome!="run_over"')}) > 0)""",
                "{{signal}}",
            ),
            unit="percentunit",
            at=WORKED,
            min=0,
            max=1,
            no_value="no rotates",
        ),
        bars(
            "Answers after forced commits",
            "Forced commits in this time, by where the answer is from: a model, the history, or "
            f"nowhere. {ALL_AGENTS}",
            now(
                f"sum by (source) ({grown('source:sidecar_forced_commits:increase5m')})",
                "{{source}}",
            ),
            unit="none",
            min=0,
            decimals=0,
            no_value="no forced commits",
            colors={"model": GREEN, "history": YELLOW, "none": RED},
        ),
    ]


def _money() -> list[Any]:
    left = "le:sidecar_commit_budget_left_ratio_bucket:increase5m"
    return [
        stacked(
            "Tokens per minute, by model",
            "Input and output tokens that agents reported, cached input included.",
            over_time(f"sum by (model) ({chosen(TOKENS, PAID)}) / 5", "{{model}}"),
            unit="short",
        ),
        lines(
            "Cost per hour, by agent",
            "What an hour costs at the pace of the last five minutes, as agents report it.",
            over_time(f"12 * sum by (agent) ({chosen(COST)})", "{{agent}}"),
            unit="currencyUSD",
            min=0,
        ),
        bars(
            "Budget left at commit",
            "Runs with a limit (turns, input tokens or cost) by the share of it that was left when "
            "they were first told to commit: at most 0, 5 %, 10 % and so on. Low bars say that the "
            f"sidecar spoke late, high ones that it saved money. {ALL_AGENTS}",
            now(f"sum by (le) ({grown(left)})", "{{le}}").format(PromQueryFormat.HEATMAP),
            unit="none",
            min=0,
            decimals=0,
        ),
        lines(
            "Turns per minute, by agent",
            "Turns that were counted. A line that ends is an agent that fell silent.",
            over_time(f"sum by (agent) ({chosen(TURNS)}) / 5", "{{agent}}"),
            unit="opm",
            min=0,
        ),
        lines(
            "Tokens per turn, by model",
            "A rise without a change of the task often means that context is carried along unused.",
            over_time(
                f"sum by (model) ({chosen(TOKENS, PAID)}) / (sum by (model) ({chosen(TURNS)}) > 0)",
                "{{model}}",
            ),
            unit="short",
            min=0,
        ),
        lines(
            "Input read from a cache",
            "Share of the input tokens that came from a model's cache, which costs less.",
            over_time(
                f"""sum by (model) ({chosen(TOKENS, 'type="cache_read"')})
                / (sum by (model) ({chosen(TOKENS, 'type="input"')}) > 0)""",
                "{{model}}",
            ),
            unit="percentunit",
            min=0,
            max=1,
        ),
    ]
