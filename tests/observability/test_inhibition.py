"""What the shipped route keeps quiet while something graver is told, by a real Alertmanager."""

import json
import urllib.request
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.observability.programs import alertmanager, wait_for
from tests.observability.test_alerts_live import shipped_route

pytestmark = pytest.mark.observability

PLACE: Final = {"namespace": "shop", "job": "agent-sidecar"}
ONE: Final = {**PLACE, "instance": "one:9464"}
OTHER: Final = {**PLACE, "instance": "other:9464"}

TOLD: Final = (
    {"alertname": "SidecarDown", **ONE},
    {"alertname": "SidecarFailOpenRatioHigh", **ONE},
    {"alertname": "SidecarDecisionLatencyHigh", **ONE},
    {"alertname": "AgentSilent", **ONE},
    {"alertname": "SidecarMemoryNearLimit", **ONE},
    {"alertname": "SidecarFailOpenRatioHigh", **OTHER},
    {"alertname": "SidecarDecisionLatencyBudgetBurnFast", **PLACE},
    {"alertname": "SidecarDecisionLatencyBudgetBurnSlow", **PLACE},
    {"alertname": "SidecarFailOpenBudgetBurnSlow", **PLACE},
    {"alertname": "SidecarDecisionLatencyBudgetBurnSlow", **PLACE, "namespace": "bank"},
)
QUIET: Final = {
    ("SidecarFailOpenRatioHigh", "shop", "one:9464"),
    ("SidecarDecisionLatencyHigh", "shop", "one:9464"),
    ("AgentSilent", "shop", "one:9464"),
    ("SidecarDecisionLatencyBudgetBurnSlow", "shop", ""),
}
"""Of a sidecar that is down the rest is known; a budget that burns fast burns slowly as well."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    # Nobody listens at the webhooks: what is asked is what would be told there.
    route = shipped_route("http://127.0.0.1:9")
    with alertmanager(tmp_path_factory.mktemp("am"), route) as address:
        yield address


def test_what_a_graver_alert_implies_is_kept_quiet_and_nothing_else(address: str) -> None:
    url = f"http://{address}/api/v2/alerts"
    request = urllib.request.Request(
        url,
        data=json.dumps([{"labels": labels} for labels in TOLD]).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10):  # noqa: S310 - loopback
        pass

    def kept_quiet() -> set[tuple[str, str, str]]:
        with urllib.request.urlopen(url, timeout=10) as answer:
            alerts: list[dict[str, Any]] = json.load(answer)
        assert len(alerts) == len(TOLD)
        return {
            (labels["alertname"], labels["namespace"], labels.get("instance", ""))
            for alert in alerts
            for labels in [alert["labels"]]
            if alert["status"]["inhibitedBy"]
        }

    wait_for(lambda: kept_quiet() == QUIET, "what is implied is quiet", within_s=20)
