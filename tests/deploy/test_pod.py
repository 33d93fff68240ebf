"""The manifests' sidecars run for real: their arguments, users and volumes, on their own network.

The kubelet and Prometheus are played by another network namespace, from which the pod is reached at
an address that is not loopback.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

from tests.deploy import pod_network
from tests.deploy.manifests import ROOT, TOKEN, Pod, all_pods, port
from tests.deploy.pod_network import POD, Container, Place, Volumes, fetched, node_and_pod

pytestmark = [
    pytest.mark.deploy,
    pytest.mark.skipif(bool(pod_network.missing()), reason=pod_network.missing()),
]

TURN: Final = """
import sys
from sidecar.client import Client
with Client(sys.argv[1], agent_name="a", token=sys.argv[2] or None, timeout_s=30.0) as client:
    client.turn(tool_calls=[{"name": "ls", "result": "a"}])
    print(sum(client.give_ups.values()))
"""

SHIPPED: Final = {
    pod.where: pod
    for pod in all_pods()
    # One whose configuration is in its arguments, one with a file, and a gateway of each tool. That
    # with TLS has certificates that nobody made here.
    if pod.where.split("/")[0]
    in ("kustomize-demo", "kustomize-gateway", "helm-small", "helm-pods-only")
}
ALONE: Final = {
    f"{where}, alone": replace(pod, beside=())
    for where, pod in SHIPPED.items()
    if where.startswith("helm-pods-only")
}
"""A pod whose ConfigMap is gone, as after `helm uninstall`."""
GROUPED: Final = {
    f"{where}, grouped": replace(pod, spec={**pod.spec, "securityContext": {"fsGroup": 2000}})
    for where, pod in SHIPPED.items()
    if where.startswith("kustomize-demo")
}
"""A pod whose group is the agent's own, set again after the component."""
RUNS: Final = {**SHIPPED, **ALONE, **GROUPED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A pod whose sidecar is up."""

    pod: Pod
    node: Place
    place: Place
    volumes: Volumes
    process: Any

    def container(self, spec: Any) -> Container:
        """One of its containers."""
        return Container(self.pod, spec, self.place, self.volumes)


@pytest.fixture(scope="module", params=list(RUNS))
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """Each of the pods, once."""
    pod = RUNS[request.param]
    directory = tmp_path_factory.mktemp("volumes")
    with node_and_pod() as (node, place):
        volumes = Volumes(pod, directory)
        container = Container(pod, pod.sidecar, place, volumes)
        with container.serving(tmp_path_factory.mktemp("log") / "log") as process:
            yield Running(pod=pod, node=node, place=place, volumes=volumes, process=process)


def test_the_manifests_probes_are_answered_from_outside_of_the_pod(running: Running) -> None:
    probes = [running.pod.sidecar[key] for key in running.pod.sidecar if key.endswith("Probe")]
    assert probes
    for probe in probes:
        get = probe["httpGet"]
        number = port(running.pod.sidecar, get["port"])
        status, _ = fetched(running.node, f"http://{POD}:{number}{get['path']}")
        assert status == "200"


def test_it_runs_as_the_manifests_user_without_any_capability(running: Running) -> None:
    status = pod_network.status_of(running.process)
    user, group = (
        running.pod.sidecar["securityContext"][key] for key in ("runAsUser", "runAsGroup")
    )
    assert status["Uid"].split() == [str(user)] * 4
    assert status["Gid"].split() == [str(group)] * 4
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert status["NoNewPrivs"] == "1"


def test_prometheus_finds_metrics_from_outside_of_the_pod(running: Running) -> None:
    status, body = fetched(running.node, f"http://{POD}:9464/metrics")
    assert status == "200"
    assert "sidecar_build_info" in body


def test_the_control_plane_is_not_reached_from_outside_of_the_pod(running: Running) -> None:
    status, _ = fetched(running.node, f"http://{POD}:9465/v1/sessions")
    assert status == "refused"


def test_an_agent_in_the_pod_reports_as_its_own_user_over_a_mount_that_is_read_only(
    running: Running,
) -> None:
    for spec in running.pod.others:
        agent = running.container(spec)
        address = agent.environment.get("SIDECAR_ADDRESS", "unix:/run/agent-sidecar/agent.sock")
        done = agent.run(sys.executable, "-c", TURN, address, "")
        assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_an_agent_in_the_pod_finds_no_control_plane(running: Running) -> None:
    for spec in running.pod.others:
        agent = running.container(spec)
        found = agent.run("find", "/run", "/var", "/tmp", "-type", "s", "-name", "admin*")
        assert found.stdout == ""
        assert fetched(running.place, "http://127.0.0.1:9465/v1/sessions")[0] == "refused"


def test_a_command_in_the_sidecars_container_finds_its_sidecar(running: Running) -> None:
    """As `kubectl exec POD -c sidecar -- sidecar ...`, with nothing more to type."""
    sidecar = running.container(running.pod.sidecar)
    for command in (["health"], ["sessions", "ls"]):
        done = sidecar.run(sys.executable, "-m", "sidecar.cli", *command)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "running", [where for where, pod in RUNS.items() if not pod.is_gateway], indirect=True
)
def test_the_line_for_runbooks_asks_the_control_plane_of_a_pod(running: Running) -> None:
    page = (ROOT / "grafana" / "alerts" / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"python3 -c '([^']+)'", page)
    done = running.container(running.pod.sidecar).run(sys.executable, "-c", code)
    assert '"components"' in done.stdout, done.stderr


@pytest.mark.parametrize(
    "running", [where for where, pod in RUNS.items() if pod.is_gateway], indirect=True
)
def test_a_gateway_takes_agents_of_other_pods_by_its_token_only(running: Running) -> None:
    known = running.node.python(TURN, f"{POD}:4300", TOKEN)
    assert (known.returncode, known.stdout) == (0, "0\n"), known.stderr
    unknown = running.node.python(TURN, f"{POD}:4300", "")
    assert (unknown.returncode, unknown.stdout) == (0, "1\n"), unknown.stderr


def test_it_ends_well_within_the_pods_grace_period(running: Running) -> None:
    assert pod_network.stop(running.process) == 0
