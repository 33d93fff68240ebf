"""The dashboards keep the rules of dashboard-linter, but for what their .lint file leaves out."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
import yaml

from grafana.src.render import FOLDER
from tests.assets.dashboard_lint import BOARD_RULES, PANEL_RULES, Board, faults, is_excluded
from tests.observability.dashboards import NAMES, load, panels

CONFIG = yaml.safe_load((FOLDER / ".lint").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_a_dashboard_keeps_the_rules(name: str) -> None:
    assert [each for each in faults(load(name)) if not is_excluded(each, CONFIG)] == []


def test_each_exclusion_is_needed_and_has_a_reason() -> None:
    found = [each for name in NAMES for each in faults(load(name))]
    for rule, excluded in CONFIG["exclusions"].items():
        assert excluded["reason"]
        for entry in excluded["entries"]:
            boards = [each.board for each in found if each.rule == rule]
            assert entry["dashboard"] in boards, (rule, entry)


def first(board: Board, kind: str = "prometheus") -> Any:
    return next(each for each in panels(board) if each["targets"][0]["datasource"]["type"] == kind)


def variable(board: Board, name: str) -> Any:
    return next(each for each in board["templating"]["list"] if each["name"] == name)


BROKEN: Mapping[str, Any] = {
    "template-datasource-rule": lambda b: variable(b, "prometheus_datasource").update(name="ds"),
    "template-job-rule": lambda b: variable(b, "job").update(multi=False),
    "template-instance-rule": lambda b: variable(b, "instance").update(allValue=".*"),
    "template-label-promql-rule": lambda b: variable(b, "job").update(query="job"),
    "template-on-time-change-reload-rule": lambda b: variable(b, "job").update(refresh=1),
    "uneditable-dashboard": lambda b: b.update(editable=True),
    "panel-datasource-rule": lambda b: first(b).update(datasource={"uid": "mine"}),
    "panel-title-description-rule": lambda b: first(b).pop("description"),
    "panel-units-rule": lambda b: first(b)["fieldConfig"]["defaults"].update(unit="parrots"),
    "panel-no-targets-rule": lambda b: first(b).update(targets=[]),
    "target-logql-rule": lambda b: lokis(b, "{} nonsense"),
    "target-logql-auto-rule": lambda b: lokis(b, 'rate({a="b"} | json [5m])'),
    "target-promql-rule": lambda b: asks(b, 'sum(up{job=~"$job"'),
    "target-rate-interval-rule": lambda b: asks(b, 'rate(a_total{job=~"$job"}[5m])'),
    "target-job-rule": lambda b: asks(b, 'up{instance=~"$instance"}'),
    "target-instance-rule": lambda b: asks(b, 'up{job=~"$job"}'),
    "target-counter-agg-rule": lambda b: asks(b, 'sum(a_total{job=~"$job"})'),
}


def asks(board: Board, expr: str) -> None:
    first(board)["targets"][0]["expr"] = expr


def lokis(board: Board, expr: str) -> None:
    first(board)["targets"].append({"datasource": {"type": "loki"}, "expr": expr})


def test_every_rule_is_broken_below() -> None:
    assert set(BROKEN) == {*BOARD_RULES, *PANEL_RULES}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_rule_finds_what_breaks_it(rule: str) -> None:
    board = deepcopy(load("sidecar"))
    BROKEN[rule](board)
    assert list(faults(load("sidecar"), rule)) == []
    assert list(faults(board, rule)) != []
