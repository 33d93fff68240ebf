"""Rules, alerts, scrape config and route, by the programs that read them."""

import re
import subprocess
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.observability.conftest import shipped_rules
from tests.observability.programs import GRAFANA, SCRAPE_CONFIG

pytestmark = [pytest.mark.observability, pytest.mark.usefixtures("programs")]

ROUTE: Final = GRAFANA / "alertmanager" / "alertmanager.yaml"
UNIT_TESTS: Final = sorted((GRAFANA / "alerts" / "tests").glob("*.yaml"))
WITHIN_S: Final = 400.0
"""More than a minute of work, on a machine that does other things as well."""


def run(*command: str | Path) -> str:
    """What it says; it has to end well."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_accepts_the_rules_and_the_scrape_config_that_loads_them() -> None:
    run("promtool", "check", "rules", *shipped_rules())
    said = run("promtool", "check", "config", SCRAPE_CONFIG)
    assert f"SUCCESS: {len(shipped_rules())} rule files found" in said


@pytest.fixture(scope="module")
def unit_tested(programs: None) -> Mapping[Path, Future[str]]:
    """What promtool says of each file of unit tests; some take half a minute, so two at a time."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        return {path: pool.submit(run, "promtool", "test", "rules", path) for path in UNIT_TESTS}


@pytest.mark.parametrize("path", UNIT_TESTS, ids=lambda path: path.stem)
def test_promtool_finds_each_alert_to_fire_at_its_threshold_and_to_resolve(
    unit_tested: Mapping[Path, Future[str]], path: Path
) -> None:
    assert "SUCCESS" in unit_tested[path].result()


def test_each_alert_is_tested_to_fire_and_not_to() -> None:
    fires: set[str] = set()
    quiet: set[str] = set()
    for path in UNIT_TESTS:
        for test in yaml.safe_load(path.read_text("utf-8"))["tests"]:
            for asked in test["promql_expr_test"]:
                for name in re.findall(r'ALERTS\{alertname="(\w+)"', asked["expr"]):
                    (fires if asked.get("exp_samples") else quiet).add(name)
    shipped = {
        rule["alert"]
        for path in GRAFANA.glob("alerts/*.yaml")
        for group in yaml.safe_load(path.read_text("utf-8"))["groups"]
        for rule in group["rules"]
    }
    assert fires == quiet == shipped


def test_amtool_accepts_the_route() -> None:
    assert "SUCCESS" in run("amtool", "check-config", ROUTE)


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        (["alertname=SidecarDown", "severity=critical"], "pager"),
        (["alertname=SidecarFailOpenBudgetBurnFast", "severity=critical"], "pager"),
        (["alertname=SidecarMemoryNearLimit", "severity=warning"], "tickets"),
        (["alertname=SidecarForcedCommitYieldLow", "severity=warning"], "tickets"),
        (["alertname=AgentSilent", "severity=warning"], "agent-owners"),
        (["alertname=ForcedCommitYieldLow", "severity=warning"], "agent-owners"),
    ],
)
def test_alerts_are_routed_by_severity_and_by_whose_they_are(
    labels: list[str], receiver: str
) -> None:
    said = run("amtool", "config", "routes", "test", f"--config.file={ROUTE}", *labels)
    assert said.strip() == receiver
