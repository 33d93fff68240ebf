"""Panels of the dashboard Session that go turn by turn."""

from typing import Any, Final
from urllib.parse import quote

from grafana.src import rows
from grafana.src.panels import (
    API,
    DIRECTIVE_COLORS,
    SEVERITY_COLORS,
    STATE_COLORS,
    grid,
)
from grafana.src.queries import Asked, Column, from_api
from sidecar.adapters.semconv import attributes as names

DECISION_TRACE: Final = f'{{ span.{names.DECISION_ID} = "${{__data.fields.Decision}}" }}'
TIME: Final = Column(key="time", name="Time", kind="timestamp")


def of_session(jq: str, *columns: Column) -> Asked:
    """What a jq expression makes of the session that is chosen."""
    return from_api(rows.SESSION, jq, columns)


def explore(query: str) -> str:
    """The address of Explore with a TraceQL query; what is in `${}` stays to be filled in."""
    escaped = query.replace('"', '\\"')
    pane = (
        '{"a":{"datasource":"${tempo_datasource}","queries":[{"refId":"A","queryType":"traceql",'
        f'"query":"{escaped}"}}],"range":{{"from":"now-7d","to":"now"}}}}}}'
    )
    return f"/explore?schemaVersion=1&panes={quote(pane, safe='${}_.:')}"


def _colored(colors: dict[str, str]) -> dict[str, Any]:
    results = {
        value: {"text": value, "color": color, "index": index}
        for index, (value, color) in enumerate(colors.items())
    }
    return {
        "mappings": [{"type": "value", "options": results}],
        "custom.cellOptions": {"type": "color-text"},
    }


_NARROW: Final = {"custom.width": 70}
_WHEN: Final = {"unit": "dateTimeAsIsoNoDateIfToday", "custom.width": 150}


def turns() -> list[Any]:
    """The row of tables."""
    return [
        grid(
            "Decisions and their reasons",
            "What the run was told other than to proceed, and what was done to it from outside; "
            "the "
            "decision's id leads to its span.",
            of_session(
                rows.DECISIONS,
                TIME,
                Column(key="turn", name="Turn", kind="number"),
                Column(key="cause", name="Cause"),
                Column(key="directive", name="Directive"),
                Column(key="signal", name="Signal"),
                Column(key="change", name="State"),
                Column(key="reason", name="Reason"),
                Column(key="decision", name="Decision"),
            ),
            span=24,
            height=6,
            no_value="it was left alone",
            fields_by_name={
                "Time": _WHEN,
                "Turn": _NARROW,
                "Cause": {"custom.width": 90},
                "Directive": {**_colored(dict(DIRECTIVE_COLORS)), "custom.width": 90},
                "Signal": {"custom.width": 130},
                "State": {"custom.width": 160},
                "Decision": {
                    "custom.width": 160,
                    "links": [
                        {
                            "title": "Its span",
                            "url": explore(DECISION_TRACE),
                            "targetBlank": True,
                        }
                    ],
                },
            },
            **API,
        ),
        grid(
            "Timeline of turns",
            "Each turn as the journal keeps it, without content: actor, tools, approach, the first "
            "error's "
            "fingerprint, files changed, lines, context, signals, and where the breaker went.",
            of_session(
                rows.TURNS,
                TIME,
                Column(key="turn", name="Turn", kind="number"),
                Column(key="actor", name="Actor"),
                Column(key="tools", name="Tools"),
                Column(key="approach", name="Approach"),
                Column(key="error", name="Error"),
                Column(key="files", name="Files", kind="number"),
                Column(key="lines", name="Lines", kind="number"),
                Column(key="context", name="Context", kind="number"),
                Column(key="signals", name="Signals"),
                Column(key="state", name="State"),
                Column(key="directive", name="Directive"),
                Column(key="rejected", name="Not counted"),
            ),
            span=14,
            height=9,
            fields_by_name={
                "Time": _WHEN,
                "Turn": _NARROW,
                "Files": _NARROW,
                "Lines": _NARROW,
                "Error": _NARROW,
                "Context": {"unit": "percentunit", "custom.width": 80},
                "State": {**_colored(dict(STATE_COLORS)), "custom.width": 90},
                "Directive": {**_colored(dict(DIRECTIVE_COLORS)), "custom.width": 90},
            },
            **API,
        ),
        grid(
            "Readings",
            "Every reading above none: what was measured, what it was held against, and the "
            "evidence.",
            of_session(
                rows.READINGS,
                TIME,
                Column(key="turn", name="Turn", kind="number"),
                Column(key="signal", name="Signal"),
                Column(key="severity", name="Severity"),
                Column(key="value", name="Value", kind="number"),
                Column(key="threshold", name="Threshold", kind="number"),
                Column(key="summary", name="Evidence"),
            ),
            span=10,
            height=9,
            no_value="no signal read above none",
            fields_by_name={
                "Time": {"custom.hidden": True},
                "Turn": _NARROW,
                "Signal": {"custom.width": 120},
                "Severity": {**_colored(dict(SEVERITY_COLORS)), "custom.width": 80},
                "Value": {"custom.width": 80},
                "Threshold": {"custom.width": 90},
            },
            **API,
        ),
        grid(
            "Approaches and rotations",
            "What was tried, in the agent's words, and the changes after a rotate.",
            of_session(
                rows.APPROACHES,
                Column(key="from", name="From turn", kind="number"),
                Column(key="to", name="To turn", kind="number"),
                Column(key="what", name="Approach"),
                Column(key="outcome", name="Outcome"),
            ),
            span=24,
            height=5,
            no_value="the agent names no approaches",
            **API,
        ),
    ]
