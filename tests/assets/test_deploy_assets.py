"""What is checked in of deploy/ is current."""

import json
from typing import Any

import yaml

from sidecar.version import VERSION
from tests.deploy.manifests import CHART, KUBERNETES
from tests.deploy.render import SOURCES, digest


def test_the_renders_are_of_the_manifests_that_are_here() -> None:
    assert SOURCES.read_text().strip() == digest(), "run: python -m tests.deploy.render"


def test_chart_and_overlays_are_of_this_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == VERSION
    tags = [
        image["newTag"]
        for path in KUBERNETES.glob("overlays/*/kustomization.yaml")
        for image in yaml.safe_load(path.read_text()).get("images", ())
    ]
    assert tags
    assert set(tags) == {VERSION}


def test_the_charts_schema_names_every_value_and_no_other() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert _keys(schema) - {"global"} == _paths(values, schema)


def _keys(schema: Any, before: str = "") -> set[str]:
    found: set[str] = set()
    for name, below in schema.get("properties", {}).items():
        if name in ("resources", "affinity"):
            found.add(before + name)
        else:
            found |= {before + name} | _keys(below, f"{before}{name}.")
    return found


def _paths(values: Any, schema: Any, before: str = "") -> set[str]:
    found: set[str] = set()
    for name, below in values.items():
        found.add(before + name)
        inner = schema.get("properties", {}).get(name, {})
        if (
            isinstance(below, dict)
            and "properties" in inner
            and name not in ("resources", "affinity")
        ):
            found |= _paths(below, inner, f"{before}{name}.")
    return found
