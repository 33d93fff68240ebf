"""The dashboards that are shipped, asked as Grafana would ask them."""

import json
import math
import re
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jq

from grafana.src.queries import INFINITY
from grafana.src.render import FOLDER
from tests.observability.programs import Prometheus, read

NAMES: Final = ("fleet", "session", "sidecar")

RATE_INTERVAL: Final = "15s"
"""Grafana takes at least four scrapes; here one takes a second."""
RANGE: Final = "1h"
STEP_S: Final = 5.0
FIVE_MINUTES_S: Final = 300

VARIABLES: Final[Mapping[str, str]] = {
    "cluster": ".*",
    "namespace": ".*",
    "job": ".+",
    "instance": ".+",
    "agent": ".+",
    "model": ".+",
    "policy": ".+",
    "__rate_interval": RATE_INTERVAL,
    "__range": RANGE,
}
"""What Grafana puts in where `All` is chosen."""

_USED: Final = re.compile(r"\$\{(\w+)(?::(\w+))?\}|\$(\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One query of a panel."""

    board: str
    panel: Mapping[str, Any]
    target: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Names it in a test's report."""
        return f"{self.board}: {self.panel['title']} {self.target['refId']}"

    @property
    def kind(self) -> str:
        """Type of its data source."""
        return str(self.target["datasource"]["type"])

    @property
    def expr(self) -> str:
        """PromQL or LogQL with nothing filled in."""
        return str(self.target["expr"])

    @property
    def is_instant(self) -> bool:
        """Whether it is asked for one moment only."""
        return bool(self.target.get("instant"))


def load(name: str) -> dict[str, Any]:
    """A dashboard's JSON as it is shipped."""
    board: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return board


def panels(board: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The panels, those of collapsed rows too, without the rows themselves."""
    for each in board["panels"]:
        if each["type"] == "row":
            yield from panels(each)
        else:
            yield each


def queries(*kinds: str) -> list[Query]:
    """All queries, of these kinds of data sources."""
    return [
        query
        for name in NAMES
        for panel in panels(load(name))
        for target in panel.get("targets", [])
        if (query := Query(board=name, panel=panel, target=target)).kind in kinds
    ]


def filled(text: str, values: Mapping[str, str] = VARIABLES) -> str:
    """The text with its variables filled in. Raises KeyError for one that is not known."""

    def value(match: re.Match[str]) -> str:
        name, form = match[1] or match[3], match[2]
        given = values[name]
        return urllib.parse.quote(given, safe="") if form == "percentencode" else given

    return _USED.sub(value, text)


def variables_of(text: str) -> set[str]:
    """Names of the variables that are used."""
    return {match[1] or match[3] for match in _USED.finditer(text)}


def ask(prometheus: Prometheus, query: Query, *, seconds: float = 120.0) -> list[dict[str, Any]]:
    """The series of a query: now, or over the last `seconds`."""
    expr = filled(query.expr)
    if query.is_instant:
        return ask_now(prometheus, expr)
    return prometheus.over(expr, seconds=seconds, step_s=STEP_S)


def ask_now(prometheus: Prometheus, expr: str) -> list[dict[str, Any]]:
    """The series of an expression now.

    What is added up in steps of five minutes is asked at the next of them: Prometheus puts the
    steps at whole multiples of five minutes, and none may have passed since it was started.
    """
    now_s = time.time()
    if ":5m]" in expr:
        now_s = math.ceil(now_s / FIVE_MINUTES_S) * FIVE_MINUTES_S
    data = prometheus.ask("query", query=expr, time=now_s)
    if data["resultType"] == "scalar":
        return [{"metric": {}, "value": data["result"]}]
    return list(data["result"])


def rows_of(api: str, target: Mapping[str, Any], *, session: str = "") -> list[dict[str, Any]]:
    """What Infinity makes of the API's answer to a query: the objects that its jq yields.

    Raises ValueError where the expression is wrong, HTTPError where the API refuses.
    """
    assert target["datasource"]["type"] == INFINITY
    values = {**VARIABLES, "session": session}
    document = json.loads(read(api + filled(target["url"], values)))
    program = jq.compile(filled(target["root_selector"], values))
    return list(program.input_value(document).all())


def table_of(target: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows under the names of their columns."""
    return [
        {
            column["text"]: _typed(row.get(column["selector"]), column)
            for column in target["columns"]
        }
        for row in rows
    ]


def _typed(value: Any, column: Mapping[str, str]) -> Any:
    """As Infinity makes a field of the column's type: the API writes long numbers as text."""
    return float(value) if column["type"] == "number" and isinstance(value, str) else value


def sessions_of(api: str) -> list[str]:
    """The ids of the sessions that are held."""
    answer = json.loads(read(f"{api}/v1/sessions?page_size=1000"))
    return [each["session_id"] for each in answer["sessions"]]
