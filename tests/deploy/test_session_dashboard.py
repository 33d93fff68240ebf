"""Infinity reaches a sidecar's control plane as grafana/README.md says, or not at all."""

import re
from typing import Final

import pytest
import yaml

from sidecar.adapters.local_callers import foreign
from sidecar.addresses import parse_address
from sidecar.config.keys import Config
from tests.deploy import units
from tests.deploy.effective import of_pod
from tests.deploy.manifests import GRAFANA, ROOT, Pod, all_pods

pytestmark = pytest.mark.deploy

PAGE: Final = (GRAFANA / "README.md").read_text()
FORWARDED: Final = "kubectl port-forward deploy/NAME 9465"
BASE: Final = "127.0.0.1:9465"

GATEWAYS: Final = [pod for pod in all_pods() if pod.is_gateway]
NATIVE: Final = [pod for pod in all_pods() if not pod.is_gateway]


def _line_of(start: str) -> str:
    (line,) = re.findall(rf"^\\| {start}.*$", PAGE, re.MULTILINE)
    return str(line)


def test_it_is_where_infinity_asks_on_a_laptop_and_with_compose() -> None:
    image = yaml.safe_load((ROOT / "deploy" / "image" / "config.yaml").read_text())
    assert f"`http://{BASE}`" in PAGE
    assert Config().admin_http_address == image["admin_http_address"] == BASE


@pytest.mark.parametrize("pod", GATEWAYS, ids=lambda pod: pod.where)
def test_a_gateways_can_be_forwarded(pod: Pod) -> None:
    assert FORWARDED in _line_of("a gateway")
    assert of_pod(pod.where).addresses["admin_http_address"] == BASE


@pytest.mark.parametrize("pod", NATIVE, ids=lambda pod: pod.where)
def test_that_of_a_sidecar_in_a_pod_cannot_be_and_the_page_says_so(pod: Pod) -> None:
    assert "| not:" in _line_of("in an agent's pod")
    assert of_pod(pod.where).addresses["admin_http_address"].startswith("/")


def test_that_of_the_unit_is_the_socket_at_the_other_end_of_the_tunnel() -> None:
    socket = yaml.safe_load(units.CONFIG.read_text())["admin_http_address"]
    assert f"`ssh -N -L 9465:{socket} root@HOST`" in _line_of("systemd")
    assert not foreign({"host": BASE}, parse_address(socket)), "what Grafana sends as the host"


def test_no_other_way_is_named() -> None:
    ways = re.findall(r"(?:kubectl port-forward|ssh) [^`]*9465[^`]*", PAGE)
    assert [way.split()[0] for way in ways] == ["ssh", "kubectl"]
