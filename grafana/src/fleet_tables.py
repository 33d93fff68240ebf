"""Tables of the dashboard Fleet: who needs a look, and the ways down."""

from typing import Any, Final

from grafana_foundation_sdk.models.dashboard import DataTransformerConfig

from grafana.src import rows
from grafana.src.board import FLEET, SESSION, SIDECAR
from grafana.src.fleet_series import (
    ALL_AGENTS,
    COST,
    PAID,
    RUNS,
    SHARE,
    TOKENS,
    TRIPPED,
    chosen,
    grown,
)
from grafana.src.panels import (
    API,
    DIRECTIVE_COLORS,
    GREEN,
    RED,
    STATE_COLORS,
    YELLOW,
    grid,
)
from grafana.src.queries import PLACE, Column, from_api, now_as_table

_ITSELF: Final = (*PLACE, "instance")
"""What tells one sidecar from another: two clusters may have pods of one address."""

TO_SESSION: Final = (
    f"/d/{SESSION}/session?var-session=${{__data.fields.Run:percentencode}}"
    "&${infinity_datasource:queryparam}&from=${__data.fields.From}&to=${__data.fields.To}"
)
TO_SIDECAR: Final = (
    f"/d/{SIDECAR}/sidecar?"
    + "".join(f"var-{label}=${{__data.fields.{label}:percentencode}}&" for label in _ITSELF)
    + "${prometheus_datasource:queryparam}&${__url_time_range}"
)
TO_AGENT: Final = (
    f"/d/{FLEET}/fleet?var-agent=${{__data.fields.Agent:percentencode}}"
    + "".join(f"&${{{name}:queryparam}}" for name in (*PLACE, "model", "policy"))
    + "&${prometheus_datasource:queryparam}&${infinity_datasource:queryparam}&${__url_time_range}"
)
_HIDDEN: Final = {"custom.hidden": True}


def offenders() -> list[Any]:
    """The row of tables."""
    return [_agents(), _sidecars(), _offenders_of_one(), _runs_of_one()]


def _agents() -> Any:
    queries = [
        now_as_table(
            f"topk(20, sum by (agent) ({grown(RUNS, TRIPPED)}) or 0 * sum by (agent) "
            f"({grown(RUNS)}))"
        ),
        now_as_table(f"sum by (agent) ({grown(RUNS)})"),
        now_as_table(f"sum by (agent) ({grown(TOKENS, PAID)})"),
        now_as_table(f"sum by (agent) ({grown(COST)})"),
    ]
    names = {
        "agent": "Agent",
        "Value #A": "Tripped",
        "Value #B": "Runs",
        "Value #C": "Tokens",
        "Value #D": "Cost",
    }
    return grid(
        "Agents with the most tripped runs",
        "All sidecars together: runs of this time that were told to commit or to halt, beside all "
        "runs of the agent, its tokens and its cost. By agent only, since Prometheus has no runs "
        "by model; the top offenders below have them, of one sidecar. A click on an agent chooses "
        "it.",
        *queries,
        span=12,
        height=8,
        decimals=0,
        transformations=[
            DataTransformerConfig(id_val="merge", options={}),
            DataTransformerConfig(
                id_val="organize",
                options={
                    "excludeByName": {"Time": True},
                    "indexByName": {name: place for place, name in enumerate(names)},
                    "renameByName": names,
                },
            ),
        ],
        fields_by_name={
            "Agent": {"links": [{"title": "Only this agent", "url": TO_AGENT}]},
            "Cost": {"unit": "currencyUSD", "decimals": 2},
        },
        sort={"Tripped": True},
        no_value="no runs were tripped",
    )


def _sidecars() -> Any:
    failed = chosen("instance:sidecar_fail_open:ratio_rate5m")
    late = chosen("instance:sidecar_decision_duration_seconds:p99_5m")
    each = f"max by ({', '.join(_ITSELF)})"
    queries = [
        now_as_table(f"{each} ({chosen('up')})"),
        now_as_table(f"topk(20, {each} ({failed}))"),
        now_as_table(f"topk(20, {each} ({late}))"),
        now_as_table(f"topk(20, {each} ({chosen('process_resident_memory_bytes')}))"),
    ]
    names = {
        "instance": "instance",
        "cluster": "cluster",
        "namespace": "namespace",
        "job": "job",
        "Value #A": "Up",
        "Value #B": "Failed open",
        "Value #C": "p99 decision",
        "Value #D": "Memory",
    }
    share = {
        "mode": "absolute",
        "steps": _json_steps(((None, GREEN), (0.001, YELLOW), (0.01, RED))),
    }
    slow = {"mode": "absolute", "steps": _json_steps(((None, GREEN), (0.05, YELLOW), (0.2, RED)))}
    colored = {"type": "color-text"}
    return grid(
        "Sidecars that need a look",
        "Sidecars that are down, then those with the highest share of turns that went on without a "
        "decision, beside the slowest decisions and the most memory. A click opens the dashboard "
        f"of that sidecar. {ALL_AGENTS}",
        *queries,
        span=12,
        height=8,
        transformations=[
            DataTransformerConfig(id_val="merge", options={}),
            DataTransformerConfig(
                id_val="organize",
                options={
                    "excludeByName": {"Time": True},
                    "indexByName": {name: place for place, name in enumerate(names)},
                    "renameByName": names,
                },
            ),
        ],
        fields_by_name={
            "instance": {
                "displayName": "Sidecar",
                "links": [{"title": "This sidecar", "url": TO_SIDECAR}],
            },
            "cluster": {"displayName": "Cluster"},
            "namespace": {"displayName": "Namespace"},
            "job": _HIDDEN,
            "Up": {
                "mappings": _json_mappings({"0": ("down", RED), "1": ("up", GREEN)}),
                "custom.cellOptions": colored,
            },
            "Failed open": {
                "unit": "percentunit",
                "thresholds": share,
                "custom.cellOptions": colored,
            },
            "p99 decision": {"unit": "s", "thresholds": slow, "custom.cellOptions": colored},
            "Memory": {"unit": "bytes"},
        },
        sort={"Up": False, "Failed open": True},
    )


def _json_steps(pairs: Any) -> list[dict[str, Any]]:
    return [{"value": value, "color": color} for value, color in pairs]


def _json_mappings(texts: dict[str, tuple[str, str]]) -> list[dict[str, Any]]:
    results = {
        value: {"text": text, "color": color, "index": index}
        for index, (value, (text, color)) in enumerate(texts.items())
    }
    return [{"type": "value", "options": results}]


_RUN_LINK: Final = {"links": [{"title": "This run", "url": TO_SESSION}]}
_STATES: Final = {
    "mappings": _json_mappings({name: (name, color) for name, color in STATE_COLORS.items()}),
    "custom.cellOptions": {"type": "color-text"},
}
_DIRECTIVES: Final = {
    "mappings": _json_mappings({name: (name, color) for name, color in DIRECTIVE_COLORS.items()}),
    "custom.cellOptions": {"type": "color-text"},
}


def _offenders_of_one() -> Any:
    columns = [
        Column(key="agent", name="Agent"),
        Column(key="model", name="Model"),
        Column(key="runs", name="Runs", kind="number"),
        Column(key="tripped", name="Tripped", kind="number"),
        Column(key="warned", name="Warned", kind="number"),
        Column(key="share", name="Share", kind="number"),
        Column(key="turns", name="Turns", kind="number"),
        Column(key="tokens", name="Tokens", kind="number"),
        Column(key="cost_usd", name="Cost", kind="number"),
        Column(key="run", name="Run"),
        Column(key="from", name="From"),
        Column(key="to", name="To"),
    ]
    return grid(
        "Top offenders by agent and model",
        "From the JSON API of one sidecar, that of the Infinity data source: the latest 1,000 of "
        "the sessions in memory, by agent and model, those with tripped runs first. Tripped were "
        "told last to "
        "commit or to halt, warned to rotate; in mode observe they would have been. Run is the "
        "worst of them, and a click opens it.",
        from_api(rows.SESSIONS, rows.OFFENDERS, columns),
        span=24,
        height=8,
        decimals=0,
        fields_by_name={
            "Run": _RUN_LINK,
            "From": _HIDDEN,
            "To": _HIDDEN,
            "Cost": {"unit": "currencyUSD", "decimals": 2},
            "Share": {
                "unit": "percentunit",
                "displayName": "Share tripped",
                "thresholds": {"mode": "absolute", "steps": _json_steps(SHARE)},
                "custom.cellOptions": {"type": "color-text"},
            },
        },
        **API,
    )


def _runs_of_one() -> Any:
    columns = [
        Column(key="run", name="Run"),
        Column(key="agent", name="Agent"),
        Column(key="model", name="Model"),
        Column(key="policy", name="Policy"),
        Column(key="state", name="State"),
        Column(key="directive", name="Told last"),
        Column(key="reason", name="Why"),
        Column(key="turns", name="Turns", kind="number"),
        Column(key="input_tokens", name="Input tokens", kind="number"),
        Column(key="cost_usd", name="Cost", kind="number"),
        Column(key="active", name="Active", kind="timestamp"),
        Column(key="ended", name="Ended"),
        Column(key="from", name="From"),
        Column(key="to", name="To"),
    ]
    return grid(
        "Runs, the open and the tripped ones first",
        "From the JSON API of one sidecar: at most 50 of the 1,000 opened last of the "
        "sessions in memory; those still open first, then by state, the latest active before "
        "others. A click on a run opens it.",
        from_api(rows.SESSIONS, rows.RUNS, columns),
        span=24,
        height=10,
        decimals=0,
        fields_by_name={
            "Run": _RUN_LINK,
            "State": _STATES,
            "Told last": _DIRECTIVES,
            "Why": {"custom.width": 420},
            "Cost": {"unit": "currencyUSD", "decimals": 2},
            "Active": {"unit": "dateTimeFromNow"},
            "From": _HIDDEN,
            "To": _HIDDEN,
        },
        **API,
    )
