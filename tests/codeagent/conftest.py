"""Each way to contain an interpreter, for the tests that hold for all of them."""

import shutil

import pytest

from sidecar.codeagent.runner.isolation import WAYS, Isolation


@pytest.fixture(params=WAYS, ids=lambda way: way.name)
def way(request: pytest.FixtureRequest) -> Isolation:
    found: Isolation = request.param
    if found.name == "bwrap" and shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed: scripts/install-test-tools.sh")
    return found
