#!/usr/bin/env python3
"""Puts the figures of `make eval RUNS=folder ARGS='--output FILE'` into docs/detection.md.

usage: scripts/render_detection.py FILE
"""

import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "detection.md"
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"


def render(page: str, figures: str) -> str:
    """The page with these figures in place of those that it has."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    lines = "\n".join(line.rstrip() for line in figures.strip().splitlines())
    return f"{head}{BEGIN}\n```text\n{lines}\n```\n\n{END}{tail}"


if __name__ == "__main__":
    figures = Path(sys.argv[1]).read_text(encoding="utf-8")
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")
