"""What every test has."""

from pathlib import Path

import pytest
from hypothesis import settings

HERE = Path(__file__).parent
CALLERS = (HERE / "conformance", HERE / "mcp", HERE / "codeagent")
"""Folders whose tests are of those who call a sidecar; they have a target of their own."""

# A busy machine may stop an example for longer than any deadline; speed is measured elsewhere.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(item.path.is_relative_to(folder) for folder in CALLERS):
            item.add_marker(pytest.mark.callers)
