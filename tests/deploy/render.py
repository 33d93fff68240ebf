"""Renders the manifests by the real kustomize and the real Helm.

`python -m tests.deploy.render` writes them to tests/data/deploy, where tests read them that have
neither. What comes from grafana/ is left out there: it changes by itself, and is held to its source
where it is rendered.
"""

import hashlib
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from tests.deploy.manifests import CHART, KUBERNETES, RENDERED, ROOT, SCHEMA, Manifest, parsed

KUBERNETES_MIN: Final = "1.29"
RELEASE: Final = "agents"
SOURCES: Final = RENDERED / "sources.sha256"
BUILD_WITHIN_S: Final = 3600
"""The first time it is built from source, on a machine that may be busy."""


class NotRendered(Exception):  # noqa: N818 - says what is the case
    """A tool refused; the text is what it said."""


def tool(name: str) -> str:
    """The path of a tool that is built from its Go modules."""
    script = ROOT / "scripts" / "install-deploy-tools.sh"
    done = subprocess.run(
        [script, name], capture_output=True, text=True, check=True, timeout=BUILD_WITHIN_S
    )
    return done.stdout.strip()


def overlay(name: str) -> str:
    """What kustomize makes of an overlay. Raises NotRendered."""
    return _run([tool("kustomize"), "build", str(KUBERNETES / "overlays" / name)])


def chart(*arguments: str, kubernetes: str = KUBERNETES_MIN) -> str:
    """What Helm makes of the chart. Raises NotRendered."""
    command = ["template", RELEASE, str(CHART), f"--namespace={RELEASE}"]
    return _run([tool("helm"), *command, f"--kube-version={kubernetes}", *arguments])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise NotRendered(done.stderr)
    return done.stdout


def overlays() -> list[str]:
    """All of them."""
    return sorted(path.parent.name for path in KUBERNETES.glob("overlays/*/kustomization.yaml"))


def values() -> list[Path]:
    """The values that the chart is rendered with."""
    return sorted(CHART.glob("ci/*-values.yaml"))


def is_ours(document: Manifest) -> bool:
    """Whether it is written here; else it is from grafana/."""
    files = document.get("data", {}) if document["kind"] == "ConfigMap" else {}
    is_dashboard = any(name.endswith(".json") for name in files)
    return document["kind"] != "PrometheusRule" and not is_dashboard


def golden(text: str) -> str:
    """What is kept of a render."""
    kept = [each for each in parsed(text) if is_ours(each)]
    kept.sort(key=lambda each: (each["kind"], each["metadata"]["name"]))
    return yaml.safe_dump_all(kept, sort_keys=True, width=100)


def rendered() -> Mapping[Path, str]:
    """Each file of RENDERED, and what is to stand in it."""
    found = {RENDERED / "kustomize" / f"{name}.yaml": golden(overlay(name)) for name in overlays()}
    for path in values():
        name = path.name.removesuffix("-values.yaml")
        found[RENDERED / "helm" / f"{name}.yaml"] = golden(chart(f"--values={path}"))
    return found


def digest() -> str:
    """Of all that is rendered and written here. The schema of values is not: it only refuses, and
    follows the configuration's keys, which whoever adds one may do without Helm."""
    total = hashlib.sha256()
    for folder in (KUBERNETES, CHART):
        for path in sorted(folder.rglob("*")):
            is_here = path.is_file() and not path.is_symlink()
            if is_here and path != SCHEMA and CHART / "files" not in path.parents:
                total.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def main() -> None:
    """Write them."""
    found = rendered()
    for folder in ("kustomize", "helm"):
        shutil.rmtree(RENDERED / folder, ignore_errors=True)
        (RENDERED / folder).mkdir(parents=True)
    for path, text in found.items():
        path.write_text(text)
    SOURCES.write_text(digest() + "\n")


if __name__ == "__main__":
    main()
