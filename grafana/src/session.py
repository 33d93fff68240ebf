"""Session: one run, from its first turn to where it stands."""

from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models import dashboard as model

from grafana.src import rows
from grafana.src.board import FLEET, SESSION, Row, board, source
from grafana.src.panels import (
    API,
    BLUE,
    DIRECTIVE_COLORS,
    GREEN,
    RED,
    STATE_COLORS,
    YELLOW,
    bars,
    grid,
    lines,
    log_panel,
    named,
    points,
    stat_panel,
    timeline,
)
from grafana.src.queries import (
    INFINITY_SOURCE,
    LOKI_SOURCE,
    TEMPO_SOURCE,
    Column,
    from_api,
    log_lines,
    traces,
)
from grafana.src.session_turns import TIME, explore, of_session, turns
from sidecar.adapters.semconv import attributes as names
from sidecar.signals import SIGNALS

TRACE: Final = f'{{ span.{names.CONVERSATION_ID} = "${{session}}" }}'
"""The session's spans: the sidecar's, and where it says so the agent's own."""
TRIPPED_TRACE: Final = (
    f'{{ name = "{names.TURN_SPAN}" && span.{names.CONVERSATION_ID} = "${{session}}"'
    f' && span.{names.DIRECTIVE} != "proceed" }}'
)
LOGS: Final = '{service_name="agent-sidecar"} |= "${session}"'

FULL: Final = ((None, GREEN), (0.8, YELLOW), (0.95, RED))
LEFT: Final = ((None, RED), (0.1, YELLOW), (0.3, GREEN))


def session() -> build.Dashboard:
    """The dashboard."""
    return board(
        uid=SESSION,
        title="Agent sidecar / Session",
        description="One run: its turns, its state, what each signal measured, what was decided "
        "and "
        "why. Reads the JSON API of the sidecar that holds the session, through the Infinity data "
        "source; the last 1,000 turns. Spans are read from Tempo and log lines from Loki, where "
        "there are any.",
        since="now-6h",
        variables=[source("infinity"), source("tempo"), source("loki"), _sessions()],
        links=[
            build.DashboardLink("Trace")
            .type(model.DashboardLinkType.LINK)
            .icon("external link")
            .tooltip("The session's spans in Tempo")
            .url(explore(TRACE))
            .target_blank(True),
            build.DashboardLink("Fleet")
            .type(model.DashboardLinkType.LINK)
            .icon("dashboard")
            .url(f"/d/{FLEET}/fleet")
            .include_vars(True)
            .keep_time(True),
        ],
        rows=[
            Row(title="The run", panels=_run()),
            Row(title="How it went", panels=_course()),
            Row(title="Turn by turn", panels=turns()),
            Row(title="Spans and log lines", panels=_elsewhere()),
        ],
    )


def _sessions() -> build.QueryVariable:
    query = from_api(rows.SESSIONS, rows.NAMES, [Column(key="run", name="run")])
    return (
        build.QueryVariable("session")
        .label("Session")
        .description("The 1,000 opened last of the sessions in memory, the latest active first.")
        .datasource(INFINITY_SOURCE)
        .query(
            {
                "queryType": "infinity",
                "query": "",
                "infinityQuery": {**query.query.data, "refId": "variable"},
            }
        )
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.DISABLED)
    )


def _run() -> list[Any]:
    small: dict[str, Any] = {"span": 3, "height": 4, **API}
    texts = named({**STATE_COLORS, **DIRECTIVE_COLORS})
    return [
        stat_panel(
            "State",
            "Where the breaker stands: healthy, warning, tripped (beyond a limit, for which a run "
            "is told to rotate, to commit or to halt), or recovery.",
            of_session(rows.RUN, Column(key="state", name="State")),
            unit="string",
            fields="/^State$/",
            **small,
        ).mappings(texts),
        stat_panel(
            "Told last",
            "The last directive that was not a plain proceed.",
            of_session(rows.RUN, Column(key="directive", name="Told")),
            unit="string",
            fields="/^Told$/",
            **small,
        ).mappings(texts),
        _number("Turns", "Turns that were counted.", "turns", "none", **small),
        _number("Input tokens", "Cached ones included.", "input_tokens", "short", **small),
        _number(
            "Output tokens", "Tokens that the model produced.", "output_tokens", "short", **small
        ),
        _number(
            "Cost", "US dollars, as the agent reported them.", "cost_usd", "currencyUSD", **small
        ),
        bars(
            "Budget left",
            "Share of each limit of the run that is left. A run without limits has none.",
            of_session(
                rows.BUDGETS,
                Column(key="limit", name="Limit"),
                Column(key="left", name="Left", kind="number"),
            ),
            unit="percentunit",
            at=LEFT,
            rows=True,
            min=0,
            max=1,
            no_value="no limits",
            span=6,
            height=4,
            **API,
        ),
        grid(
            "Who and when",
            "The run's agent, model and policy, and when it was opened, last active and ended.",
            of_session(
                rows.RUN,
                Column(key="agent", name="Agent"),
                Column(key="model", name="Model"),
                Column(key="policy", name="Policy"),
                Column(key="mode", name="Mode"),
                Column(key="opened", name="Opened", kind="timestamp"),
                Column(key="active", name="Active", kind="timestamp"),
                Column(key="ended", name="Ended"),
                Column(key="previous", name="Goes on from"),
            ),
            span=24,
            height=3,
            **API,
        ),
    ]


def _number(title: str, description: str, key: str, unit: str, **more: Any) -> Any:
    query = of_session(rows.RUN, Column(key=key, name=title, kind="number"))
    decimals = 2 if unit == "currencyUSD" else 0
    return stat_panel(title, description, query, unit=unit, decimals=decimals, **more)


def _course() -> list[Any]:
    signals = [Column(key=each.name, name=each.name, kind="number") for each in SIGNALS]
    return [
        timeline(
            "State over time",
            "The breaker after each turn, and after what was done to the run from outside.",
            of_session(rows.STATES, TIME, Column(key="state", name="State")),
            mappings=named(STATE_COLORS),
            span=24,
            height=4,
            **API,
        ),
        points(
            "Signals against their thresholds",
            "What each signal measured in a turn as a share of the threshold that it is held "
            "against, the nearest one while none is met: at 1 it is. The plan alignment of drift "
            "is held against a minimum: it is drawn as far from 1 as from that, on the other "
            "side. Where a signal measured nothing, as the loop of a new call, it has no point; of "
            "a run with subagents a point is of the one whose turn it was. The numbers of those "
            "that were met are in the table of readings.",
            of_session(rows.SHARES, TIME, *signals),
            unit="percentunit",
            at=((None, GREEN), (1.0, RED)),
            min=0,
            span=12,
            **API,
        ),
        lines(
            "Context fill",
            "Share of the model's context window that was full after each turn, where the agent "
            "reports both.",
            of_session(rows.TURNS, TIME, Column(key="context", name="Context", kind="number")),
            unit="percentunit",
            at=FULL,
            min=0,
            max=1,
            span=6,
            **API,
        ),
        bars(
            "Tool mix",
            "Calls of each tool; of one turn the first 16 are known.",
            of_session(
                rows.TOOLS,
                Column(key="tool", name="Tool"),
                Column(key="calls", name="Calls", kind="number"),
            ),
            unit="none",
            at=((None, BLUE),),
            rows=True,
            min=0,
            decimals=0,
            no_value="no tool calls",
            span=6,
            **API,
        ),
    ]


def _elsewhere() -> list[Any]:
    return [
        grid(
            "Spans",
            "The session's spans in Tempo: the sidecar's own, and those of the agent that say the "
            "conversation's id. A click on a trace opens it.",
            traces(TRACE),
            source=TEMPO_SOURCE,
            span=12,
            height=6,
        ),
        grid(
            "Turns that were answered with more than proceed",
            f"The spans {names.TURN_SPAN} of this session with a directive.",
            traces(TRIPPED_TRACE),
            source=TEMPO_SOURCE,
            span=12,
            height=6,
        ),
        log_panel(
            "Log lines",
            "What the sidecar logged that names the session. It logs changes of its own state, not "
            "turns, so there are few.",
            log_lines(LOGS),
            source=LOKI_SOURCE,
            span=24,
            height=5,
        ),
    ]
