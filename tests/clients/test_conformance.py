"""Each client passes the conformance tables; the Python clients are in tests/conformance too."""

import shlex
import subprocess
import sys
from collections.abc import Mapping

import pytest

from sidecar.testing.process import COMMAND
from tests.clients.languages import LANGUAGES

pytestmark = [pytest.mark.clients, pytest.mark.process]

PYTHON_DRIVER = f"{shlex.quote(sys.executable)} -m sidecar.conformance.python_driver"
JOBS = 4
"""Cases wait more than they compute."""
BUSY_MS = 3000
TABLES_WITHIN_S = 600.0
OVER: Mapping[str, tuple[str, ...]] = {
    "unix": (),
    "tcp": ("--only=faults", "--only=nothing", "--only=let go"),
}
"""What is played over each: names are looked up over TCP alone, so that what connects and what must
leave nothing is played over both."""
RUNS = 20
RUNS_WITHIN_S = 3600.0


@pytest.fixture
def driver(language: str, request: pytest.FixtureRequest) -> str:
    """The command of a client's driver, which is built."""
    if language not in LANGUAGES:
        return PYTHON_DRIVER
    request.getfixturevalue(language)
    return shlex.quote(str(LANGUAGES[language].driver))


def played(driver: str, *options: str, within_s: float) -> tuple[list[str], str]:
    """The cases that the client has passed, and what else `sidecar conformance` says."""
    done = subprocess.run(
        [
            *COMMAND,
            "conformance",
            f"--client={driver}",
            f"--jobs={JOBS}",
            f"--slack-ms={BUSY_MS}",
            *options,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=within_s,
    )
    lines = done.stdout.splitlines()
    passed = [line for line in lines if line.startswith("passed ")]
    rest = [line for line in lines if not line.startswith("passed ")]
    return passed, "\n".join([*rest, f"exit code {done.returncode}"])


@pytest.mark.parametrize("address", OVER)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_client_passes_the_cases(driver: str, address: str) -> None:
    cases = OVER[address]
    passed, rest = played(driver, f"--address={address}", *cases, within_s=TABLES_WITHIN_S)

    assert ", 0 failed in " in rest and rest.endswith("\nexit code 0"), rest
    assert len(passed) > (30 if cases else 100)


@pytest.mark.long
@pytest.mark.parametrize("language", ["python", *LANGUAGES])
def test_the_client_passes_the_faults_20_times_in_a_row(driver: str) -> None:
    passed, rest = played(driver, "--only=faults", f"--runs={RUNS}", within_s=RUNS_WITHIN_S)

    assert ", 0 failed in " in rest and rest.endswith("\nexit code 0"), rest
    assert len(passed) >= RUNS and len(passed) % RUNS == 0
