"""The queries of the runbooks ask for what there is.

That they are answered is held by tests/observability/test_runbooks_live.py. An empty answer, which
is right while all is well, is also what a misspelt name would bring.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final

import promql_parser
import pytest

from grafana.src.queries import JOB, labels
from sidecar.adapters.telemetry.build import EXPORTER
from sidecar.adapters.telemetry.process_metrics import SPAN
from sidecar.adapters.telemetry.wording import STRENGTH_NAMES, severity_name
from sidecar.config.keys import Config, bounds
from sidecar.core.reading import Reading, Severity
from sidecar.refusal import Reason
from tests.assets.dashboard_lint import nodes, selectors
from tests.deploy.manifests import GRAFANA, ROOT

COMMAND: Final = "promtool query instant "
QUERY: Final = re.compile(re.escape(COMMAND) + r"\S+ \\\n *'([^']+)'")
RUNBOOKS: Final = sorted(GRAFANA.glob("runbooks/*.md"))
QUERIES: Final = [
    pytest.param(query, id=f"{path.stem}: {query}")
    for path in RUNBOOKS
    for query in QUERY.findall(path.read_text("utf-8"))
]

_STORE: Final = ROOT / "sidecar" / "adapters" / "sqlite_store"
_LOST: Final = {
    what
    for path in _STORE.glob("*.py")
    for what in re.findall(r'_lost\("(\w+)"', path.read_text("utf-8"))
}
"""What the store gives up; no type has the names."""

VALUES: Final[Mapping[str, frozenset[str]]] = {
    "job": frozenset({JOB}),
    "bound": frozenset(bounds(Config())),
    "component": frozenset({EXPORTER}),
    "directive": frozenset(STRENGTH_NAMES.values()),
    "reason": frozenset(reason.value for reason in Reason),
    "severity": frozenset(
        severity_name(Reading(severity=severity, notice=notice))
        for severity, notice in product(Severity, (True, False))
    ),
    "what": frozenset({SPAN, *_LOST}),
}
"""The values of each label that a runbook chooses by."""


def mistakes(query: str) -> set[str]:
    """Names and values in a query that no series has.

    Raises KeyError for an unknown series, and for a label whose values are not known here.
    """
    known: set[str] = set()
    found: set[str] = set()
    for selector in selectors(query):
        name = str(selector.name)
        own = labels(name) | ({"le"} if name.endswith("_bucket") else set())
        known |= own
        for matcher in selector.matchers.matchers:
            if matcher.name not in own:
                found.add(f"{name} has no {matcher.name}")
            else:
                found.update(_unknown(matcher))
    return found | {f"no series has {label}" for label in _grouped(query) if label not in known}


def _unknown(matcher: Any) -> Iterator[str]:
    is_pattern = matcher.op in (promql_parser.MatchOp.Re, promql_parser.MatchOp.NotRe)
    for each in matcher.value.split("|") if is_pattern else [re.escape(matcher.value)]:
        if not any(re.fullmatch(each, value) for value in VALUES[matcher.name]):
            yield f"no {matcher.name} is {each}"


def _grouped(query: str) -> Iterator[str]:
    """The labels that results are grouped or matched by."""
    for node in nodes(query):
        match node:
            case promql_parser.AggregateExpr() if node.modifier:
                yield from node.modifier.labels
            case promql_parser.BinaryExpr() if node.modifier and node.modifier.matching:
                yield from node.modifier.matching.labels
            case _:
                pass


def test_every_query_of_a_runbook_is_read_here() -> None:
    asked = sum(path.read_text("utf-8").count(COMMAND) for path in RUNBOOKS)
    assert asked == len(QUERIES) > len(RUNBOOKS)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_asks_for_series_labels_and_values_that_there_are(query: str) -> None:
    assert mistakes(query) == set()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('up{jobb="agent-sidecar"}', "up has no jobb"),
        ('sum(rate(sidecar_readings_total{severity="brake"}[5m]))', "no severity is brake"),
        ('sidecar_lost_total{what=~"journal|snapshots"}', "no what is snapshots"),
        ("sum by (instance, resaon) (sidecar_refused_total)", "no series has resaon"),
        ("up unless on (instanc) sidecar_build_info", "no series has instanc"),
    ],
)
def test_what_would_always_be_answered_with_nothing_is_found(wrong: str, said: str) -> None:
    assert mistakes(wrong) == {said}


def test_a_series_that_nobody_exposes_is_found() -> None:
    with pytest.raises(KeyError):
        mistakes("sidecar_decision_total")
