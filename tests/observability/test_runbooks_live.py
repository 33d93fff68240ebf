"""The commands of the runbooks work: each is run against a real sidecar and a real Prometheus.

A query may be answered with nothing, which is right while all is well; that its names are right is
held by tests/assets/test_runbooks.py.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.observability.conftest import Observed
from tests.observability.programs import GRAFANA

pytestmark = pytest.mark.observability

BLOCK: Final = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITHIN_S: Final = 120.0
RUNBOOKS: Final = sorted((GRAFANA / "runbooks").glob("*.md"))
QUERY: Final = "promtool query instant"


def aimed(command: str, observed: Observed) -> str:
    """The command with this test's addresses in place of the default ones."""
    addresses = observed.busy.sidecar.addresses
    places = {
        "http://localhost:9090": observed.prometheus.base,
        "localhost:9464": addresses["telemetry_address"],
        "localhost:9465": addresses["admin_http_address"],
    }
    for default, own in places.items():
        command = command.replace(default, own)
    return command


def environment(observed: Observed) -> dict[str, str]:
    addresses = observed.busy.sidecar.addresses
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SIDECAR_AGENT_ADDRESS": addresses["agent_address"],
        "SIDECAR_ADMIN_ADDRESS": addresses["admin_address"],
        "COLUMNS": "200",
    }


@pytest.mark.parametrize("path", RUNBOOKS, ids=lambda path: path.stem)
def test_each_command_of_the_runbook_works(observed: Observed, path: Path) -> None:
    blocks = BLOCK.findall(path.read_text("utf-8"))
    assert blocks
    for block in blocks:
        command = f"set -euo pipefail\n{aimed(block, observed)}"
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            env=environment(observed),
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
        if QUERY not in block:
            assert done.stdout.strip(), f"{block} says nothing"
