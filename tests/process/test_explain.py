"""`sidecar explain SESSION`: what it shows is what it shows of the same run in a file."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sidecar.cli import main
from sidecar.testing import SidecarProcess

pytestmark = pytest.mark.process

MORE_THAN_AN_ANSWER_HOLDS = 1_101
"""Turns. GetSession gives at most 1,000."""


def explained(*arguments: str) -> Any:
    shown = CliRunner().invoke(main, ["explain", "--format", "json", *arguments])
    assert shown.exit_code == 0, shown.output
    return json.loads(shown.stdout)


def test_a_long_run_that_tripped_early_is_explained_whole(tmp_path: Path) -> None:
    call = {"name": "ls", "outcome": "OUTCOME_ERROR", "result_text": "ls: cannot access 'x'"}
    looped = [{"turn": {"tool_calls": [call]}}] * 5
    quiet: list[dict[str, Any]] = [{"turn": {}}] * (MORE_THAN_AN_ANSWER_HOLDS - len(looped))
    path = tmp_path / "early.jsonl"
    path.write_text("\n".join(map(json.dumps, [{"open": {}}, *looped, *quiet])))
    with SidecarProcess(tmp_path) as live:
        sent = CliRunner().invoke(main, ["replay", f"--target={live.agent}", str(path)])
        assert sent.exit_code == 0, sent.output
        session = explained(f"--admin={live.admin}", "early")
    file = explained(str(path))

    assert [row["turn"] for row in session["rows"]] == [row["turn"] for row in file["rows"]]
    assert session["directives"] == file["directives"]
    assert [panel["title"] for panel in session["panels"]] == [
        panel["title"] for panel in file["panels"]
    ]
    assert file["directives"]
