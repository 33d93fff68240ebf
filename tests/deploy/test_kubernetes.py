"""What every rendered manifest keeps to: how sidecars run in pods, and why nothing else does.

They are read here as kustomize and Helm have made them; that they are current is held by
test_rendering.py, and by the digest of their sources in tests/assets.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import pytest

from tests.deploy.effective import of, of_pod
from tests.deploy.manifests import Pod, all_pods, documents, name_of, port, renders, selects

pytestmark = pytest.mark.deploy

EVERY: Final = all_pods()
NATIVE: Final = [pod for pod in EVERY if not pod.is_gateway]
GATEWAYS: Final = [pod for pod in EVERY if pod.is_gateway]
VERSIONS: Final = ("1.29", "1.32", "1.34")
"""The oldest that is promised, and newer ones."""
OPERATORS: Final = "monitoring.coreos.com/v1"
"""Its schemas are not Kubernetes' own."""

AGENTS_GRACE_S: Final = 30
SIDECARS_GRACE_S: Final = 10

each_pod = pytest.mark.parametrize("pod", EVERY, ids=lambda pod: pod.where)
each_native = pytest.mark.parametrize("pod", NATIVE, ids=lambda pod: pod.where)
each_gateway = pytest.mark.parametrize("pod", GATEWAYS, ids=lambda pod: pod.where)
each_render = pytest.mark.parametrize("path", renders(), ids=name_of)


def test_there_are_sidecars_in_pods_and_gateways_of_both_tools() -> None:
    assert {pod.where.split("-")[0] for pod in NATIVE} == {"kustomize", "helm"}
    assert {pod.where.split("-")[0] for pod in GATEWAYS} == {"kustomize", "helm"}


@each_render
@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_are_valid_in_each_version(path: Path, version: str) -> None:
    checked = [each for each in documents(path) if each["apiVersion"] != OPERATORS]
    assert checked
    for each in checked:
        kubernetes_validate.validate(dict(each), version, strict=True)


def test_the_validation_would_find_a_wrong_key() -> None:
    wrong = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a"},
        "spec": {"prots": []},
    }
    with pytest.raises(kubernetes_validate.ValidationError, match="prots"):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


@each_native
def test_a_sidecar_is_a_native_one_and_the_first_to_start(pod: Pod) -> None:
    first = pod.spec["initContainers"][0]
    assert first["name"] == "sidecar"
    assert first["restartPolicy"] == "Always"


@each_native
def test_a_sidecar_has_neither_readiness_nor_a_hook_and_gates_the_agent_only_where_asked(
    pod: Pod,
) -> None:
    assert "readinessProbe" not in pod.sidecar
    assert "lifecycle" not in pod.sidecar
    is_strict = pod.where.startswith(("kustomize-strict", "helm-full"))
    assert ("startupProbe" in pod.sidecar) == is_strict


@each_pod
def test_liveness_is_asked_of_the_telemetry_listener(pod: Pod) -> None:
    probe = pod.sidecar["livenessProbe"]
    assert probe["httpGet"]["path"] == "/livez"
    assert (probe["periodSeconds"], probe["failureThreshold"]) == (10, 3)
    host, _, number = of_pod(pod.where).values["telemetry_address"].rpartition(":")
    assert port(pod.sidecar, probe["httpGet"]["port"]) == int(number)
    assert host == "0.0.0.0", "the kubelet asks at the pod's address"


@each_pod
def test_the_real_program_accepts_arguments_environment_and_file(pod: Pod) -> None:
    effective = of_pod(pod.where)
    assert effective.code == 0, effective.output


@each_pod
def test_every_path_that_is_written_is_in_a_volume(pod: Pod) -> None:
    effective = of_pod(pod.where)
    paths = [effective.values["state_directory"]]
    paths += [each for each in effective.addresses.values() if each.startswith("/")]
    mounts = [each["mountPath"] for each in pod.sidecar["volumeMounts"] if not each.get("readOnly")]
    for path in paths:
        assert any(path == mount or path.startswith(mount + "/") for mount in mounts), path


@each_native
def test_only_sockets_that_the_agent_mounts_lead_to_a_sidecar(pod: Pod) -> None:
    addresses = of_pod(pod.where).addresses
    beyond = {key for key, value in addresses.items() if not value.startswith("/")}
    assert beyond == {"telemetry_address"}
    agents = {Path(addresses[key]).parent for key in ("agent_address", "agent_http_address")}
    (shared,) = agents
    assert pod.volume(str(shared))["emptyDir"]["medium"] == "Memory"
    for other in pod.others:
        mounts = {each["mountPath"]: each for each in other["volumeMounts"]}
        assert mounts[str(shared)]["readOnly"] is True
        assert mounts[str(shared)]["name"] == pod.volume(str(shared))["name"]


@each_native
def test_agents_cannot_reach_the_control_plane(pod: Pod) -> None:
    addresses = of_pod(pod.where).addresses
    reach = {each["mountPath"] for other in pod.others for each in other["volumeMounts"]}
    for key in ("admin_address", "admin_http_address"):
        assert str(Path(addresses[key]).parent) not in reach


@each_native
def test_the_pod_has_time_for_its_agent_and_then_for_its_sidecar(pod: Pod) -> None:
    assert pod.spec["terminationGracePeriodSeconds"] >= AGENTS_GRACE_S + SIDECARS_GRACE_S


@each_native
def test_the_agents_user_may_connect(pod: Pod) -> None:
    group = pod.spec["securityContext"]["fsGroup"]
    assert pod.sidecar["securityContext"]["runAsGroup"] == group
    for other in pod.others:
        assert other["securityContext"]["runAsUser"] != pod.sidecar["securityContext"]["runAsUser"]


@each_pod
def test_resources_are_stated_and_cpu_is_not_limited(pod: Pod) -> None:
    assert pod.sidecar["resources"] == {
        "requests": {"cpu": "50m", "memory": "64Mi"},
        "limits": {"memory": "256Mi"},
    }
    for container in pod.containers:
        assert "cpu" not in container["resources"]["limits"]


@each_pod
def test_every_container_may_do_nothing_that_it_does_not_need(pod: Pod) -> None:
    assert pod.spec["automountServiceAccountToken"] is False
    for container in pod.containers:
        context = dict(container["securityContext"])
        assert context.pop("runAsUser") > 0
        assert context.pop("runAsGroup") > 0
        assert context == {
            "runAsNonRoot": True,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        }


@each_pod
def test_volumes_in_memory_and_on_a_node_are_bounded(pod: Pod) -> None:
    for volume in pod.spec["volumes"]:
        if "emptyDir" in volume:
            assert volume["emptyDir"]["sizeLimit"]


@each_pod
def test_an_image_has_a_tag_that_is_not_latest(pod: Pod) -> None:
    for container in pod.containers:
        assert re.fullmatch(r"[a-z0-9./-]+:[0-9]+\.[0-9]+\.[0-9]+", container["image"])


@each_gateway
def test_a_gateway_is_one_and_never_two(pod: Pod) -> None:
    (deployment,) = _of(pod, "Deployment", "gateway")
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}


@each_gateway
def test_a_gateways_disruption_budget_lets_a_node_be_drained(pod: Pod) -> None:
    (budget,) = _of(pod, "PodDisruptionBudget", "gateway")
    assert budget["spec"]["maxUnavailable"] == 1
    assert "minAvailable" not in budget["spec"]
    assert selects(budget["spec"]["selector"], pod.labels)


@each_gateway
def test_a_gateways_service_leads_to_its_ports(pod: Pod) -> None:
    (service,) = _of(pod, "Service", "gateway")
    assert service["spec"]["selector"].items() <= pod.labels.items()
    ports = {
        each["name"]: port(pod.sidecar, each["targetPort"]) for each in service["spec"]["ports"]
    }
    assert ports == {"grpc": 4300, "http": 4301, "telemetry": 9464}


@each_gateway
def test_a_gateways_ports_are_those_that_it_listens_on(pod: Pod) -> None:
    values = of_pod(pod.where).values
    for name, key in (("grpc", "agent_tcp_address"), ("http", "agent_http_tcp_address")):
        assert values[key] == f"0.0.0.0:{port(pod.sidecar, name)}"


def test_a_models_key_is_mounted_by_gateways_and_by_sidecars_in_pods_but_by_no_agent() -> None:
    keyed = {pod.where: pod for pod in EVERY if of_pod(pod.where).values["model_key_file"]}
    assert {pod.is_gateway for pod in keyed.values()} == {True, False}
    for where, pod in keyed.items():
        place = Path(of_pod(where).values["model_key_file"]).parent
        volume = pod.volume(str(place))
        assert volume["secret"]["secretName"] == "model-key"
        reach = [each["name"] for other in pod.others for each in other["volumeMounts"]]
        assert volume["name"] not in reach


@pytest.mark.parametrize("kind", ["configMap", "secret"])
def test_an_agent_starts_without_what_its_sidecar_mounts_of_the_cluster(kind: str) -> None:
    mounted = [volume[kind] for pod in NATIVE for volume in pod.spec["volumes"] if kind in volume]
    assert mounted
    assert all(each["optional"] for each in mounted)


@each_native
def test_a_sidecar_whose_config_map_is_gone_serves_where_it_did(pod: Pod) -> None:
    """After `helm uninstall`, or in a namespace without the release."""
    alone = of(replace(pod, beside=()))
    assert alone.code == 0, alone.output
    assert alone.addresses == of_pod(pod.where).addresses
    assert alone.values["state_directory"] == of_pod(pod.where).values["state_directory"]


@each_gateway
def test_a_gateway_asks_for_a_token_and_keeps_its_control_plane_to_itself(
    pod: Pod,
) -> None:
    values = of_pod(pod.where).values
    assert values["token_file"] == "/etc/agent-sidecar-token/token"
    assert values["admin_address"].startswith("/")
    assert values["admin_http_address"].startswith("127.0.0.1:")


@pytest.mark.parametrize(
    "pod", [pod for pod in GATEWAYS if "small" not in pod.where], ids=lambda pod: pod.where
)
def test_a_gateways_network_is_closed_but_for_its_ports(pod: Pod) -> None:
    (policy,) = _of(pod, "NetworkPolicy", "gateway")
    assert selects(policy["spec"]["podSelector"], pod.labels)
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    let_in = {
        port(pod.sidecar, each["port"])
        for rule in policy["spec"]["ingress"]
        for each in rule["ports"]
    }
    assert let_in == {4300, 4301, 9464}
    assert all(rule["from"] for rule in policy["spec"]["ingress"])
    assert all(rule["ports"] for rule in policy["spec"]["egress"])


def _monitors() -> list[tuple[str, Any]]:
    return [
        (name_of(path), each)
        for path in renders()
        for each in documents(path)
        if each["kind"] in ("PodMonitor", "ServiceMonitor")
    ]


@pytest.mark.parametrize(("where", "monitor"), _monitors())
def test_a_monitor_finds_a_port_and_names_the_job_as_rules_do(where: str, monitor: Any) -> None:
    endpoints = monitor["spec"].get("podMetricsEndpoints") or monitor["spec"]["endpoints"]
    for endpoint in endpoints:
        assert endpoint["port"] == "telemetry"
        assert {"targetLabel": "job", "replacement": "agent-sidecar"} in endpoint["relabelings"]
    selector = monitor["spec"]["selector"]
    if monitor["kind"] == "PodMonitor":
        assert all(selects(selector, pod.labels) for pod in NATIVE)
    else:
        tool = where.split("-")[0]
        services = [
            each
            for pod in GATEWAYS
            if pod.where.startswith(tool)
            for each in _of(pod, "Service", "gateway")
        ]
        assert services
        assert all(selects(selector, each["metadata"]["labels"]) for each in services)


def _of(pod: Pod, kind: str, ending: str) -> list[Any]:
    return [
        each
        for each in pod.beside
        if each["kind"] == kind and each["metadata"]["name"].endswith(ending)
    ]
