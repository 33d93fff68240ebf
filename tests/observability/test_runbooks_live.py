"""The commands of the runbooks work: each is run against a real sidecar and a real Prometheus.

A query says something beside agents at work, or is known to be quiet while all is well; that its
names are right is held by tests/assets/test_runbooks.py.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.assets.test_runbooks import QUERY
from tests.observability.conftest import Observed
from tests.observability.dashboards import ask_now
from tests.observability.programs import GRAFANA, wait_for

pytestmark = pytest.mark.observability

BLOCK: Final = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITHIN_S: Final = 120.0
RUNBOOKS: Final = sorted((GRAFANA / "runbooks").glob("*.md"))
ASKS: Final = "promtool query instant"

QUIET: Final[Mapping[str, str]] = {
    "sidecar_fail_open": "every turn has its decision",
    "sidecar_client_fail_open_total": "every turn has its decision",
    "sidecar_agent_fail_open_total": "every turn has its decision",
    "sidecar_decisions_slow": "no decision is slow",
    "process_start_time_seconds": "the sidecar was started once",
    "[1h]) == 0": "the sidecar was never away",
    "unless": "every target is a sidecar",
    "sidecar_lost_total": "nothing is lost",
    "MODEL_": "no bound on models is met",
}
"""What is in queries that have no value but 0 while all is well, and why."""


def aimed(command: str, observed: Observed) -> str:
    """The command with this test's addresses in place of the default ones."""
    addresses = observed.busy.sidecar.addresses
    places = {
        "http://localhost:9090": observed.prometheus.base,
        "localhost:9464": addresses["telemetry_address"],
        "localhost:9465": addresses["admin_http_address"],
    }
    for default, own in places.items():
        command = command.replace(default, own)
    return command


def environment(observed: Observed) -> dict[str, str]:
    addresses = observed.busy.sidecar.addresses
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SIDECAR_AGENT_ADDRESS": addresses["agent_address"],
        "SIDECAR_ADMIN_ADDRESS": addresses["admin_address"],
        "COLUMNS": "200",
    }


@pytest.mark.parametrize("path", RUNBOOKS, ids=lambda path: path.stem)
def test_each_command_of_the_runbook_works(observed: Observed, path: Path) -> None:
    blocks = BLOCK.findall(path.read_text("utf-8"))
    assert blocks
    for block in blocks:
        command = f"set -euo pipefail\n{aimed(block, observed)}"
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            env=environment(observed),
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
        if ASKS not in block:
            assert done.stdout.strip(), f"{block} says nothing"


QUERIES: Final = sorted(
    {query for path in RUNBOOKS for query in QUERY.findall(path.read_text("utf-8"))}
)


def is_quiet(query: str) -> bool:
    return any(part in query for part in QUIET)


def test_what_is_listed_as_quiet_is_asked_by_a_runbook() -> None:
    assert [part for part in QUIET if not any(part in query for query in QUERIES)] == []


@pytest.mark.parametrize("query", [query for query in QUERIES if not is_quiet(query)])
def test_a_query_of_a_runbook_says_more_than_nothing(observed: Observed, query: str) -> None:
    def found() -> list[Any]:
        answers = ask_now(observed.prometheus, query)
        return [each for each in answers if abs(float(each["value"][1])) > 0]  # and is a number

    assert wait_for(found, query)
