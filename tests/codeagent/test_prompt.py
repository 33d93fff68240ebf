"""What the model is told of the tools that it has."""

from pathlib import Path
from typing import Any

import pytest

from sidecar.codeagent.agent import CodeAgent, Surroundings
from sidecar.codeagent.tools.folder_and_web import FolderAndWeb
from sidecar.codeagent.tools.model_search import ModelSearch
from sidecar.codeagent.tools.pages import WebPages
from sidecar.codeagent.tools.searching import LocalIndex
from sidecar.testing.fake_model import FakeModel
from sidecar.testing.model_script import Say

pytestmark = pytest.mark.process

TOOLS = {"web_search", "visit_webpage", "grounded_query", "read_file", "describe_image"}


async def told(**surroundings: Any) -> str:
    """The system prompt."""
    model = FakeModel([Say(text="FINAL_ANSWER: 42")])
    await CodeAgent(Surroundings(model=model, **surroundings)).run("6 x 7?")
    return model.requests[0].system


def offered(prompt: str) -> set[str]:
    return {name for name in TOOLS if f"\n{name}(" in prompt}


@pytest.mark.parametrize(
    ("why", "surroundings", "off"),
    [
        ("nothing is set up", {}, "web_search, visit_webpage, grounded_query"),
        ("pages only", {"pages": WebPages()}, "web_search, grounded_query"),
        ("the model's search only", {"search_of_run": ModelSearch}, "visit_webpage"),
    ],
)
async def test_tools_that_could_only_raise_are_not_offered_and_said_to_be_off(
    why: str, surroundings: Any, off: str
) -> None:
    prompt = await told(**surroundings)
    assert f"Switched off for this task: {off}." in prompt, why
    assert offered(prompt) == TOOLS - set(off.split(", ")), why


async def test_where_every_tool_works_none_is_said_to_be_off(tmp_path: Path) -> None:
    folder = LocalIndex(tmp_path)
    prompt = await told(search=folder, pages=FolderAndWeb(folder, WebPages()))
    assert offered(prompt) == TOOLS and "Switched off" not in prompt


async def test_it_is_told_which_libraries_there_are_and_where_a_block_begins() -> None:
    prompt = " ".join((await told()).split())
    assert "It has Python's standard library; any other package may be missing" in prompt
    assert "each begins in the working directory again" in prompt
