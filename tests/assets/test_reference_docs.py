"""docs/metrics.md and docs/spans.md are what the code says."""

import runpy
from pathlib import Path

import pytest

from sidecar.adapters.semconv import ATTRIBUTES, METRICS

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("name", ["metrics.md", "spans.md"])
def test_the_document_is_current(name: str) -> None:
    pages = runpy.run_path(str(ROOT / "scripts" / "render_docs.py"))["pages"]()
    written = (ROOT / "docs" / name).read_text("utf-8")
    assert written == pages[name], "run scripts/render_docs.py"


def test_the_documents_name_every_metric_and_attribute() -> None:
    metrics = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    spans = (ROOT / "docs" / "spans.md").read_text("utf-8")
    for metric in METRICS:
        assert metrics.count(f"| `{metric.name}` |") == 1
    for attribute in ATTRIBUTES:
        assert spans.count(f"| `{attribute.name}` |") == len(attribute.on)
