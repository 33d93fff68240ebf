"""The Dockerfile by its linter, and what it copies by the tree."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from sidecar.config.load import load
from tests.deploy.images import DOCKERFILE
from tests.deploy.installing import TOOLS
from tests.deploy.units import ROOT

CONFIG = ROOT / "deploy" / "image" / "config.yaml"
IGNORED = ROOT / ".dockerignore"


def words(instruction: str) -> list[list[str]]:
    """The arguments of each such instruction."""
    lines = DOCKERFILE.read_text().replace("\\\n", " ").splitlines()
    return [line.split()[1:] for line in lines if line.split()[:1] == [instruction]]


@pytest.mark.deploy
def test_hadolint_finds_nothing() -> None:
    done = subprocess.run(
        [TOOLS / "hadolint", DOCKERFILE], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.deploy
def test_hadolint_does_find_what_is_wrong(tmp_path: Path) -> None:
    wrong = tmp_path / "Dockerfile"
    wrong.write_text(DOCKERFILE.read_text() + "RUN cd /tmp\n")
    done = subprocess.run(
        [TOOLS / "hadolint", wrong], capture_output=True, text=True, check=False, timeout=60
    )
    assert "DL3003" in done.stdout


def test_what_is_copied_is_there_and_is_not_ignored() -> None:
    kept = {line[1:] for line in IGNORED.read_text().splitlines() if line.startswith("!")}
    copied = {
        source
        for arguments in words("COPY")
        if not arguments[0].startswith("--from")
        for source in arguments[:-1]
    }
    assert copied == kept
    assert all((ROOT / source).exists() for source in copied)


def test_it_runs_as_a_number_that_is_not_root() -> None:
    [user] = words("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user[0])


def test_everything_that_it_writes_is_in_a_volume() -> None:
    [[*volumes]] = words("VOLUME")
    declared = {name.strip('[],"') for name in volumes}
    written = {
        str(Path(value).parent if value.endswith(".sock") else value)
        for value in yaml.safe_load(CONFIG.read_text()).values()
        if value.startswith("/")
    }
    assert written == declared


def test_its_configuration_can_be_used_and_agents_have_sockets_only() -> None:
    config = load(path=str(CONFIG), environment={})
    over_tcp = {key: at.target for key, at in config.listeners.items() if not at.path}
    assert over_tcp == {
        "telemetry_address": "0.0.0.0:9464",
        "admin_http_address": "127.0.0.1:9465",
    }
