"""Writes the dashboards as the JSON that Grafana imports.

usage: python -m grafana.src [FOLDER]      (default: grafana/dashboards)
"""

import sys
from pathlib import Path

from grafana.src.render import FOLDER, rendered


def main() -> None:
    """Write each into the folder."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in rendered().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
