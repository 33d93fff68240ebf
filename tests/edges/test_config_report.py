"""What `sidecar check-config` shows: values with their origins, policies with their revisions."""

import json
from pathlib import Path

import pytest

from sidecar.config.keys import KEYS
from sidecar.config.load import load
from sidecar.config.report import effective, render_effective
from sidecar.presets import PRESETS


def write(directory: Path, text: str) -> str:
    path = directory / "sidecar.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_report_shows_every_value_with_its_origin_and_every_revision(tmp_path: Path) -> None:
    path = write(tmp_path, "limits: {max_turns: 9}\npolicies: {mine: {on_break: stop}}\n")
    config = load(path=path, environment={"SIDECAR_SOCKET_GROUP": ""})
    lines = [line.split() for line in render_effective(config).splitlines()]
    assert ["limits.max_turns", "9", "file", f"{path}:1"] in lines
    assert ["policies.mine.on_break", "stop", "file", f"{path}:2"] in lines
    assert ["socket_group", '""', "environment", "SIDECAR_SOCKET_GROUP"] in lines
    assert ["limits.cost_usd_max", "off", "default"] in lines
    assert {line[0] for line in lines if line} >= set(KEYS)
    shown = {line[0]: line for line in lines if line and line[0] in config.policies}
    assert shown["mine"][1] == config.policies["mine"].revision
    assert shown["default"][:3] == ["default", "(default)", config.policies["default"].revision]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("policies:\n", "policies"),
        ("policies: {mine: }\n", "policies.mine"),
        ("policies: {mine: {limits: }}\n", "policies.mine.limits"),
        ("policies: {mine: {signals: {stall: }}}\n", "policies.mine.signals.stall"),
        ("policies: {mine: {actions: {loop: }}}\n", "policies.mine.actions.loop"),
        ("circuit_breaker:\n", "circuit_breaker"),
        ("circuit_breaker: {no_file_changes: }\n", "circuit_breaker.no_file_changes"),
    ],
)
def test_the_report_shows_a_table_with_nothing_in_it_as_empty(
    tmp_path: Path, text: str, key: str
) -> None:
    path = write(tmp_path, text)
    lines = [
        line.split() for line in render_effective(load(path=path, environment={})).splitlines()
    ]
    assert [key, "{}", "file", f"{path}:1"] in lines


def test_the_report_shows_a_value_that_is_null_as_off(tmp_path: Path) -> None:
    path = write(tmp_path, "policies: {gaia: {limits: {max_turns: null}}}\n")
    lines = [
        line.split() for line in render_effective(load(path=path, environment={})).splitlines()
    ]
    assert ["policies.gaia.limits.max_turns", "off", "file", f"{path}:1"] in lines


def test_the_report_for_programs_is_json_and_spells_policies_out(tmp_path: Path) -> None:
    path = write(tmp_path, "policies: {mine: {actions: {loop: {break: stop}}}}\n")
    report = json.loads(json.dumps(effective(load(path=path, environment={}))))
    assert {"key": "streams_max", "value": 1024, "origin": "default", "where": ""} in report[
        "values"
    ]
    mine = report["policies"]["mine"]
    assert mine["signals"]["stall"]["break"] == 16
    assert mine["actions"] == {"loop": {"break": "stop"}}
    assert report["policies"]["gaia"]["limits"]["max_turns"] == 20


def test_the_report_of_a_policy_can_be_given_back_as_a_policy(tmp_path: Path) -> None:
    spelled = effective(load(environment={}))["policies"]
    own = {name: {k: v for k, v in spelled[name].items() if k != "revision"} for name in PRESETS}
    path = write(tmp_path, json.dumps({"policies": own}))
    again = load(path=path, environment={}).policies
    assert {name: again[name].revision for name in PRESETS} == {
        name: spelled[name]["revision"] for name in PRESETS
    }
