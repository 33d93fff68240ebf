"""What the tests of the edges share."""

import pytest


@pytest.fixture
def no_exporter(monkeypatch: pytest.MonkeyPatch) -> None:
    """No span leaves the process, whatever the machine's variables ask for."""
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
