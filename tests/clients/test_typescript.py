"""The example around the TypeScript client."""

import re
from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess
from tests.clients.languages import LANGUAGES, Language, said_by

PATIENT_MS = "20000"
"""For each decision: on a busy machine one may take longer than the client's own 0.2 s."""


def said_by_example(typescript: Language, address: str) -> str:
    agent = typescript.folder / "dist" / "example" / "agent.js"
    return said_by("node", agent, PATIENT_MS, SIDECAR_ADDRESS=address)


@pytest.mark.clients
@pytest.mark.process
def test_the_example_is_rotated_and_then_stops(typescript: Language, tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        said = said_by_example(typescript, sidecar.agent)

    kinds = re.findall(r"^  (\w+): ", said, re.MULTILINE)
    assert kinds == ["rotate", "commit"], said
    assert said.endswith("closed\n")


@pytest.mark.clients
@pytest.mark.process
def test_the_example_reaches_a_sidecar_over_tcp(typescript: Language, tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        said = said_by_example(typescript, sidecar.addresses["agent_tcp_address"])

    assert said.endswith("\nclosed\n")


@pytest.mark.clients
@pytest.mark.process
def test_the_example_goes_on_without_a_sidecar(typescript: Language, tmp_path: Path) -> None:
    said = said_by_example(typescript, f"unix:{tmp_path}/none")

    assert said.count("(no decision: connect)") == 12
    assert said.endswith("not closed: no sidecar has heard it\n")


def test_the_lock_file_names_no_download_address() -> None:
    lock = LANGUAGES["typescript"].folder / "package-lock.json"

    assert '"resolved"' not in lock.read_text()


@pytest.mark.clients
def test_its_declarations_name_no_inner_types_of_what_it_is_built_on(typescript: Language) -> None:
    # Those that the compiler infers go with one version of `@types/node`, and not with the next.
    for declared in (typescript.folder / "dist" / "src").glob("*.d.ts"):
        assert 'import("' not in declared.read_text("utf-8"), declared.name
