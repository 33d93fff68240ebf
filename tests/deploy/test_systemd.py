"""The unit, its drop-in and its configuration, held against systemd's own tools."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from sidecar.cli.options import USAGE
from sidecar.config.given import environment_name
from sidecar.config.keys import Config
from sidecar.config.load import load
from sidecar.serve import BEAT_S
from tests.deploy import units
from tests.deploy.installing import TOOLS, missing

pytestmark = [
    pytest.mark.deploy,
    pytest.mark.skipif(
        bool(missing()), reason="no systemd tools here: run scripts/install-test-tools.sh deploy"
    ),
]

EXPOSURE_MAX = 2.0
GROUP_OF_ROOT = "0"


@pytest.fixture(params=["as it is", "with the drop-in"])
def unit(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The unit as it would be found, its program being one that is here."""
    copy = tmp_path / units.UNIT.name
    text = units.UNIT.read_text()
    assert units.PROGRAM in text
    copy.write_text(text.replace(units.PROGRAM, str(TOOLS / "sidecar")))
    if request.param == "with the drop-in":
        folder = tmp_path / f"{units.UNIT.name}.d"
        folder.mkdir()
        shutil.copy(units.DROP_IN, folder)
    return copy


def asked(*command: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=60,
    )


def test_systemd_finds_nothing_wrong_with_the_unit(unit: Path) -> None:
    done = asked("systemd-analyze", "verify", "--man=no", unit)
    assert (done.returncode, done.stdout) == (0, "")


def test_systemd_does_find_what_is_wrong(tmp_path: Path) -> None:
    wrong = tmp_path / units.UNIT.name
    wrong.write_text(units.UNIT.read_text().replace("WatchdogSec=10", "WatchdogSecs=10"))
    done = asked("systemd-analyze", "verify", "--man=no", wrong)
    assert "WatchdogSecs" in done.stdout


def test_what_the_unit_exposes_is_at_most_two_of_ten(unit: Path) -> None:
    done = asked("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
    found = re.search(r"Overall exposure level for \S+: (\d+\.\d)", done.stdout)
    assert found is not None, done.stdout
    assert float(found[1]) <= EXPOSURE_MAX


def test_the_user_and_the_group_of_the_unit_are_those_that_sysusers_makes() -> None:
    done = asked("systemd-sysusers", "--dry-run", "--root=/nowhere", units.SYSUSERS)
    assert f"Creating group '{units.one(units.UNIT, key='Group')}'" in done.stdout
    assert f"Creating user '{units.one(units.UNIT, key='User')}'" in done.stdout


def test_the_times_of_the_unit_fit_those_of_the_sidecar() -> None:
    config = Config()
    assert int(units.one(units.UNIT, key="TimeoutStopSec")) > config.shutdown_timeout_s
    # A sign of life is due twice in this time, and looked at once a heartbeat.
    assert int(units.one(units.UNIT, key="WatchdogSec")) / 2 > 2 * BEAT_S
    assert units.one(units.UNIT, key="RestartPreventExitStatus") == str(USAGE)
    open_files = int(units.one(units.UNIT, key="LimitNOFILE"))
    assert open_files > 3 * config.streams_max


def test_every_path_of_the_configuration_is_one_that_the_unit_makes() -> None:
    given = yaml.safe_load(units.CONFIG.read_text())
    assert units.one(units.UNIT, key="RuntimeDirectory") == Path(units.RUNTIME).name
    assert units.one(units.UNIT, key="StateDirectory") == Path(units.STATE).name
    paths = [value for value in given.values() if str(value).startswith("/")]
    assert paths
    assert all(Path(path).is_relative_to(units.RUNTIME) or path == units.STATE for path in paths)
    assert given["socket_group"] == units.one(units.UNIT, key="Group")
    assert given["socket_mode"] == "0660"


def test_the_readme_has_each_file_installed_where_the_unit_looks_for_it() -> None:
    lines = (units.ROOT / "deploy" / "README.md").read_text()
    program, *arguments = units.one(units.UNIT, key="ExecStart").split()
    assert program == units.PROGRAM
    assert f"PIPX_BIN_DIR={Path(program).parent} pipx install ." in lines
    assert arguments[:2] == ["serve", "--config"]
    for source, target in (
        (units.CONFIG, arguments[2]),
        (units.SYSUSERS, "/usr/lib/sysusers.d/agent-sidecar.conf"),
        (units.UNIT, f"/etc/systemd/system/{units.UNIT.name}"),
    ):
        assert f"install -Dm644 {source.relative_to(units.ROOT)} {target}\n" in lines


def test_what_the_drop_in_sets_is_known_and_its_credential_is_the_one_that_is_loaded() -> None:
    given = units.service(units.DROP_IN)
    variables = dict(pair.split("=", 1) for pair in given["Environment"])
    own = {name for name in variables if name.startswith("SIDECAR_")}
    assert own == {environment_name("model_key_file")}
    [credential] = given["LoadCredential"]
    assert variables[environment_name("model_key_file")] == "%d/" + credential.partition(":")[0]


def test_the_configuration_can_be_used_and_leaves_no_door_to_other_users(tmp_path: Path) -> None:
    copy = tmp_path / "config.yaml"
    group = units.one(units.UNIT, key="Group")
    copy.write_text(
        units.CONFIG.read_text().replace(
            f"socket_group: {group}", f'socket_group: "{GROUP_OF_ROOT}"'
        )
    )
    listeners = load(path=str(copy), environment={}).listeners
    assert {key for key, address in listeners.items() if not address.path} == {"telemetry_address"}
    assert listeners["telemetry_address"].is_local
