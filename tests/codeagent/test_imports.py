"""What an agent may never need is imported when it does."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

LATER = ("anthropic", "httpx2", "openpyxl", "pypdf", "bs4", "markdownify", "grpc")


def test_no_library_of_a_tool_or_model_is_imported_before_it_is_used() -> None:
    program = (
        "import sys, sidecar.cli.agent, sidecar.codeagent.agent, sidecar.codeagent.smoke\n"
        f"print([name for name in {LATER!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"
