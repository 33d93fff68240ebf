"""What a policy says of where its thresholds come from."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sidecar.cli import main
from sidecar.config.keys import Config
from sidecar.config.load import load
from sidecar.presets import preset

DIGEST = "0123456789abcdef" * 4


def config(tmp_path: Path, evidence: str) -> Config:
    return load(path=str(file(tmp_path, evidence)), environment={})


def file(tmp_path: Path, evidence: str, *, thresholds: str = "{break: 7}") -> Path:
    path = tmp_path / "sidecar.yaml"
    path.write_text(
        f"policies:\n  mine:\n    signals: {{spin: {thresholds}}}\n    evidence: {evidence}\n"
    )
    return path


def shown(path: Path, *arguments: str) -> str:
    result = CliRunner().invoke(main, ["check-config", "--config", str(path), *arguments])
    assert result.exit_code == 0
    return result.stdout


def test_evidence_changes_nothing(tmp_path: Path) -> None:
    without = config(tmp_path, "{}").policies["mine"]
    assert config(tmp_path, "{runs: 5}").policies["mine"].revision == without.revision
    assert without.revision != preset("default").revision


def test_evidence_is_kept_beside_its_policy(tmp_path: Path) -> None:
    text = f'{{date: 2025-11-21, data_sha256: "{DIGEST}", runs: 5, held_out: {{solved: 2}}}}'
    assert config(tmp_path, text).evidence == {
        "mine": {
            "date": "2025-11-21",
            "data_sha256": DIGEST,
            "runs": 5,
            "held_out": {"solved": 2},
        }
    }


def test_a_policy_without_evidence_has_none(tmp_path: Path) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text("policies: {evidence: {signals: {spin: {break: 8}}}}\n")
    assert load(path=str(path), environment={}).evidence == {}
    assert "EVIDENCE" not in shown(path)


def test_the_founding_block_can_have_evidence_too(tmp_path: Path) -> None:
    path = tmp_path / "sidecar.yaml"
    path.write_text("circuit_breaker: {same_error_hash: {break_threshold: 6}, evidence: {runs: 1}}")
    assert load(path=str(path), environment={}).evidence == {"circuit_breaker": {"runs": 1}}


def test_check_config_shows_evidence_apart_from_settings(tmp_path: Path) -> None:
    lines = shown(file(tmp_path, "{runs: 5, held_out: {solved: 2, stuck: 1}}")).splitlines()
    assert not [line for line in lines if line.startswith("policies.mine.evidence")]
    assert [line.split(maxsplit=2) for line in lines[-3:]] == [
        ["POLICY", "EVIDENCE", "SAYS"],
        ["mine", "runs", "5"],
        ["mine", "held_out", "solved 2, stuck 1"],
    ]


def test_evidence_of_other_thresholds_is_said_to_be_outdated(tmp_path: Path) -> None:
    revision = config(tmp_path, "{}").policies["mine"].revision
    path = file(tmp_path, f'{{revision: "{revision}"}}')
    assert "outdated" not in shown(path)
    assert _current(path) is True

    path = file(tmp_path, f'{{revision: "{revision}"}}', thresholds="{break: 8}")
    assert "mine    outdated  something was changed since: it is now " in shown(path)
    assert _current(path) is False


def test_evidence_that_names_no_revision_is_not_called_outdated(tmp_path: Path) -> None:
    path = file(tmp_path, "{runs: 5}")
    assert "outdated" not in shown(path)
    assert _current(path) is None


def _current(path: Path) -> object:
    policy = json.loads(shown(path, "--format", "json"))["policies"]["mine"]
    return policy["evidence"]["current"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_evidence_is_for_reading_only_and_never_a_setting(tmp_path: Path, form: str) -> None:
    path = file(tmp_path, "{command: 'sidecar tune runs'}")
    assert "sidecar tune runs" in shown(path, "--format", form)
