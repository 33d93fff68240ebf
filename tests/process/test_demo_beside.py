"""`sidecar demo --beside`: the fleet at a sidecar that is there already, or is not."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.testing import SidecarProcess
from tests.process.test_demo import DEMO, LONGEST_S, demo, environment

pytestmark = pytest.mark.process

STARTS_NO_SIDECAR = "--state-directory is of a sidecar that is started here"


def sessions(sidecar: SidecarProcess) -> list[str]:
    """Each run's session, as `sidecar sessions` shows them."""
    done = subprocess.run(
        [sys.executable, "-m", "sidecar.cli", "sessions", f"--admin={sidecar.admin}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONGEST_S,
    )
    return [line.split()[0] for line in done.stdout.splitlines() if line.startswith("looper-")]


def test_one_round_is_told_to_the_sidecar_that_is_there(tmp_path: Path) -> None:
    with SidecarProcess(tmp_path) as sidecar:
        done = demo(tmp_path, "--beside", sidecar.agent, "--agents=4", "--speed=50", "--exit")
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(sessions(sidecar)) == 1
    assert "looper" in done.stdout


def test_rounds_follow_each_other_until_the_end_is_asked_for(tmp_path: Path) -> None:
    with (
        SidecarProcess(tmp_path) as sidecar,
        subprocess.Popen(
            [*DEMO, "--beside", sidecar.agent, "--agents=4", "--speed=50"],
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        begun = 0
        while begun < 2:
            begun += process.stdout.readline().startswith("sidecar ")
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LONGEST_S)
        assert process.returncode == 0
        assert len(sessions(sidecar)) >= 1


def test_without_a_sidecar_the_agents_work_all_the_same(tmp_path: Path) -> None:
    nobody = f"unix:{tmp_path}/nobody.sock"
    done = demo(tmp_path, "--beside", nobody, "--agents=2", "--speed=50", "--exit")
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.count("answered") > 1
    assert f"no sidecar at {nobody} answered: the agents were not watched" in done.stdout


@pytest.mark.parametrize("address", ["nowhere", "unix:relative.sock", "localhost:99999"])
def test_an_address_that_is_none_is_refused_before_anything_begins(
    tmp_path: Path, address: str
) -> None:
    done = demo(tmp_path, "--beside", address, "--exit")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"sidecar: --beside {address}: it must be an absolute path, unix:<path>" in done.stderr


def test_a_state_directory_is_of_no_use_beside_another_sidecar(tmp_path: Path) -> None:
    done = demo(tmp_path, "--beside=localhost:1", "--state-directory", str(tmp_path))
    assert done.returncode == 2
    assert STARTS_NO_SIDECAR in done.stderr
