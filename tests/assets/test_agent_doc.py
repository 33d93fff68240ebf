"""docs/agent.md says what is so."""

import re
from pathlib import Path

from click.testing import CliRunner

from sidecar.cli import main
from sidecar.codeagent.agent import CodeAgent
from sidecar.codeagent.result import StopReason
from sidecar.codeagent.tools.asking import DescribeImage, GroundedQuery
from sidecar.codeagent.tools.read_file import ReadFile
from sidecar.codeagent.tools.web import VisitWebpage, WebSearch
from tests.codeagent.founding import ANSWERS, DIFFERENT, OBSERVED, RUNS, recorded

TEXT = (Path(__file__).parents[2] / "docs" / "agent.md").read_text("utf-8")


def test_every_deviation_from_the_founding_agent_has_a_row() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("|")]
    for name in (*ANSWERS, *OBSERVED, *DIFFERENT, *RUNS):
        assert any(name in row for row in rows), name


def test_every_step_that_has_a_row_is_other_than_in_the_founding_agent() -> None:
    steps = {scenario["name"] for scenario in recorded("step")}
    assert set(re.findall(r"code-\d{3}", TEXT)) & steps == {*ANSWERS, *OBSERVED}


def test_every_tool_stop_reason_and_option_is_there() -> None:
    for tool in (WebSearch, VisitWebpage, GroundedQuery, ReadFile, DescribeImage):
        assert f"`{tool.spec.name}({tool.spec.signature.split('=')[0]}" in TEXT
    assert all(f"`{reason}`" in TEXT for reason in StopReason)
    helps = [["agent", name, "--help"] for name in ("ask", "smoke", "bench")]
    shown = " ".join(CliRunner().invoke(main, words).output for words in helps)
    options = {word.strip(",") for word in shown.split() if word.startswith("--")}
    undocumented = options - {"--help", "--config", "--format"}
    assert all(f"`{option}" in TEXT for option in undocumented)
    assert CodeAgent.__name__ in TEXT
