"""The example around the Java client."""

import re
from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess
from tests.clients.languages import Language, said_by

pytestmark = [pytest.mark.clients, pytest.mark.process]

PATIENT_MS = "20000"
"""For each decision: on a busy machine one may take longer than the client's own 0.2 s."""


def said_by_example(java: Language, address: str) -> str:
    return said_by(java.folder / "example.sh", address, PATIENT_MS)


def test_the_example_is_rotated_and_stops(java: Language, tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        said = said_by_example(java, sidecar.agent)

    kinds = re.findall(r"^turn +\d+ .* (proceed|rotate|commit|halt) ", said, re.MULTILINE)
    assert "rotate" in kinds, said
    assert kinds[-1] in {"commit", "halt"}, said
    assert "closed, heard: true" in said


def test_the_example_reaches_a_sidecar_over_tcp(java: Language, tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        said = said_by_example(java, sidecar.addresses["agent_tcp_address"])

    assert "closed, heard: true" in said


def test_the_example_goes_on_without_a_sidecar(java: Language, tmp_path: Path) -> None:
    said = said_by_example(java, f"unix:{tmp_path}/none")

    assert said.count("proceed") == 60
    assert "closed, heard: false, give-ups: {connect=60}" in said
