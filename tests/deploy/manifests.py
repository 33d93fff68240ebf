"""Kubernetes manifests as values: the rendered ones, and what their pods ask of a sidecar."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
KUBERNETES: Final = ROOT / "deploy" / "kubernetes"
CHART: Final = ROOT / "deploy" / "helm" / "agent-sidecar"
SCHEMA: Final = CHART / "values.schema.json"
GRAFANA: Final = ROOT / "grafana"
RENDERED: Final = ROOT / "tests" / "data" / "deploy"
"""What kustomize and Helm made of them; tests/deploy/render.py writes it."""

Manifest = Mapping[str, Any]

WORKLOADS: Final = ("Deployment", "StatefulSet", "DaemonSet", "Job")


def documents(path: Path) -> list[Manifest]:
    """The manifests of a file."""
    return parsed(path.read_text())


def parsed(text: str) -> list[Manifest]:
    """The manifests of a text."""
    return [each for each in yaml.safe_load_all(text) if each]


def renders() -> list[Path]:
    """All that were rendered."""
    return sorted(RENDERED.glob("*/*.yaml"))


def name_of(path: Path) -> str:
    """Of a render, for a test's id."""
    return f"{path.parent.name}-{path.stem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A workload's pod, among the manifests that were rendered with it."""

    where: str
    labels: Mapping[str, str]
    spec: Mapping[str, Any]
    beside: Sequence[Manifest]

    @property
    def is_gateway(self) -> bool:
        """Whether the sidecar is all there is in it."""
        return not self.spec.get("initContainers")

    @property
    def sidecar(self) -> Mapping[str, Any]:
        """The container of the sidecar."""
        return next(each for each in self.containers if each["name"] == "sidecar")

    @property
    def others(self) -> list[Mapping[str, Any]]:
        """All containers but the sidecar's."""
        return [each for each in self.containers if each["name"] != "sidecar"]

    @property
    def containers(self) -> list[Mapping[str, Any]]:
        """All of them."""
        return [*self.spec.get("initContainers", ()), *self.spec["containers"]]

    def volume(self, path: str) -> Mapping[str, Any]:
        """What the sidecar has at a path."""
        mounts = self.sidecar["volumeMounts"]
        name = next(each["name"] for each in mounts if each["mountPath"] == path)
        return next(each for each in self.spec["volumes"] if each["name"] == name)

    def files(self, volume: Mapping[str, Any]) -> Mapping[str, str]:
        """The files of a volume that is a ConfigMap, or of the Secrets that an operator makes.

        Raises LookupError where it is not there, and the pod has to have it.
        """
        if "secret" in volume:
            return SECRETS[volume["name"]]
        wanted = volume["configMap"]
        for each in self.beside:
            if each["kind"] == "ConfigMap" and each["metadata"]["name"] == wanted["name"]:
                found: Mapping[str, str] = each["data"]
                return found
        if not wanted.get("optional"):
            raise LookupError(f"{self.where} waits for the ConfigMap {wanted['name']}")
        return {}


TOKEN: Final = "a-token-of-the-test"
SECRETS: Final[Mapping[str, Mapping[str, str]]] = {
    "token": {"token": TOKEN + "\n"},
    "model": {"api-key": "of-the-test\n"},
    "sidecar-model": {"api-key": "of-the-test\n"},
    "tls": {"tls.crt": "", "tls.key": ""},
}
"""What stands in the Secrets that manifests name, by the volume's name."""


def pods(path: Path) -> Iterator[Pod]:
    """The pods of all workloads of a render."""
    all_of_them = documents(path)
    for each in all_of_them:
        if each["kind"] in WORKLOADS:
            template = each["spec"]["template"]
            yield Pod(
                where=f"{name_of(path)}/{each['metadata']['name']}",
                labels=template["metadata"]["labels"],
                spec=template["spec"],
                beside=all_of_them,
            )


def all_pods() -> list[Pod]:
    """Of all renders."""
    return [pod for path in renders() for pod in pods(path)]


def port(container: Mapping[str, Any], named: Any) -> int:
    """The number of a port, given by name or as it is."""
    if isinstance(named, int):
        return named
    return next(int(each["containerPort"]) for each in container["ports"] if each["name"] == named)


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector's matchLabels are among the labels."""
    wanted: Mapping[str, str] = selector["matchLabels"]
    return wanted.items() <= labels.items()
