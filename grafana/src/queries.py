"""What panels ask: PromQL held to the dashboards' variables, and Infinity's requests."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from grafana_foundation_sdk.builders import loki, prometheus, tempo
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.runtime import UnknownDataquery
from grafana_foundation_sdk.cog.variants import Dataquery
from grafana_foundation_sdk.models.dashboard import DataSourceRef
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from sidecar.adapters.semconv import METRICS

INFINITY: Final = "yesoreyeram-infinity-datasource"
PROMETHEUS_SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${prometheus_datasource}")
INFINITY_SOURCE: Final = DataSourceRef(type_val=INFINITY, uid="${infinity_datasource}")
TEMPO_SOURCE: Final = DataSourceRef(type_val="tempo", uid="${tempo_datasource}")
LOKI_SOURCE: Final = DataSourceRef(type_val="loki", uid="${loki_datasource}")

PLACE: Final = ("cluster", "namespace", "job")
"""Labels that every series has, recorded ones too."""
CHOSEN: Final = (*PLACE, "instance", "agent", "model", "policy")
"""Labels that a dashboard's variables of the same name choose by."""

JOB: Final = "agent-sidecar"
"""The name of the scrape job, by which rules and alerts know a sidecar too."""
_EVERYBODYS: Final = ("up", "process_", "python_")
"""What the names begin with of series that other targets of the same Prometheus have as well: where
all jobs are chosen, a panel of sidecars would show these others."""

_LABELS: Final = {metric.name: metric.labels for metric in METRICS}
_PARTS: Final = ("_bucket", "_sum", "_count")


def select(name: str, *matchers: str, by: Iterable[str] = CHOSEN) -> str:
    """The series of a metric or a recorded one that the variables choose, and the matchers.

    Which variables hold follows from its labels: those of the inventory, or of a recorded series
    those of the level that its name begins with. `by` are the variables that the dashboard has.
    """
    chosen = [f'{label}=~"${label}"' for label in CHOSEN if label in by and label in labels(name)]
    own = [f'job="{JOB}"'] if name.startswith(_EVERYBODYS) else []
    return f"{name}{{{', '.join([*chosen, *own, *matchers])}}}"


def labels(name: str) -> frozenset[str]:
    """The labels of a series, those of its target included. Raises KeyError where it is none of
    the inventory."""
    level, colon, _ = name.partition(":")
    if colon:
        return frozenset((*PLACE, *level.split("_")))
    if name in ("up", "ALERTS"):
        return frozenset((*PLACE, "instance"))
    return frozenset((*PLACE, "instance", *_LABELS[_family(name)]))


def _family(name: str) -> str:
    for part in _PARTS:
        if name.removesuffix(part) in _LABELS:
            return name.removesuffix(part)
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Builder[Dataquery]):
    """One query of a panel; its letter is given to it by the panel."""

    query: Any

    def build(self) -> Dataquery:
        """The query as the SDK has it."""
        built: Dataquery = self.query.build() if hasattr(self.query, "build") else self.query
        return built


def over_time(expr: str, legend: str = "", *, exemplars: bool = False) -> prometheus.Dataquery:
    """A query over the dashboard's time range, a line for each series."""
    return _prometheus(expr, legend).range().exemplar(exemplars)


def now(expr: str, legend: str = "") -> prometheus.Dataquery:
    """A query at the end of the time range."""
    return _prometheus(expr, legend).instant()


def now_as_table(expr: str) -> prometheus.Dataquery:
    """The same, labels as columns."""
    return _prometheus(expr, "").instant().format(PromQueryFormat.TABLE)


def as_heatmap(expr: str) -> prometheus.Dataquery:
    """Buckets over time, by `le`, with exemplars."""
    return over_time(expr, "{{le}}", exemplars=True).format(PromQueryFormat.HEATMAP)


def _prometheus(expr: str, legend: str) -> prometheus.Dataquery:
    query = prometheus.Dataquery().expr(" ".join(expr.split())).datasource(PROMETHEUS_SOURCE)
    return query.legend_format(legend) if legend else query


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A field of an Infinity frame."""

    key: str
    """Of the objects that the jq expression yields."""
    name: str
    kind: str = "string"
    """string, number, timestamp or boolean."""

    @property
    def json(self) -> Mapping[str, str]:
        """As Infinity has it."""
        return {"selector": self.key, "text": self.name, "type": self.kind}


def from_api(path: str, jq: str, columns: Iterable[Column]) -> Asked:
    """A GET of the sidecar's JSON API, its answer shaped by a jq expression into rows.

    The data source has the sidecar's address; the path is appended to it.
    """
    return Asked(
        query=UnknownDataquery(
            {
                "datasource": {"type": INFINITY_SOURCE.type_val, "uid": INFINITY_SOURCE.uid},
                "type": "json",
                "parser": "jq-backend",
                "source": "url",
                "format": "table",
                "url": path,
                "url_options": {"method": "GET", "data": ""},
                "root_selector": " ".join(jq.split()),
                "columns": [column.json for column in columns],
                "computed_columns": [],
                "filters": [],
                "global_query_id": "",
            }
        )
    )


def traces(query: str) -> tempo.TempoQuery:
    """Spans by TraceQL."""
    return tempo.TempoQuery().query_type("traceql").query(query).limit(200).datasource(TEMPO_SOURCE)


def log_lines(expr: str) -> loki.Dataquery:
    """Log lines by LogQL."""
    return loki.Dataquery().expr(expr).query_type("range").max_lines(500).datasource(LOKI_SOURCE)
