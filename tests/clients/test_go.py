"""The example around the Go client."""

import re
from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess
from tests.clients.languages import Language, said_by

pytestmark = [pytest.mark.clients, pytest.mark.process]

PATIENT = "20s"
"""For each decision: on a busy machine one may take longer than the client's own 0.2 s."""


def said_by_example(go: Language, address: str) -> str:
    return said_by(go.folder / "bin" / "example", "-address", address, "-timeout", PATIENT)


def test_the_example_is_rotated_and_then_stops(go: Language, tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        said = said_by_example(go, sidecar.agent)

    kinds = re.findall(r"^turn +\d+  .{14}  (\w+)", said, re.MULTILINE)
    assert kinds.count("rotate") >= 1, said
    assert kinds[-1] == "commit", said
    assert "closed, heard: true" in said


def test_the_example_goes_on_without_a_sidecar(go: Language, tmp_path: Path) -> None:
    said = said_by_example(go, f"unix:{tmp_path}/none")

    assert said.count("proceed") == 60
    assert "heard: false, give-ups: map[connect:60]" in said


def test_the_example_reaches_a_sidecar_over_tcp(go: Language, tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        said = said_by_example(go, sidecar.addresses["agent_tcp_address"])

    assert "closed, heard: true" in said
