"""An interpreter, and each way to contain one, for the tests that hold for all of them."""

import shutil
from collections.abc import AsyncIterator

import pytest

from sidecar.codeagent.runner.interpreter import Interpreter
from sidecar.codeagent.runner.isolation import WAYS, Isolation
from tests.codeagent.containment import made


@pytest.fixture(params=WAYS, ids=lambda way: way.name)
def way(request: pytest.FixtureRequest) -> Isolation:
    found: Isolation = request.param
    if found.name == "bwrap" and shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed: scripts/install-test-tools.sh")
    return found


@pytest.fixture
async def interpreter() -> AsyncIterator[Interpreter]:
    async with made() as interpreter:
        yield interpreter
