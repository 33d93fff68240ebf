"""What is checked in of deploy/ is current."""

import json
import runpy
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
import yaml

from sidecar.version import VERSION
from tests.deploy.manifests import CHART, KUBERNETES, RENDERED, ROOT, SCHEMA, documents
from tests.deploy.render import SOURCES, digest, values

SCRIPT: Final = runpy.run_path(str(ROOT / "scripts" / "render_chart_schema.py"))
FREE: Final = ("resources", "affinity", "config")
"""Tables whose keys values.yaml does not list."""


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
    schema = json.loads(SCHEMA.read_text())
    given = yaml.safe_load((CHART / "values.yaml").read_text())
    assert _keys(schema) - {"global"} == _paths(given, schema)


def test_the_charts_schema_knows_the_keys_of_the_configuration() -> None:
    assert SCHEMA.read_text() == SCRIPT["render"](), "run scripts/render_chart_schema.py"


@pytest.mark.parametrize(
    "path", [*values(), CHART.parent / "demo-values.yaml"], ids=lambda path: path.name
)
def test_values_that_are_here_are_valid_by_the_charts_schema(path: Path) -> None:
    jsonschema.Draft7Validator(json.loads(SCHEMA.read_text())).validate(
        yaml.safe_load(path.read_text())
    )


@pytest.mark.parametrize("component", SCRIPT["FIXED"])
def test_what_the_chart_sets_is_what_its_schema_takes(component: str) -> None:
    (written,) = [
        yaml.safe_load(each["data"]["config.yaml"])
        for each in documents(RENDERED / "helm" / "full.yaml")
        if each["kind"] == "ConfigMap" and each["metadata"]["name"].endswith(component)
    ]
    for key, taken in SCRIPT["FIXED"][component].items():
        assert written[key] == taken[0], key


def _keys(schema: Any, before: str = "") -> set[str]:
    found: set[str] = set()
    for name, below in schema.get("properties", {}).items():
        if name in FREE:
            found.add(before + name)
        else:
            found |= {before + name} | _keys(below, f"{before}{name}.")
    return found


def _paths(values: Any, schema: Any, before: str = "") -> set[str]:
    found: set[str] = set()
    for name, below in values.items():
        found.add(before + name)
        inner = schema.get("properties", {}).get(name, {})
        if isinstance(below, dict) and "properties" in inner and name not in FREE:
            found |= _paths(below, inner, f"{before}{name}.")
    return found
