"""Every alert fires and resolves at a real Alertmanager's webhooks, through faults that are real.

The rules are copies whose windows and `for` are divided by FACTOR (scripts/scale_rules.py); scrapes
and evaluations come each second. Each sidecar has a namespace of its own. An exporter of the test,
which serves the same metrics, makes the two slow burns only: they speak of less than six times the
budget over three days, and a real fault is either much worse or too rare to be measured in minutes.
Where no cgroup can be made, it makes the memory limit as well.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from sidecar.testing import FakeAnthropicServer, SidecarProcess
from sidecar.testing.model_script import Fail
from tests.observability import faults
from tests.observability.conftest import JOB, shipped_rules
from tests.observability.exporter import Objectives, exporter
from tests.observability.programs import (
    GRAFANA,
    ROOT,
    Prometheus,
    alertmanager,
    free_port,
    prometheus,
    shipped_config,
)
from tests.observability.receiver import Inbox, Told, webhook

pytestmark = pytest.mark.observability

FACTOR: Final = 60
HOUR_S: Final = 3600 / FACTOR
FIRE_WITHIN_S: Final = 240.0
RESOLVE_WITHIN_S: Final = 180.0
UNSCALED_WITHIN_S: Final = 300.0

NEAR_LIMIT: Final = "quiet" if faults.memory_groups_work() else "burning"
PLAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "down": ("SidecarDown",),
    "impatient": ("SidecarFailOpenRatioHigh", "SidecarFailOpenBudgetBurnFast"),
    "slow": ("SidecarDecisionLatencyHigh", "SidecarDecisionLatencyBudgetBurnFast"),
    "refused": (
        "SidecarTurnsRefusedRatioHigh",
        "SidecarForcedCommitYieldLow",
        "SidecarSnapshotFailing",
    ),
    "stuck": ("SidecarTelemetryLossRatioHigh", "SidecarSessionsTrippedRatioHigh"),
    "runs": ("AgentRunsTrippedRatioHigh", "ForcedCommitYieldLow", "AgentTokenSpendBurning"),
    "quiet": ("AgentSilent",),
    "burning": ("SidecarDecisionLatencyBudgetBurnSlow", "SidecarFailOpenBudgetBurnSlow"),
    "unscaled": ("SidecarDown",),
}
"""What is to fire, by the namespace that it is made in."""

EXPECTED: Final = [
    *((name, namespace) for namespace, names in PLAYS.items() for name in names),
    ("SidecarMemoryNearLimit", NEAR_LIMIT),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """What was done, and what Alertmanager told of it."""

    inbox: Inbox
    fired: frozenset[tuple[str, str]]
    resolved: frozenset[tuple[str, str]]
    prometheus: Prometheus


def scaled_rules(directory: Path) -> list[Path]:
    """Copies of the shipped rules, by the project's script."""
    script = ROOT / "scripts" / "scale_rules.py"
    command = [sys.executable, str(script), str(FACTOR), str(directory), *map(str, shipped_rules())]
    subprocess.run(command, check=True, timeout=60)
    return sorted(directory.glob("*.yaml"))


def shipped_route(webhooks: str) -> dict[str, Any]:
    """Alertmanager's example with our receiver, and as much faster as the rules."""
    config: dict[str, Any] = yaml.safe_load(
        (GRAFANA / "alertmanager" / "alertmanager.yaml").read_text("utf-8")
    )
    config["route"] |= {"group_wait": "500ms", "group_interval": "2s"}
    for receiver in config["receivers"]:
        receiver["webhook_configs"] = [{"url": f"{webhooks}/{receiver['name']}"}]
    return config


class Stage:
    """The sidecars, and the programs that look at them."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.directory = directory
        self.stack = stack
        self.objectives = Objectives(slow_of_thousand=30, without_of_thousand=3)
        self.collector_port = free_port()
        self.inbox, webhooks = stack.enter_context(webhook())
        route = shipped_route(webhooks)
        self.alertmanager = stack.enter_context(alertmanager(directory / "am", route))
        api = stack.enter_context(FakeAnthropicServer(lambda _: Fail(status=400)))
        self.model = {"ANTHROPIC_API_KEY": api.key, "ANTHROPIC_BASE_URL": api.base_url}
        self.spans = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.collector_port}",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
            "OTEL_BSP_SCHEDULE_DELAY": "200",
        }
        self.sidecars = {name: self._sidecar(name) for name in PLAYS if name != "burning"}

    def _sidecar(self, name: str) -> SidecarProcess:
        directory = self.directory / name
        directory.mkdir()
        sidecar = SidecarProcess(
            directory,
            flags=[
                f"--telemetry-address=127.0.0.1:{free_port()}",
                "--model-calls-max=100000",
                *(["--span-queue-max=8"] if name == "stuck" else []),
            ],
            environment={
                **(self.model if name == "refused" else {}),
                **(self.spans if name == "stuck" else {}),
            },
        )
        return self.stack.enter_context(sidecar)

    def scaled(self, burning: str) -> Prometheus:
        """Prometheus with the scaled rules, and every target in its namespace."""
        rules = scaled_rules(self.directory / "rules")
        config = shipped_config({JOB: []}, rules=rules, alertmanagers=[self.alertmanager])
        targets = {
            name: sidecar.addresses["telemetry_address"] for name, sidecar in self.sidecars.items()
        }
        del targets["unscaled"]
        config["scrape_configs"][0]["static_configs"] = [
            _target(address, name) for name, address in {**targets, "burning": burning}.items()
        ]
        return self.stack.enter_context(prometheus(self.directory / "scaled", config))

    def unscaled(self) -> Prometheus:
        """Prometheus with the shipped rules and the shipped intervals."""
        config = shipped_config({JOB: []}, rules=shipped_rules(), alertmanagers=[self.alertmanager])
        shipped = yaml.safe_load((GRAFANA / "prometheus" / "prometheus.yaml").read_text("utf-8"))
        config["global"] = shipped["global"]
        address = self.sidecars["unscaled"].addresses["telemetry_address"]
        config["scrape_configs"][0]["static_configs"] = [_target(address, "unscaled")]
        return self.stack.enter_context(prometheus(self.directory / "unscaled-prometheus", config))

    def break_all(self, broken: ExitStack) -> None:
        """Begin every fault; they end with `broken`."""
        on = self.sidecars
        if NEAR_LIMIT == "quiet":
            broken.enter_context(faults.memory_limit(on["quiet"]))
        else:
            self.objectives.memory_percent = 95
        for fault in (
            faults.spending(on["runs"], after_s=1.3 * HOUR_S),
            faults.stuck_runs(on["runs"]),
            faults.silent(on["quiet"]),
            faults.without_state(on["refused"]),
            faults.impatient(on["impatient"]),
            faults.refusing(on["refused"]),
            faults.without_answers(on["refused"]),
            faults.black_hole(on["stuck"], self.collector_port, self.stack),
            faults.tripped_sessions(on["stuck"]),
            faults.killed(on["down"]),
            faults.throttled(on["slow"]),
        ):
            broken.enter_context(fault)

    def wait(self, status: str, wanted: set[tuple[str, str]], *, within_s: float) -> set[Any]:
        """Those of the wanted alerts that were told with this status."""

        def found() -> set[tuple[str, str]]:
            return {each for each in wanted if self.inbox.find(status, *each)}

        self.inbox.wait(lambda: found() == wanted, within_s=within_s)
        return found()


def _target(address: str, namespace: str) -> dict[str, Any]:
    return {"targets": [address], "labels": {"cluster": "test", "namespace": namespace}}


@pytest.fixture(scope="module")
def play(programs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    """Everything is broken until every alert has fired, and mended until every one is resolved."""
    late = ("SidecarDown", "unscaled")
    with ExitStack() as stack:
        stage = Stage(tmp_path_factory.mktemp("alerts"), stack)
        unscaled = stage.unscaled()
        unscaled.wait(f'up{{job="{JOB}"}} == 1')
        dead = stack.enter_context(ExitStack())
        dead.enter_context(faults.killed(stage.sidecars["unscaled"]))
        burning = stack.enter_context(exporter(stage.objectives.render))
        scaled = stage.scaled(burning)
        scaled.wait(f'count(up{{job="{JOB}"}} == 1) == {len(PLAYS) - 1}')
        wanted = set(EXPECTED) - {late}
        with ExitStack() as broken:
            stage.break_all(broken)
            fired = stage.wait("firing", wanted, within_s=FIRE_WITHIN_S)
        stage.objectives.mend()
        resolved = stage.wait("resolved", wanted, within_s=RESOLVE_WITHIN_S)
        fired |= stage.wait("firing", {late}, within_s=UNSCALED_WITHIN_S)
        dead.close()
        resolved |= stage.wait("resolved", {late}, within_s=RESOLVE_WITHIN_S)
        yield Play(
            inbox=stage.inbox,
            fired=frozenset(fired),
            resolved=frozenset(resolved),
            prometheus=scaled,
        )


@pytest.mark.parametrize(("name", "namespace"), EXPECTED)
def test_the_alert_fires(play: Play, name: str, namespace: str) -> None:
    assert (name, namespace) in play.fired


@pytest.mark.parametrize(("name", "namespace"), EXPECTED)
def test_the_alert_resolves(play: Play, name: str, namespace: str) -> None:
    assert (name, namespace) in play.resolved


def test_every_alert_that_is_shipped_is_played() -> None:
    shipped = {
        rule["alert"]
        for path in (GRAFANA / "alerts").glob("*.yaml")
        for group in yaml.safe_load(path.read_text("utf-8"))["groups"]
        for rule in group["rules"]
    }
    assert {name for name, _ in EXPECTED} == shipped


def test_each_message_says_what_and_where_in_full(play: Play) -> None:
    for told in play.inbox.told:
        assert set(told.annotations) == {"summary", "description", "runbook_url"}
        for text in told.annotations.values():
            assert text and "<no value>" not in text and "error" not in text.lower(), text
        assert told.annotations["runbook_url"].endswith(f"/{told.name}.md")


def expected_receiver(told: Told) -> str:
    if told.labels["severity"] == "critical":
        return "pager"
    of_agents = told.name.startswith("Agent") or told.name == "ForcedCommitYieldLow"
    return "agent-owners" if of_agents else "tickets"


def test_each_alert_goes_to_its_receiver(play: Play) -> None:
    assert {(told.name, told.receiver) for told in play.inbox.told} == {
        (told.name, expected_receiver(told)) for told in play.inbox.told
    }


def test_no_rate_is_negative_though_a_sidecar_was_killed_and_started(play: Play) -> None:
    assert play.prometheus.over('{__name__=~".+:.+:.+"} < 0', seconds=600, step_s=1) == []
