"""Policies as files."""

from pathlib import Path
from typing import Any

import pytest

from sidecar.config.load import load
from sidecar.config.policies import policy_from
from sidecar.core.policy import Policy
from sidecar.presets import PRESETS, preset
from sidecar.tuning.writing import changes_of, nearest_preset, yaml_of

OWN: dict[str, dict[str, Any]] = {
    "thresholds": {"signals": {"spin": {"break": 8}, "stall": "off"}},
    "another preset": {"preset": "execute", "signals": {"loop": "on", "drift": "on"}},
    "limits": {"limits": {"max_turns": 90, "cost_usd_max": 0.5}},
    "limits taken off": {"preset": "gaia", "limits": {"max_turns": None}},
    "actions": {"on_break": "rest", "actions": {"loop": {"break": "stop", "warning": "pause"}}},
    "lists": {"waiting_tools": ["wait", "12", "a: b"], "navigation_tools": []},
    "everything else": {
        "force_continue": True,
        "nudge_first": False,
        "repeat_after": 7,
        "trip_turns": None,
        "subjects": "masked",
        "answer_form": 'say "so": off\n# 1',
        "wait_max_s": 12.5,
    },
}


def policies() -> dict[str, Policy]:
    default = preset("default")
    return {
        **{name: preset(name) for name in PRESETS},
        **{name: policy_from("mine", block, base=default) for name, block in OWN.items()},
    }


@pytest.mark.parametrize("name", policies())
@pytest.mark.parametrize("base", PRESETS)
def test_a_policy_is_read_back_as_it_was(tmp_path: Path, name: str, base: str) -> None:
    policy = policies()[name]
    path = tmp_path / "policy.yaml"
    path.write_text(yaml_of({"policies": {"again": changes_of(policy, base)}}), encoding="utf-8")
    again = load(path=str(path), environment={}).policies["again"]
    assert again.revision == policy.revision


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_nearest_to_itself_and_is_written_in_a_line(name: str) -> None:
    assert nearest_preset(preset(name)) == name
    assert changes_of(preset(name), name) == {"preset": name}


def test_no_more_is_written_than_what_was_changed() -> None:
    policy = policies()["thresholds"]
    assert changes_of(policy, "default") == {
        "preset": "default",
        "signals": {"spin": {"break": 8}, "stall": "off"},
    }


TEXTS = ["123456789012", "12e4567890ab", "1.5", "2025-11-21", "true", "null", "~", "", " ", "off-"]


@pytest.mark.parametrize("text", [*TEXTS, "a: b", "#", "'", '"', "\\d+$", "é ☃ 𝄞", "x" * 300])
def test_a_text_is_read_back_as_a_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        yaml_of({"policies": {"mine": {"evidence": {"command": text, "tuned_from": text}}}}),
        encoding="utf-8",
    )
    evidence = load(path=str(path), environment={}).evidence["mine"]
    assert evidence == {"command": text, "tuned_from": text}
