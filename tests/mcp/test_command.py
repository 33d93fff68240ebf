"""`sidecar mcp` as a command: what it needs, and what others do not pay for it."""

import json
import subprocess
import sys

import pytest

from sidecar.mcp.message_schema import message_schema
from sidecar.v1 import run_pb2

ABSENT = """
import sys
sys.modules["mcp"] = None
from sidecar.cli import main
main(["mcp"])
"""

IMPORTED = """
import sys
from sidecar.cli import main
try:
    main({arguments}, standalone_mode=False)
finally:
    print(sorted({{"mcp", "mcp_types", "uvicorn", "starlette"}} & set(sys.modules)))
"""


def run(program: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )


@pytest.mark.process
def test_without_the_sdk_it_says_how_to_get_it() -> None:
    done = run(ABSENT)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "sidecar: there is no package mcp: it comes with the extra, pipx install '.[mcp]'\n"
    )


@pytest.mark.process
@pytest.mark.parametrize("arguments", [["--help"], ["mcp", "--help"], ["sessions", "--help"]])
def test_the_sdk_is_imported_to_serve_only(arguments: list[str]) -> None:
    assert run(IMPORTED.format(arguments=arguments)).stdout.endswith("[]\n")


def test_the_schema_of_a_decision_has_every_field_by_its_original_name() -> None:
    schema = message_schema(run_pb2.Decision)

    assert set(schema["properties"]) == set(run_pb2.Decision.DESCRIPTOR.fields_by_name)
    assert schema["properties"]["rotate"]["properties"]["suggestions"]["type"] == "array"
    assert {"type": "integer"} in schema["properties"]["state"]["anyOf"]
    assert "$ref" not in json.dumps(schema)
