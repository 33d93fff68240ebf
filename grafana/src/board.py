"""What the three dashboards share: variables, links, annotations, and the order of their panels."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models import dashboard as model

from grafana.src.queries import (
    INFINITY,
    PROMETHEUS_SOURCE,
    select,
)

TAG: Final = "agent-sidecar"
FLEET, SESSION, SIDECAR = "sidecar-fleet", "sidecar-session", "sidecar-itself"
"""The dashboards' uids, by which they link to each other."""

SOURCES: Final = {
    "prometheus": ("prometheus_datasource", "Prometheus data source", "prometheus"),
    "infinity": ("infinity_datasource", "Infinity data source (a sidecar's JSON API)", INFINITY),
    "tempo": ("tempo_datasource", "Tempo data source", "tempo"),
    "loki": ("loki_datasource", "Loki data source", "loki"),
}

ANY: Final = ".*"
"""All, of a label that a series may lack: `cluster` where nobody sets it."""
SOME: Final = ".+"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Panels under a heading."""

    title: str
    panels: Sequence[Any]


def board(
    *,
    uid: str,
    title: str,
    description: str,
    since: str,
    variables: Iterable[Any],
    rows: Iterable[Row],
    links: Iterable[Any] = (),
) -> build.Dashboard:
    """A dashboard. Its panels are numbered in their order."""
    made = (
        build.Dashboard(title)
        .uid(uid)
        .description(" ".join(description.split()))
        .tags([TAG])
        .readonly()
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .time(since, "now")
        .refresh("30s")
        .timezone("browser")
        .variables(list(variables))
        .links([*links, _siblings()])
    )
    numbers = itertools.count(1)
    for row in rows:
        made = made.with_row(build.Row(row.title).id(next(numbers)))
        for panel in row.panels:
            made = made.with_panel(panel.id(next(numbers)))
    return made


def _siblings() -> build.DashboardLink:
    return (
        build.DashboardLink("Agent sidecar")
        .type(model.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(True)
        .include_vars(True)
        .keep_time(True)
    )


def source(name: str) -> build.DatasourceVariable:
    """The variable that chooses a data source of a kind."""
    variable, label, kind = SOURCES[name]
    return build.DatasourceVariable(variable).label(label).type(kind)


def chosen(
    name: str,
    label: str,
    metric: str,
    *,
    within: Sequence[str] = (),
    all_value: str = SOME,
    description: str = "",
) -> build.QueryVariable:
    """A variable by the values of a label, as far as the variables `within` leave any."""
    series = select(metric, by=within)
    return (
        build.QueryVariable(name)
        .label(label)
        .description(description)
        .datasource(PROMETHEUS_SOURCE)
        .query(f"label_values({series}, {name})")
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(all_value)
        .current(model.VariableOption(selected=True, text=["All"], value=["$__all"]))
    )


def places() -> list[Any]:
    """Where: a cluster, a namespace, a job of the scrape config."""
    up = "sidecar_ready"
    return [
        chosen("cluster", "Cluster", up, all_value=ANY),
        chosen("namespace", "Namespace", up, within=["cluster"], all_value=ANY),
        chosen("job", "Job", up, within=["cluster", "namespace"]),
    ]


def agents() -> list[Any]:
    """Whose: an agent's name, its model, the policy it runs under."""
    within = ["cluster", "namespace", "job"]
    return [
        chosen("agent", "Agent", "sidecar_turns_total", within=within),
        chosen("model", "Model", "sidecar_turns_total", within=[*within, "agent"]),
        chosen(
            "policy",
            "Policy",
            "sidecar_policy_info",
            within=within,
            description="Holds for runs and directives, which are counted by policy.",
        ),
    ]
