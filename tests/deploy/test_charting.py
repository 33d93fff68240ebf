"""kustomize and Helm, built from their Go modules, make of the sources what is checked in."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.deploy.manifests import CHART, GRAFANA, ROOT, Manifest, parsed
from tests.deploy.render import (
    KUBERNETES_MIN,
    NotRendered,
    chart,
    is_ours,
    overlay,
    rendered,
    tool,
    values,
)

pytestmark = pytest.mark.deploy_full

EVERYTHING = f"--values={CHART / 'ci' / 'full-values.yaml'}"


def test_the_renders_are_what_the_tools_make_today() -> None:
    for path, text in rendered().items():
        assert path.read_text() == text, f"{path}: run python -m tests.deploy.render"


@pytest.mark.parametrize(
    "path", [*values(), CHART.parent / "demo-values.yaml"], ids=lambda path: path.name
)
def test_helm_finds_nothing_to_complain_of(path: Path) -> None:
    command = [tool("helm"), "lint", "--strict", str(CHART), f"--values={path}"]
    done = subprocess.run(
        [*command, f"--kube-version={KUBERNETES_MIN}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 chart(s) failed" in done.stdout


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("gateway.replicas=2", "additional properties 'replicas' not allowed"),
        ("gatway.enabled=true", "additional properties 'gatway' not allowed"),
        ("pods.resources.limits.gpu=1", "additional properties 'gpu' not allowed"),
        ("image.pullPolicy=Sometimes", "/image/pullPolicy"),
        ("monitoring.podMonitor.interval=often", "/monitoring/podMonitor/interval"),
        ("otlp.endpoint=collector:4317", "/otlp/endpoint"),
        # The port is opened by the NetworkPolicy, and gRPC's own without one is 443.
        ("otlp.endpoint=http://10.0.0.5", "/otlp/endpoint"),
        ("gateway.config.sessions_maxx=1", "additional properties 'sessions_maxx' not allowed"),
        ("pods.config.limits.max_turn=1", "additional properties 'max_turn' not allowed"),
        ("gateway.tolerations[0].kee=a", "additional properties 'kee' not allowed"),
        (
            "gateway.networkPolicy.agents[0].podSelectr.matchLabels.a=b",
            "additional properties 'podSelectr' not allowed",
        ),
        (
            "gateway.networkPolicy.scrapers[0].podSelector.matchLabel.a=b",
            "additional properties 'matchLabel' not allowed",
        ),
        ("gateway.networkPolicy.egress[0].toe=a", "additional properties 'toe' not allowed"),
        ("nameOverride=Foo_Bar", "'/nameOverride': 'Foo_Bar' does not match pattern"),
        ("fullnameOverride=UPPER", "'/fullnameOverride': 'UPPER' does not match pattern"),
        ("gateway.token.key=../x", "'/gateway/token/key': '../x' does not match pattern"),
        (
            "gateway.config.admin_http_address=0.0.0.0:9465",
            "'/gateway/config/admin_http_address': '0.0.0.0:9465' does not match pattern",
        ),
        (
            "gateway.config.streams_max=abc",
            "'/gateway/config/streams_max': got string, want integer",
        ),
    ],
)
def test_a_wrong_value_is_named(wrong: str, said: str) -> None:
    with pytest.raises(NotRendered) as refused:
        chart(f"--set={wrong}")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            "gateway.config.agent_tcp_address=0.0.0.0:5000",
            "'/gateway/config/agent_tcp_address': value must be one of '0.0.0.0:4300', '[::]:4300'",
        ),
        ("gateway.config.agent_http_tcp_address=", "'/gateway/config/agent_http_tcp_address'"),
        ("gateway.config.telemetry_address=", "'/gateway/config/telemetry_address'"),
        ("gateway.config.state_directory=/tmp", "'/gateway/config/state_directory'"),
        ("gateway.config.token_file=/a", "additional properties 'token_file' not allowed"),
        ("pods.config.telemetry_address=0.0.0.0:9000", "'/pods/config/telemetry_address'"),
        (
            "pods.config.agent_address=/run/agent-sidecar/other.sock",
            "'/pods/config/agent_address': value must be '/run/agent-sidecar/agent.sock'",
        ),
        ("pods.config.model_key_file=/a", "additional properties 'model_key_file' not allowed"),
    ],
)
def test_a_key_that_other_objects_of_the_chart_rest_on_cannot_be_set_apart_from_them(
    wrong: str, said: str
) -> None:
    with pytest.raises(NotRendered) as refused:
        chart(f"--set={wrong}")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "right",
    [
        "gateway.config.telemetry_address=[::]:9464",
        "gateway.config.state_directory=",
        "gateway.config.tls_client_ca_file=/etc/agent-sidecar-tls/ca.crt",
        "gateway.config.admin_http_address=",
        "gateway.config.limits.max_turns=off",
        "gateway.config.journal_bytes_max=335544320",
        "pods.config.agent_tcp_address=127.0.0.1:4300",
        "pods.config.judge.model=a-model",
        "gateway.tolerations[0].tolerationSeconds=5",
        "gateway.networkPolicy.egress[0].to[0].ipBlock.cidr=10.0.0.0/8",
    ],
)
def test_what_only_the_sidecar_or_kubernetes_has_to_understand_is_taken(right: str) -> None:
    key, _, value = right.rpartition("=")
    name = key.rpartition(".")[2]
    assert re.search(rf"{name}: ['\"]?{re.escape(value)}", chart(f"--set={right}"))


def test_a_cluster_without_native_sidecars_is_refused() -> None:
    with pytest.raises(NotRendered, match=r"requires kubeVersion: >=1\.29\.0"):
        chart(kubernetes="1.28.15")


@pytest.mark.parametrize("version", ["1.29.0-eks-5e0fdde", "1.34.1"])
def test_newer_clusters_and_those_of_vendors_are_not(version: str) -> None:
    assert chart(kubernetes=version)


def test_a_change_of_the_configuration_rolls_the_pods() -> None:
    before, after = (
        _deployments(chart(EVERYTHING, *more))
        for more in ([], ["--set=gateway.config.streams_max=9"])
    )
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"agents-agent-sidecar-gateway"}


def _deployments(text: str) -> dict[str, Any]:
    return {
        each["metadata"]["name"]: each["spec"]["template"]
        for each in parsed(text)
        if each["kind"] == "Deployment"
    }


def _groups() -> dict[str, Any]:
    files = [*GRAFANA.glob("rules/*.yaml"), *GRAFANA.glob("alerts/*.yaml")]
    return {
        group["name"]: group
        for path in files
        for group in yaml.safe_load(path.read_text())["groups"]
    }


def _dashboards() -> dict[str, Any]:
    return {path.name: json.loads(path.read_text()) for path in GRAFANA.glob("dashboards/*.json")}


@pytest.mark.parametrize("tool_name", ["helm", "kustomize"])
def test_rules_and_dashboards_arrive_unchanged(tool_name: str) -> None:
    text = chart(EVERYTHING) if tool_name == "helm" else overlay("monitored")
    foreign = [each for each in parsed(text) if not is_ours(each)]
    rules = [each for each in foreign if each["kind"] == "PrometheusRule"]
    groups = [group for each in rules for group in each["spec"]["groups"]]
    assert {group["name"]: group for group in groups} == _groups()
    assert len(groups) == len(_groups())
    boards = {
        name: json.loads(content)
        for each in foreign
        if each["kind"] == "ConfigMap"
        for name, content in each["data"].items()
    }
    assert boards == _dashboards()
    for each in foreign:
        if each["kind"] == "ConfigMap":
            assert each["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_a_dashboard_fits_into_what_kubectl_apply_keeps_of_it() -> None:
    for path in GRAFANA.glob("dashboards/*.json"):
        assert path.stat().st_size < 256 * 1024


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Job"])
def test_a_label_and_the_component_put_the_sidecar_into_any_workload(
    kind: str, tmp_path: Path
) -> None:
    built = _built(tmp_path, _workload(kind), COMPONENT)
    mine, other = sorted(built, key=lambda each: str(each["metadata"]["name"]))
    pod = mine["spec"]["template"]["spec"]
    assert [each["name"] for each in pod["initContainers"]] == ["sidecar", "mine-first"]
    (agent,) = pod["containers"]
    assert agent["image"] == "mine"
    assert agent["env"] == [
        {"name": "SIDECAR_ADDRESS", "value": "unix:/run/agent-sidecar/agent.sock"}
    ]
    assert other["spec"] == _workload(kind)["items"][1]["spec"]


COMPONENT: Final = {"components": ["deploy/kubernetes/components/sidecar"]}


def _built(directory: Path, manifest: Any, *parts: dict[str, Any]) -> list[Manifest]:
    """What kustomize makes of a manifest; components are named from the root of the repository."""
    kustomization = {key: value for part in parts for key, value in part.items()}
    (directory / "mine.yaml").write_text(yaml.safe_dump(manifest))
    kustomization["resources"] = ["mine.yaml"]
    kustomization["components"] = [
        os.path.relpath(ROOT / path, directory) for path in kustomization["components"]
    ]
    (directory / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    command = [tool("kustomize"), "build", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return parsed(done.stdout)


def _readmes_lines() -> list[Any]:
    """The kustomizations of the README: the lines for a pod, and those of one's own after them."""
    page = (ROOT / "deploy" / "README.md").read_text(encoding="utf-8")
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]


def test_the_component_replaces_an_agents_grace_period_and_group_which_a_patch_sets_again(
    tmp_path: Path,
) -> None:
    first, own = _readmes_lines()
    workload = _workload("Deployment")["items"][0]
    spec = workload["spec"]["template"]["spec"]
    spec["terminationGracePeriodSeconds"] = 600
    spec["securityContext"] = {"fsGroup": 2000, "runAsUser": 2000}
    for parts, grace_s, group in (((first,), 40, 65532), ((first, own), 610, 2000)):
        (built,) = _built(tmp_path, workload, *parts)
        pod = built["spec"]["template"]["spec"]
        assert pod["terminationGracePeriodSeconds"] == grace_s
        assert pod["securityContext"] == {"fsGroup": group, "runAsUser": 2000}


def test_the_component_passes_over_a_cron_job(tmp_path: Path) -> None:
    job = _workload("Job")["items"][0]
    spec = {"schedule": "@daily", "jobTemplate": {"spec": job["spec"]}}
    workload = {**job, "kind": "CronJob", "spec": spec}
    assert _built(tmp_path, workload, COMPONENT) == [workload]


def _workload(kind: str) -> Any:
    spec = {
        "initContainers": [{"name": "mine-first", "image": "mine"}],
        "containers": [{"name": "agent", "image": "mine"}],
    }
    each = {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}},
    }
    labels = {"agent-sidecar/beside": "agent"}
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {**each, "metadata": {"name": "mine", "labels": labels}},
            {**each, "metadata": {"name": "other"}},
        ],
    }


def test_another_chart_can_put_the_sidecar_into_its_pods(tmp_path: Path) -> None:
    manifests = _parents(tmp_path, PARENTS_POD)
    (pod,) = [each for each in manifests if each["kind"] == "Pod"]
    assert pod["spec"]["initContainers"][0]["restartPolicy"] == "Always"
    names = {each["metadata"]["name"] for each in manifests if each["kind"] == "ConfigMap"}
    assert pod["spec"]["volumes"][0]["configMap"]["name"] in names


def _parents(directory: Path, template: str, *arguments: str) -> list[Manifest]:
    """What Helm makes of a chart that has ours as a dependency, and one template of its own."""
    parent = directory / "parent"
    (parent / "templates").mkdir(parents=True)
    (parent / "charts").mkdir()
    (parent / "charts" / "agent-sidecar").symlink_to(CHART)
    (parent / "Chart.yaml").write_text(
        "apiVersion: v2\nname: parent\nversion: 1.0.0\n"
        "dependencies: [{name: agent-sidecar, version: 0.1.0}]\n"
    )
    (parent / "templates" / "mine.yaml").write_text(template)
    command = [tool("helm"), "template", "mine", str(parent), f"--kube-version={KUBERNETES_MIN}"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return parsed(done.stdout)


PARENTS_POD = """
apiVersion: v1
kind: Pod
metadata: {name: mine}
spec:
  initContainers:
    {{- include "agent-sidecar.container" (index .Subcharts "agent-sidecar") | nindent 4 }}
  containers:
    - name: agent
      image: mine
      volumeMounts:
        {{- include "agent-sidecar.mounts" (index .Subcharts "agent-sidecar") | nindent 8 }}
  volumes:
    {{- include "agent-sidecar.volumes" (index .Subcharts "agent-sidecar") | nindent 4 }}
"""


def test_the_notes_have_the_lines_of_a_pod_as_the_demos_pod_has_them(tmp_path: Path) -> None:
    """Helm shows notes only where there is a cluster: another chart puts them into a manifest."""
    manifests = _parents(
        tmp_path,
        NOTES,
        "--set=agent-sidecar.demo.enabled=true",
        "--set=agent-sidecar.image.pullSecrets[0].name=registry",
        "--set=agent-sidecar.otlp.endpoint=http://collector:4317",
        "--set=agent-sidecar.pods.model.secretName=model-key",
        "--set=agent-sidecar.gateway.token.key=bearer",
    )
    (notes,) = [each["data"]["notes"] for each in manifests if each["metadata"]["name"] == "notes"]
    lines = yaml.safe_load(re.findall(r"^(?:  .*\n)+$", notes, re.MULTILINE)[-1])
    (demo,) = [
        each["spec"]["template"]["spec"]
        for each in manifests
        if each["kind"] == "Deployment" and each["metadata"]["name"].endswith("-demo")
    ]
    (agent,) = lines.pop("containers")
    assert agent["volumeMounts"] == demo["containers"][0]["volumeMounts"][:1]
    assert set(demo) - set(lines) == {"automountServiceAccountToken", "containers"}
    demo["volumes"] = [each for each in demo["volumes"] if each["name"] != "work"]
    assert lines == {key: demo[key] for key in lines}
    assert lines["imagePullSecrets"] == [{"name": "registry"}]
    assert "create secret generic agent-sidecar-token" in notes
    assert '--from-literal=bearer="$(openssl rand -hex 32)"' in notes


NOTES: Final = """
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data:
  {{- with index .Subcharts "agent-sidecar" }}
  notes: {{ include "parent/charts/agent-sidecar/templates/NOTES.txt" . | toJson }}
  {{- end }}
"""
