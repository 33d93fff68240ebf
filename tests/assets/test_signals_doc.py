"""docs/signals.md is what the code says."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_document_is_current() -> None:
    page = runpy.run_path(str(ROOT / "scripts" / "render_signals.py"))["render"]()

    assert (ROOT / "docs" / "signals.md").read_text() == page, "run make docs"
