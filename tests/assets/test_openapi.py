"""The OpenAPI descriptions are what is served, and valid."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from sidecar.adapters.json_http import agent_document, control_document

ROOT = Path(__file__).parent.parent.parent
SERVED = {"openapi.agent.json": agent_document, "openapi.admin.json": control_document}


@pytest.fixture(scope="module")
def rendered() -> dict[str, str]:
    documents: dict[str, str] = runpy.run_path(str(ROOT / "scripts/render_openapi.py"))[
        "documents"
    ]()
    return documents


@pytest.mark.parametrize("name", SERVED)
def test_the_description_is_current(name: str, rendered: dict[str, str]) -> None:
    assert SERVED[name]().decode() == rendered[name], "run scripts/render_openapi.py"


@pytest.mark.parametrize("name", SERVED)
def test_the_description_is_openapi_3_1(name: str) -> None:
    document = json.loads(SERVED[name]())

    assert document["openapi"] == "3.1.0"
    validate(document, cls=OpenAPIV31SpecValidator)


@pytest.mark.parametrize("name", SERVED)
def test_its_paths_are_those_of_wherever_it_is_served(name: str) -> None:
    assert "servers" not in json.loads(SERVED[name]())


@pytest.mark.parametrize("name", SERVED)
def test_everything_in_it_is_described(name: str) -> None:
    document = json.loads(SERVED[name]())
    for schema in document["components"]["schemas"].values():
        assert schema["description"].strip()
        for part in schema.get("properties", {}).values():
            assert part.get("description", "").strip() or "const" in part
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["description"].strip()


def test_agents_are_described_no_control() -> None:
    text = agent_document().decode()
    paths: dict[str, Any] = json.loads(text)["paths"]

    assert not any(verb in path for path in paths for verb in (":continue", ":reset", ":close"))
    assert "ContinueSession" not in text
