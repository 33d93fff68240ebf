"""docs/mcp.md says what is so."""

import json
import re
from pathlib import Path

from click.testing import CliRunner

from sidecar.cli import main
from sidecar.cli.mcp import IDLE_S
from sidecar.mcp.http_sessions import SESSIONS_MAX
from sidecar.mcp.schemas import TURN, decision
from sidecar.mcp.server import EXPLANATION, TOOLS
from sidecar.v1 import run_pb2

TEXT = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
HELP = CliRunner().invoke(main, ["mcp", "--help"]).output


def test_every_option_is_there() -> None:
    options = set(re.findall(r"--[a-z][a-z-]+", HELP)) - {"--help"}

    assert all(f"`{option}`" in TEXT for option in options)


def test_what_hosts_are_given_can_be_read_and_run() -> None:
    blocks = [json.loads(block) for block in re.findall(r"```json\n(.+?)```", TEXT, re.DOTALL)]
    process, http = (block["mcpServers"]["sidecar"] for block in blocks)
    command, *arguments = process["args"]

    assert (process["command"], command) == ("sidecar", "mcp")
    assert set(arguments[::2]) <= set(HELP.split())
    assert http["url"] in TEXT.replace(json.dumps(http), "")
    assert http["headers"]["Authorization"].startswith("Bearer ")


def test_every_tool_argument_and_member_is_there() -> None:
    members = set(decision()["properties"]) - set(run_pb2.Decision.DESCRIPTOR.fields_by_name)

    assert all(f"| `{name}` |" in TEXT for name in (*TOOLS, *members))
    assert all(f"`{name}`" in TEXT for name in TURN)
    assert f"`{EXPLANATION}`" in TEXT


def test_the_bounds_are_those_of_the_code() -> None:
    assert f"At most {SESSIONS_MAX} sessions" in TEXT
    assert f"({IDLE_S:,.0f})" in TEXT
