"""Every panel has data beside a real sidecar with agents at work, or is known to be quiet."""

import html
import json
import urllib.error
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from grafana.src.queries import INFINITY
from sidecar.signals import SIGNALS
from tests.observability.conftest import JOB, Observed
from tests.observability.dashboards import (
    NAMES,
    Query,
    ask,
    filled,
    load,
    panels,
    queries,
    rows_of,
    sessions_of,
    table_of,
)
from tests.observability.fleet import VISITOR
from tests.observability.programs import free_port, prometheus, shipped_config, wait_for
from tests.observability.sheet import Asking, page

pytestmark = pytest.mark.observability

QUIET: Final[Mapping[str, str]] = {
    "sidecar: Turns missing and sessions let go B": (
        "sessions leave memory an hour after their last sign of life, or where too many are held"
    ),
    "sidecar: Verdicts per minute B": "no judge is configured by default",
}
"""Queries without any series while all is well, and why."""

QUIET_COLUMNS: Final[Mapping[str, str]] = {
    "drift": "the agents of the fleet have no plan from which they could drift",
    "circling": "no judge is configured by default",
    "actor": "the agents of the fleet have no subagents",
}
"""Columns that stay empty beside this fleet, and why."""

SETTLED: Final = (
    "job_state:sidecar_sessions:sum",
    "agent:sidecar_runs_tripped:ratio_increase1h",
    "agent_policy_directive:sidecar_runs:increase5m",
    "agent_model:sidecar_cost_usd:increase5m",
    "le:sidecar_commit_budget_left_ratio_bucket:increase5m",
)
"""Recorded series of each group that panels read."""


@pytest.fixture(scope="module")
def settled(observed: Observed) -> Observed:
    """The recording rules have been evaluated over what the fleet did."""
    for name in SETTLED:
        observed.prometheus.wait(name)
    return observed


def known_quiet(query: Query) -> Any:
    reason = QUIET.get(query.id)
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
    return pytest.param(query, marks=marks, id=query.id)


def test_what_is_listed_as_quiet_is_a_query() -> None:
    assert set(QUIET) <= {query.id for query in queries("prometheus")}


@pytest.mark.parametrize("query", [known_quiet(each) for each in queries("prometheus")])
def test_a_query_of_prometheus_has_data(settled: Observed, query: Query) -> None:
    found = ask(settled.prometheus, query)
    if not found and query.id not in QUIET:
        found = wait_for(lambda: ask(settled.prometheus, query), query.id)
    assert found


@pytest.mark.usefixtures("programs")
def test_where_every_sidecar_is_down_none_is_up_or_ready_and_that_is_known(tmp_path: Path) -> None:
    asked = [
        query
        for query in queries("prometheus")
        if query.panel["title"] in ("Sidecars ready", "Up", "Ready")
    ]
    assert len(asked) == 3
    with prometheus(tmp_path, shipped_config({JOB: [f"127.0.0.1:{free_port()}"]})) as alone:
        alone.wait(f'up{{job="{JOB}"}} == 0')
        for query in asked:
            assert [each["value"][1] for each in ask(alone, query)] == ["0"], query.id


def test_the_variables_have_values(settled: Observed) -> None:
    for name in ("fleet", "sidecar"):
        for variable in load(name)["templating"]["list"]:
            if variable["type"] != "query":
                continue
            series, _, label = (
                filled(variable["query"]).removeprefix("label_values(").rpartition(", ")
            )
            path = f"label/{label.removesuffix(')')}/values"
            body = settled.prometheus.read(path, {"match[]": series})
            assert body, variable["name"]


def test_exemplars_lead_to_traces(settled: Observed) -> None:
    (query,) = [each for each in queries("prometheus") if each.target.get("exemplar")]
    found = wait_for(lambda: settled.prometheus.exemplars(filled(query.expr)), "exemplars")
    sent = {span.span.trace_id.hex() for span in settled.busy.spans.wait_for(1)}
    traces = {each["labels"]["trace_id"] for series in found for each in series["exemplars"]}
    assert traces & sent


# The JSON API


@pytest.fixture(scope="module")
def sessions(settled: Observed) -> list[str]:
    """The sessions that the sidecar holds, once one of each kind is over."""
    return wait_for(
        lambda: held if f"{VISITOR}-2" in (held := sessions_of(settled.busy.api)) else [],
        "sessions",
    )


def of_sessions(query: Query, sessions: list[str]) -> list[str]:
    return sessions if "${session" in query.target["url"] else [""]


@pytest.mark.parametrize("query", queries(INFINITY), ids=lambda query: query.id)
def test_a_request_of_the_api_has_data_in_every_column(
    settled: Observed, sessions: list[str], query: Query
) -> None:
    rows = [
        row
        for session in of_sessions(query, sessions)
        for row in rows_of(settled.busy.api, query.target, session=session)
    ]
    assert rows
    for column in query.target["columns"]:
        key = column["selector"]
        if key not in {signal.name for signal in SIGNALS}:
            assert all(key in row for row in rows), f"{key} is not in what jq makes"
        values = [row[key] for row in rows if row.get(key) not in (None, "")]
        assert bool(values) != (key in QUIET_COLUMNS), key
        for value in values:
            assert is_of_type(value, column["type"]), (key, value)


def is_of_type(value: object, kind: str) -> bool:
    """Whether Infinity can make a field of that type of it."""
    match kind:
        case "number":
            return isinstance(value, int | float) or str(value).lstrip("-").isdecimal()
        case "timestamp":
            return bool(datetime.fromisoformat(str(value)))
        case _:
            return isinstance(value, str)


def test_the_variables_of_the_fleet_choose_among_its_sessions(settled: Observed) -> None:
    (query,) = [each for each in queries(INFINITY) if each.panel["title"].startswith("Runs, ")]
    agents = quote(f"{{none,{VISITOR}}}", safe="")
    text = json.dumps(dict(query.target)).replace("${agent:percentencode}", agents)
    chosen = json.loads(text)
    found = table_of(chosen, rows_of(settled.busy.api, chosen))
    assert {row["Agent"] for row in found} == {VISITOR}


def test_the_list_of_sessions_is_that_of_the_api(settled: Observed, sessions: list[str]) -> None:
    (variable,) = [
        each for each in load("session")["templating"]["list"] if each["name"] == "session"
    ]
    query = variable["query"]["infinityQuery"]
    found = {row["run"] for row in table_of(query, rows_of(settled.busy.api, query))}
    assert set(sessions) <= found


def test_a_session_that_is_not_held_is_refused_in_words(settled: Observed) -> None:
    query = next(each for each in queries(INFINITY) if "${session" in each.target["url"])
    with pytest.raises(urllib.error.HTTPError) as refused:
        rows_of(settled.busy.api, query.target, session="nobody's")
    with refused.value as answer:
        assert json.loads(answer.read())["reason"] == "SESSION_NOT_FOUND"


# The contact sheet


@pytest.mark.parametrize("name", NAMES)
def test_every_panel_is_drawn(settled: Observed, sessions: list[str], name: str) -> None:
    asking = Asking(settled.prometheus, settled.busy, seconds=60)
    text, height = page(asking, name)
    titles = [panel["title"] for panel in panels(load(name))]
    assert [title for title in titles if html.escape(title) not in text] == []
    assert height > 0
