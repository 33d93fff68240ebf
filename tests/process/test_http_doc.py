"""The curl lines of docs/http.md, run against a real sidecar, answer what the page shows."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.testing import SidecarProcess

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "http.md"
README = ROOT / "README.md"
TURN = re.compile(r"```sh\n(curl localhost:4301.*?)```", re.DOTALL)
BLOCKS = re.compile(r"```sh\n(.*?)```\n\n```json\n(.*?)```", re.DOTALL)


def holds(shown: Any, answered: Any) -> bool:
    """Whether all that is shown was answered; lists are compared by their first items."""
    if isinstance(shown, dict):
        return isinstance(answered, dict) and all(
            name in answered and holds(part, answered[name]) for name, part in shown.items()
        )
    if isinstance(shown, list):
        return len(answered) >= len(shown) and all(
            holds(part, answered[at]) for at, part in enumerate(shown)
        )
    return bool(shown == answered)


def run(command: str, sidecar: SidecarProcess) -> Any:
    """What a command asks of the sidecar, instead of the default addresses; its last answer."""
    for written, key in (("4301", "agent_http_tcp_address"), ("9465", "admin_http_address")):
        command = command.replace(f"localhost:{written}", sidecar.addresses[key])
    done = subprocess.run(
        ["bash", "-ec", command], capture_output=True, text=True, timeout=30, check=True
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture
def sidecar(tmp_path: Path) -> Iterator[SidecarProcess]:
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    with SidecarProcess(tmp_path) as serving:
        yield serving


def test_the_line_of_the_readme_gets_a_decision(sidecar: SidecarProcess) -> None:
    (command,) = TURN.findall(README.read_text("utf-8"))

    assert run(command, sidecar)["decision"]["sequence"] == 1


def test_every_line_answers_what_the_page_shows(sidecar: SidecarProcess) -> None:
    text = PAGE.read_text("utf-8")
    blocks = BLOCKS.findall(text)
    assert len(blocks) == text.count("```sh\n") == 9
    for command, shown in blocks:
        answered = run(command, sidecar)
        assert holds(json.loads(shown), answered), (command, answered)
