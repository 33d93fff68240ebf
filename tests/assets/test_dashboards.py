"""The dashboards: what is shipped is what the code makes, and it asks for what there is."""

import json
import re
from collections.abc import Mapping
from typing import Any

import jq
import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard as sdk
from grafana_foundation_sdk.models import units

from grafana.src import rows
from grafana.src.board import FLEET, SESSION, SIDECAR
from grafana.src.queries import CHOSEN, INFINITY, labels, select
from grafana.src.render import FOLDER, rendered
from grafana.src.session_turns import explore
from sidecar.adapters.semconv import METRICS
from sidecar.adapters.semconv import attributes as span_names
from sidecar.signals import SIGNALS
from tests.assets.dashboard_lint import selectors
from tests.observability.dashboards import (
    NAMES,
    VARIABLES,
    filled,
    load,
    panels,
    queries,
    table_of,
    variables_of,
)
from tests.observability.programs import GRAFANA

BOARDS = {name: load(name) for name in NAMES}
UIDS = {"fleet": FLEET, "session": SESSION, "sidecar": SIDECAR}
SCHEMA_VERSION = 41
"""Of Grafana 11.6, as the SDK made for it has it."""
KINDS = {"prometheus", INFINITY, "tempo", "loki"}
UNITS = {value for name, value in vars(units).items() if name[0].isupper()}
BUILT_IN = {"__rate_interval", "__range", "__url_time_range", "__data"}
RECORDED = set(
    re.findall(
        r"record: (\S+)",
        "".join(path.read_text(encoding="utf-8") for path in GRAFANA.glob("rules/*.yaml")),
    )
)


ALL_AGENTS = "All agents count, whichever is chosen."
EVERY_PANEL = [
    pytest.param(name, panel, id=f"{name}: {panel['title']}")
    for name, board in BOARDS.items()
    for panel in panels(board)
]


# What is shipped


def test_what_is_shipped_is_what_the_code_makes() -> None:
    made = rendered()
    shipped = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert shipped.keys() == made.keys()
    for name, text in made.items():
        assert shipped[name] == text, f"{name}: run `python -m grafana.src`"


@pytest.mark.parametrize("name", NAMES)
def test_a_dashboard_survives_the_types_of_the_sdk(name: str) -> None:
    register_default_plugins()
    board = BOARDS[name]
    again = json.loads(JSONEncoder().encode(sdk.Dashboard.from_json(board)))
    assert again == board


def test_all_have_one_version_of_the_schema_and_the_uids_by_which_they_link() -> None:
    assert {board["schemaVersion"] for board in BOARDS.values()} == {SCHEMA_VERSION}
    assert {name: board["uid"] for name, board in BOARDS.items()} == UIDS
    for board in BOARDS.values():
        assert board["tags"] == ["agent-sidecar"]
        numbers = [panel["id"] for panel in board["panels"]]
        assert numbers == list(range(1, len(numbers) + 1))


def test_no_two_panels_overlap_and_rows_are_full() -> None:
    for board in BOARDS.values():
        taken: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            at = panel["gridPos"]
            assert at["x"] + at["w"] <= 24
            cells = {
                (x, y)
                for x in range(at["x"], at["x"] + at["w"])
                for y in range(at["y"], at["y"] + at["h"])
            }
            assert not cells & taken, panel["title"]
            taken |= cells


# Panels


@pytest.mark.parametrize(("board", "panel"), EVERY_PANEL)
def test_a_panel_says_what_it_shows_in_a_unit_of_a_source_that_there_is(
    board: str, panel: Mapping[str, Any]
) -> None:
    assert panel["title"] and panel["description"].endswith(".")
    sources = {
        f"${{{each['name']}}}": each["query"]
        for each in BOARDS[board]["templating"]["list"]
        if each["type"] == "datasource"
    }
    assert set(sources.values()) <= KINDS
    for holder in (panel, *panel["targets"]):
        assert sources[holder["datasource"]["uid"]] == holder["datasource"]["type"]
    if panel["type"] != "logs":
        defaults = panel["fieldConfig"]["defaults"]
        assert defaults["unit"] in UNITS
        assert defaults["thresholds"]["steps"]
        own = [each for over in panel["fieldConfig"]["overrides"] for each in over["properties"]]
        assert {each["value"] for each in own if each["id"] == "unit"} <= UNITS


@pytest.mark.parametrize(("board", "panel"), EVERY_PANEL)
def test_a_panel_uses_the_variables_of_its_dashboard(board: str, panel: Mapping[str, Any]) -> None:
    known = {each["name"] for each in BOARDS[board]["templating"]["list"]} | BUILT_IN
    assert variables_of(json.dumps(panel)) <= known


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_is_used(name: str) -> None:
    board = BOARDS[name]
    used = variables_of(json.dumps([board["panels"], board["links"], board["templating"]]))
    assert {each["name"] for each in board["templating"]["list"]} <= used


def test_an_override_names_a_column_that_there_is() -> None:
    for query in queries(INFINITY):
        columns = {column["text"] for column in query.target["columns"]}
        named = {over["matcher"]["options"] for over in query.panel["fieldConfig"]["overrides"]}
        assert named <= columns, query.id


def test_a_link_leads_to_a_dashboard_and_takes_along_columns_that_there_are() -> None:
    seen = set()
    for name, board in BOARDS.items():
        for panel in panels(board):
            for url in re.findall(r'"(?:url)": "(/d/[^"]+)"', json.dumps(panel)):
                uid = url.split("/")[2]
                seen.add((name, uid))
                assert uid in UIDS.values()
                target = next(key for key, value in UIDS.items() if value == uid)
                known = {each["name"] for each in BOARDS[target]["templating"]["list"]}
                assert set(re.findall(r"var-(\w+)=", url)) <= known
                text = json.dumps(panel)
                for column in re.findall(r"__data\.fields\.(\w+)", url):
                    assert f'"{column}"' in text or column == "instance"
    assert seen == {("fleet", SESSION), ("fleet", SIDECAR), ("fleet", FLEET)}


@pytest.mark.parametrize("name", NAMES)
def test_a_link_takes_along_every_variable_that_both_dashboards_have_and_a_time(name: str) -> None:
    variables = {board["uid"]: names_of(board) for board in BOARDS.values()}
    for link in BOARDS[name]["links"]:
        assert link.get("url", "").startswith("/explore") or (
            link["includeVars"] and link["keepTime"]
        )
    for panel in panels(BOARDS[name]):
        for url in re.findall(r'"url": "(/d/[^"]+)"', json.dumps(panel)):
            passed = re.findall(r"var-(\w+)=", url) + re.findall(r"\{(\w+):queryparam\}", url)
            assert len(passed) == len(set(passed))
            assert variables[url.split("/")[2]] & names_of(BOARDS[name]) <= set(passed)
            assert "${__url_time_range}" in url or {"from", "to"} <= set(
                re.findall(r"&(\w+)=", url)
            )


def names_of(board: Mapping[str, Any]) -> set[str]:
    return {each["name"] for each in board["templating"]["list"]}


def test_what_is_asked_of_explore_is_json_once_it_is_decoded() -> None:
    url = explore('{ span.a = "${session}" }')
    panes = json.loads(
        re.sub(r"%([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), url.split("panes=")[1])
    )
    assert panes["a"]["queries"][0]["query"] == '{ span.a = "${session}" }'


# Prometheus


@pytest.mark.parametrize(
    "panel",
    [each for each in panels(BOARDS["fleet"]) if each["datasource"]["type"] == "prometheus"],
    ids=lambda panel: str(panel["title"]),
)
def test_a_panel_that_no_choice_of_an_agent_changes_says_so(panel: Mapping[str, Any]) -> None:
    by_agent = any("$agent" in target["expr"] for target in panel["targets"])
    assert by_agent != panel["description"].endswith(ALL_AGENTS)


def test_the_sidecars_that_are_down_come_first() -> None:
    (panel,) = [
        each for each in panels(BOARDS["fleet"]) if each["title"] == "Sidecars that need a look"
    ]
    assert panel["options"]["sortBy"] == [
        {"displayName": "Up", "desc": False},
        {"displayName": "Failed open", "desc": True},
    ]


def test_no_panel_compares_the_sidecars_clock_with_that_of_prometheus() -> None:
    for query in queries("prometheus"):
        assert not re.search(r"\b(time|timestamp)\s*\(|_start_time_", query.expr), query


@pytest.mark.parametrize("query", queries("prometheus"), ids=lambda query: query.id)
def test_a_query_reads_series_that_there_are_by_labels_that_they_have(query: Any) -> None:
    for selector in selectors(query.expr):
        name = str(selector.name)
        if ":" in name:
            assert name in RECORDED
        known = labels(name)
        assert {each.name for each in selector.matchers.matchers} <= known


@pytest.mark.parametrize("query", queries("prometheus"), ids=lambda query: query.id)
def test_a_series_that_any_target_may_have_is_read_of_sidecars_only(query: Any) -> None:
    """All jobs are chosen at first: without it a node exporter counts as a sidecar that is up."""
    for selector in selectors(query.expr):
        if not str(selector.name).startswith("sidecar_") and ":" not in str(selector.name):
            jobs = [m.value for m in selector.matchers.matchers if m.name == "job"]
            assert "agent-sidecar" in jobs, selector.name


@pytest.mark.parametrize("query", queries("prometheus"), ids=lambda query: query.id)
def test_two_sidecars_of_one_address_in_two_clusters_are_told_apart(query: Any) -> None:
    """A match on the address alone is an error of Prometheus there, and the panel is empty."""
    for matched in re.findall(r"\bon \(([^)]*)\)", query.expr):
        assert {"cluster", "namespace", "job"} <= set(matched.split(", "))


def test_fleet_draws_what_it_adds_up_and_no_rate_which_misses_what_a_counter_was_born_with() -> (
    None
):
    exprs = {query.expr for query in queries("prometheus") if query.board == "fleet"}
    assert exprs
    assert {expr for expr in exprs if re.search(r":rate\d|\brate\(|\birate\(", expr)} == set()


def test_no_query_names_a_session() -> None:
    for query in queries("prometheus"):
        assert "session_id" not in query.expr and "${session" not in query.expr


def test_a_selector_holds_the_variables_whose_labels_the_series_has() -> None:
    everywhere = 'cluster=~"$cluster", namespace=~"$namespace", job=~"$job"'
    assert select("sidecar_runs_total", 'directive="halt"') == (
        f'sidecar_runs_total{{{everywhere}, instance=~"$instance", agent=~"$agent", '
        'policy=~"$policy", directive="halt"}'
    )
    assert select("agent_model:sidecar_turns:increase5m", by=CHOSEN) == (
        f'agent_model:sidecar_turns:increase5m{{{everywhere}, agent=~"$agent", model=~"$model"}}'
    )
    assert select("sidecar_ready", by=["job"]) == 'sidecar_ready{job=~"$job"}'
    with pytest.raises(KeyError):
        select("sidecar_nonsense_total")


def test_every_metric_that_counts_agents_directives_or_signals_can_be_chosen_by_policy() -> None:
    by_policy = {metric.name for metric in METRICS if "policy" in metric.labels}
    assert {"sidecar_decisions_total", "sidecar_runs_total"} <= by_policy


# The JSON API


def test_every_expression_of_jq_compiles_and_takes_an_empty_answer() -> None:
    for query in queries(INFINITY):
        program = jq.compile(filled(query.target["root_selector"], {**VARIABLES, "session": "a"}))
        empty = {
            "session": {"open_time": "2026-01-01T00:00:00Z", "active_time": "2026-01-01T00:00:00Z"}
        }
        for row in program.input_value(empty).all():
            assert table_of(query.target, [row])


def test_each_signal_has_a_column_of_its_own_in_the_session_dashboard() -> None:
    panel = next(
        panel
        for panel in panels(BOARDS["session"])
        if panel["title"] == "Signals against their thresholds"
    )
    (target,) = panel["targets"]
    keys = [column["selector"] for column in target["columns"]]
    assert keys == ["time", *(signal.name for signal in SIGNALS)]


def test_a_variable_in_jq_is_encoded_since_a_name_may_have_a_quote() -> None:
    for query in queries(INFINITY):
        formats = re.findall(r"\$\{\w+:?(\w*)\}", query.target["root_selector"])
        assert set(formats) <= {"percentencode"}


def test_tripped_is_nowhere_said_to_be_told_to_end() -> None:
    said = {
        panel["title"]: panel["description"] for board in BOARDS.values() for panel in panels(board)
    }
    for title in ("Sessions by state", "State"):
        assert "told to rotate, to commit or to halt" in said[title]


def test_the_list_of_sessions_is_read_from_the_api_and_has_the_latest_active_first() -> None:
    (variable,) = [
        each for each in BOARDS["session"]["templating"]["list"] if each["name"] == "session"
    ]
    query = variable["query"]["infinityQuery"]
    assert query["url"] == rows.SESSIONS
    answer = {
        "sessions": [
            {"session_id": f"run-{number}", "active_time": f"2026-01-01T0{number}:00:00Z"}
            for number in (1, 2)
        ]
    }
    found = jq.compile(query["root_selector"]).input_value(answer).all()
    assert table_of(query, found) == [{"run": "run-2"}, {"run": "run-1"}]


# Tempo and Loki


def test_spans_are_asked_for_by_documented_names() -> None:
    documented = {
        value
        for name, value in vars(span_names).items()
        if name.isupper() and isinstance(value, str)
    }
    asked = queries("tempo")
    assert asked
    for query in asked:
        text = query.target["query"]
        attributes = set(re.findall(r"span\.([\w.]+) ", text))
        assert span_names.CONVERSATION_ID in attributes
        assert attributes <= documented
        assert set(re.findall(r'name = "([^"]+)"', text)) <= documented


def test_log_lines_are_asked_for_by_the_service_and_the_session() -> None:
    (query,) = queries("loki")
    assert query.expr == '{service_name="agent-sidecar"} |= "${session}"'
