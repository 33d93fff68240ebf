"""The rules of github.com/grafana/dashboard-linter, as its commit 4d0844b of 2026 has them.

The linter itself is a Go program whose module is not in the public module proxy, so its rules are
written out here. Built from a clone of its repository (commit 1be3836, the last before it knew
dashboards of version 2, which none is here), it found the same in the three dashboards. A rule
yields what it finds wrong; grafana/dashboards/.lint, in the linter's own form, says what is left
out and why. LogQL is not parsed: its two rules hold that a query has a stream selector with a
matcher and no range, for which nothing else is checked.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import promql_parser
from grafana_foundation_sdk.models import units

from tests.observability.dashboards import filled, panels

Board = Mapping[str, Any]
Panel = Mapping[str, Any]

RATE_INTERVAL: Final = "47m"
"""Filled in for $__rate_interval, so that it can be told from a range that somebody wrote."""
VARIABLES: Final = {
    **dict.fromkeys(["cluster", "namespace", "job", "instance", "agent", "model", "policy"], ".+"),
    "__rate_interval": RATE_INTERVAL,
    "__range": "53m",
}
UNITS: Final = {value for name, value in vars(units).items() if name[0].isupper()}
WITH_TEXT: Final = {"stat", "singlestat", "graph", "table-old", "timeseries", "gauge"}
WITH_QUERIES: Final = {"singlestat", "gauge", "table", "stat", "state-timeline", "timeseries"}
RATES: Final = {"rate", "irate"}
COUNTED: Final = {"rate", "irate", "increase"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What a rule finds."""

    rule: str
    board: str
    panel: str
    text: str


def faults(board: Board, *rules: str) -> Iterator[Fault]:
    """What rules, by default all, find in a dashboard, with nothing left out."""
    for name in rules or (*BOARD_RULES, *PANEL_RULES):
        if name in BOARD_RULES:
            for text in BOARD_RULES[name](board):
                yield Fault(rule=name, board=board["title"], panel="", text=text)
            continue
        for panel in panels(board):
            for text in PANEL_RULES[name](board, panel):
                title = panel.get("title", "")
                yield Fault(rule=name, board=board["title"], panel=title, text=text)


def is_excluded(fault: Fault, config: Mapping[str, Any]) -> bool:
    """Whether the linter's configuration leaves it out."""
    excluded = config["exclusions"].get(fault.rule)
    if excluded is None:
        return False
    return any(
        each.get("dashboard") == fault.board and each.get("panel", fault.panel) == fault.panel
        for each in excluded["entries"]
    )


def variables(board: Board, kind: str) -> list[Mapping[str, Any]]:
    """The dashboard's variables of a type."""
    return [each for each in board["templating"]["list"] if each["type"] == kind]


def _is_of_prometheus(board: Board) -> bool:
    return [each["query"] for each in variables(board, "datasource")][:1] == ["prometheus"]


def template_datasource(board: Board) -> Iterator[str]:
    sources = variables(board, "datasource")
    if not sources:
        yield "no variable for a data source"
    for each in sources:
        kind = each["query"]
        names = {f"{kind}_datasource"} | ({"datasource"} if len(sources) == 1 else set())
        labels = {f"{kind.title()} data source"}
        labels |= {"Data source"} if len(sources) == 1 else set()
        if each["name"] not in names:
            yield f"{each['name']}: to be named one of {sorted(names)}"
        if each["label"] not in labels:
            yield f"{each['label']}: to be labelled one of {sorted(labels)}"


def _template(name: str) -> Callable[[Board], Iterator[str]]:
    def rule(board: Board) -> Iterator[str]:
        if not _is_of_prometheus(board):
            return
        found = [each for each in board["templating"]["list"] if each["name"] == name]
        wanted = {"type": "query", "label": name.title(), "multi": True, "allValue": ".+"}
        if not found:
            yield f"no variable {name}"
        for each in found:
            if each["datasource"]["uid"] not in ("${datasource}", "${prometheus_datasource}"):
                yield f"{name} is of another data source"
            for key, value in wanted.items():
                if each.get(key) != value:
                    yield f"{key} of {name} is {each.get(key)!r}, not {value!r}"

    return rule


def template_label_promql(board: Board) -> Iterator[str]:
    for each in variables(board, "query") if _is_of_prometheus(board) else ():
        match = re.fullmatch(
            r"(label_names|label_values|metrics|query_result)\((.+)\)", str(each["query"])
        )
        if not match:
            yield f"{each['name']}: {each['query']}"
            continue
        series, _, label = match[2].rpartition(", ")
        selectors(series)
        if label != each["name"]:
            yield f"{each['name']} asks for {label}"


def template_reload(board: Board) -> Iterator[str]:
    for each in variables(board, "query"):
        if each["refresh"] != 2:
            yield f"{each['name']} is not read again with another time range"


def uneditable(board: Board) -> Iterator[str]:
    if board["editable"]:
        yield "it can be edited"


def panel_datasource(board: Board, panel: Panel) -> Iterator[str]:
    known = {f"${{{each['name']}}}" for each in variables(board, "datasource")}
    if panel["datasource"]["uid"] not in known:
        yield f"data source {panel['datasource']}"


def panel_title_description(_: Board, panel: Panel) -> Iterator[str]:
    if not panel.get("title") or not panel.get("description"):
        yield "no title or no description"


def panel_units(_: Board, panel: Panel) -> Iterator[str]:
    if panel["type"] not in WITH_TEXT or panel["fieldConfig"]["defaults"].get("mappings"):
        return
    unit = panel["fieldConfig"]["defaults"].get("unit")
    if unit not in UNITS:
        yield f"unit {unit!r}"


def panel_no_targets(_: Board, panel: Panel) -> Iterator[str]:
    if not panel.get("targets"):
        yield "no query"


def target_promql(board: Board, panel: Panel) -> Iterator[str]:
    if _is_of_prometheus(board) and panel["type"] in WITH_QUERIES:
        for target in panel["targets"]:
            if not target.get("expr"):
                yield f"no expression, of whatever data source: {target['datasource']['type']}"
    for expr in _expressions(board, panel):
        try:
            promql_parser.parse(expr)
        except ValueError as error:
            yield f"{expr}: {error}"


def target_logql(_: Board, panel: Panel) -> Iterator[str]:
    for target in panel["targets"]:
        expr = target.get("expr", "")
        if target["datasource"]["type"] == "loki" and not re.match(r'\{\w+=~?"[^"]+"\} \|', expr):
            yield expr


def target_logql_auto(_: Board, panel: Panel) -> Iterator[str]:
    for target in panel["targets"]:
        if target["datasource"]["type"] == "loki" and re.search(
            r"\[(?!\$__auto\])", target["expr"]
        ):
            yield target["expr"]


def target_rate_interval(board: Board, panel: Panel) -> Iterator[str]:
    for expr in _expressions(board, panel):
        for call in calls(expr):
            ranges = [each for each in call.args if isinstance(each, promql_parser.MatrixSelector)]
            for each in ranges if call.func.name in RATES else []:
                if promql_parser.display_duration(each.range) != RATE_INTERVAL:
                    yield f"{call.func.name} of another interval: {expr}"


def _matched(label: str) -> Callable[[Board, Panel], Iterator[str]]:
    def rule(board: Board, panel: Panel) -> Iterator[str]:
        if not _is_of_prometheus(board):
            return
        for target in _of_prometheus(panel):
            for selector in selectors(target["expr"]):
                if f'{label}=~"${label}"' not in _matchers(target["expr"], selector):
                    yield f"{selector.name} without {label}: {target['expr']}"

    return rule


def target_counter_agg(board: Board, panel: Panel) -> Iterator[str]:
    for expr in _expressions(board, panel):
        counted = {
            each.vector_selector.name
            for call in calls(expr)
            if call.func.name in COUNTED
            for each in call.args
            if isinstance(each, promql_parser.MatrixSelector)
        }
        for selector in selectors(expr):
            if str(selector.name).endswith("_total") and selector.name not in counted:
                yield f"{selector.name} is a counter: {expr}"


def _expressions(_: Board, panel: Panel) -> Iterator[str]:
    for target in _of_prometheus(panel):
        yield filled(target["expr"], VARIABLES)


def _of_prometheus(panel: Panel) -> Iterator[Mapping[str, Any]]:
    for target in panel["targets"]:
        if target["datasource"]["type"] == "prometheus":
            yield target


@functools.cache
def nodes(expr: str) -> list[Any]:
    """All nodes of a PromQL expression, variables filled in. Raises ValueError."""
    found: list[Any] = []
    promql_parser.walk(promql_parser.parse(filled(expr, VARIABLES)), found.append)
    return found


def selectors(expr: str) -> list[promql_parser.VectorSelector]:
    """Those of a PromQL expression, of vectors and of ranges."""
    found = {
        id(each): each for each in nodes(expr) if isinstance(each, promql_parser.VectorSelector)
    }
    for each in nodes(expr):
        if isinstance(each, promql_parser.MatrixSelector):
            found[id(each)] = each.vector_selector
    return list(found.values())


def calls(expr: str) -> list[promql_parser.Call]:
    """The calls of functions in a PromQL expression."""
    return [each for each in nodes(expr) if isinstance(each, promql_parser.Call)]


def _matchers(expr: str, selector: promql_parser.VectorSelector) -> str:
    """The text of a selector's matchers as it stands in the query, variables and all."""
    found = re.search(rf"\b{re.escape(str(selector.name))}\{{([^}}]*)\}}", expr)
    return found[1] if found else ""


BOARD_RULES: Final[Mapping[str, Callable[[Board], Iterator[str]]]] = {
    "template-datasource-rule": template_datasource,
    "template-job-rule": _template("job"),
    "template-instance-rule": _template("instance"),
    "template-label-promql-rule": template_label_promql,
    "template-on-time-change-reload-rule": template_reload,
    "uneditable-dashboard": uneditable,
}
PANEL_RULES: Final[Mapping[str, Callable[[Board, Panel], Iterator[str]]]] = {
    "panel-datasource-rule": panel_datasource,
    "panel-title-description-rule": panel_title_description,
    "panel-units-rule": panel_units,
    "panel-no-targets-rule": panel_no_targets,
    "target-logql-rule": target_logql,
    "target-logql-auto-rule": target_logql_auto,
    "target-promql-rule": target_promql,
    "target-rate-interval-rule": target_rate_interval,
    "target-job-rule": _matched("job"),
    "target-instance-rule": _matched("instance"),
    "target-counter-agg-rule": target_counter_agg,
}
