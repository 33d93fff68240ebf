"""`sidecar check-config`, and what an invalid configuration does to every command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.config.keys import KEYS
from sidecar.presets import PRESETS, preset

pytestmark = pytest.mark.process

SIDECAR = Path(sys.executable).with_name("sidecar")


def run(
    *arguments: str, directory: Path, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("SIDECAR_")},
        "HOME": str(directory),
        "XDG_CONFIG_HOME": str(directory),
        **(variables or {}),
    }
    return subprocess.run(
        [SIDECAR, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "variables", "where"),
    [
        (("check-config",), {"SIDECAR_LOG_FORMAT": "caf\udce9"}, "SIDECAR_LOG_FORMAT"),
        (("serve", "--log-format", "caf\udce9"), {}, "--log-format"),
    ],
    ids=["variable", "flag"],
)
def test_a_value_that_is_not_utf_8_is_told_in_one_line_that_is(
    tmp_path: Path, arguments: tuple[str, ...], variables: dict[str, str], where: str
) -> None:
    refused = run(*arguments, directory=tmp_path, variables=variables)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        f'sidecar: {where}: log_format = "caf\\udce9" is not right: it must be one of json, text\n'
    )


def test_every_key_is_shown_with_its_origin_and_every_preset_with_its_revision(
    tmp_path: Path,
) -> None:
    file = tmp_path / "sidecar" / "config.toml"
    file.parent.mkdir()
    file.write_text("streams_max = 7\n")
    shown = run(
        *("check-config", "--text-bytes-max", "4096", "--limits-max-turns=5"),
        directory=tmp_path,
        variables={"SIDECAR_LABELS_MAX": "9", "SIDECAR_TEXT_BYTES_MAX": "8192"},
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = {line.split()[0]: line.split() for line in shown.stdout.splitlines() if line}
    assert lines.keys() >= set(KEYS) | set(PRESETS)
    assert lines["streams_max"] == ["streams_max", "7", "file", str(file)]
    assert lines["labels_max"] == ["labels_max", "9", "environment", "SIDECAR_LABELS_MAX"]
    assert lines["text_bytes_max"] == ["text_bytes_max", "4096", "flag", "--text-bytes-max"]
    assert lines["limits.max_turns"] == ["limits.max_turns", "5", "flag", "--limits-max-turns"]
    assert lines["sessions_max"] == ["sessions_max", "10000", "default"]
    for name in PRESETS:
        assert preset(name).revision in lines[name]


def test_programs_get_json(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("policies: {mine: {preset: gaia, limits: {max_turns: 30}}}\n")
    shown = run("check-config", "--format", "json", "--config", str(file), directory=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    report = json.loads(shown.stdout)
    assert report["policies"]["mine"]["limits"]["max_turns"] == 30
    assert {
        "key": "policies.mine.preset",
        "value": "gaia",
        "origin": "file",
        "where": f"{file}:1",
    } in report["values"]


@pytest.mark.parametrize("command", ["check-config", "serve"])
def test_an_invalid_configuration_ends_with_code_2_and_one_line(
    tmp_path: Path, command: str
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("sessions_max: 5\nstreams_max: many\n")
    ended = run(command, "--config", str(file), directory=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f'sidecar: {file}:2: streams_max = "many" is not right: '
        "it must be a whole number from 1 to 65536\n"
    )
