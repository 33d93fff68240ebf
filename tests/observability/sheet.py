"""Draws every panel's real result into one page a dashboard, for a person to look at.

usage: python -m tests.observability.sheet [--seconds N] [--html FOLDER] [FOLDER]

Starts a sidecar with agents at work and a Prometheus beside it, waits N seconds (150) so that there
is something to see, and writes fleet.png, session.png and sidecar.png into FOLDER, by default
docs/images. Chromium takes the pictures. Tempo and Loki are not asked: their panels show the query.
"""

import argparse
import html
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from grafana.src.queries import INFINITY
from tests.observability.charts import draw
from tests.observability.conftest import JOB, ROUNDS_MIN, ROUNDS_WITHIN_S, shipped_rules
from tests.observability.dashboards import (
    NAMES,
    Query,
    ask,
    filled,
    load,
    rows_of,
    sessions_of,
    table_of,
)
from tests.observability.fleet import Busy, busy
from tests.observability.frames import Frames, line_of, merged, organized
from tests.observability.programs import ROOT, Prometheus, prometheus, shipped_config

IMAGES: Final = ROOT / "docs" / "images"
WIDTH: Final = 1380
CELL: Final = 30
"""Pixels of one row of Grafana's grid."""
SHOWN: Final = "boaster"
"""The agent whose run is shown: it is warned, rotates, and is told to commit."""

STYLE: Final = """
body { margin: 0; background: #eef0f3; font: 12px/1.35 "DejaVu Sans", Arial, sans-serif;
  color: #24292e; }
h1 { font-size: 17px; margin: 12px 14px 2px; }
p.about { margin: 0 14px 8px; color: #565c66; max-width: 1300px; }
.sheet { position: relative; }
.panel { position: absolute; box-sizing: border-box; padding: 5px 8px; background: #fff;
  border: 1px solid #d4d8de; overflow: hidden; }
.panel h2 { font-size: 12px; margin: 0 0 3px; white-space: nowrap; overflow: hidden; }
.row { position: absolute; font-weight: 700; font-size: 13px; padding: 6px 10px; }
.big { font-size: 25px; font-weight: 600; margin: 14px 0 0; text-align: center;
  position: relative; }
.spark { position: absolute; left: 0; bottom: 0; }
.none, .note { color: #8a8f98; text-align: center; margin-top: 26px; }
.note { font-family: "DejaVu Sans Mono", monospace; font-size: 11px; text-align: left; }
.tick { font-size: 10px; fill: #6b7280; }
.grid { stroke: #e6e8ec; }
.legend { display: flex; flex-wrap: wrap; gap: 1px 10px; font-size: 10.5px; color: #454b54; }
.legend i { display: inline-block; width: 9px; height: 9px; margin-right: 4px; border-radius: 2px; }
table { border-collapse: collapse; width: 100%; font-size: 11px; }
th { text-align: left; border-bottom: 1px solid #c9ced6; padding: 2px 5px; white-space: nowrap; }
td { border-bottom: 1px solid #eceef1; padding: 2px 5px; max-width: 430px; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; }
td.num, th.num { text-align: right; } a { color: #2f6fd0; text-decoration: underline; }
.bar { display: flex; align-items: center; gap: 8px; margin: 4px 0; }
.bar .label { width: 104px; text-align: right; overflow: hidden; text-overflow: ellipsis; }
.bar .track { flex: 1; background: #eef0f3; height: 13px; }
.bar .track span { display: block; height: 13px; }
.bar .value { width: 66px; font-weight: 600; }
"""


class Asking:
    """Brings what the panels of the dashboards ask for."""

    def __init__(self, prometheus: Prometheus, busy: Busy, *, seconds: float) -> None:
        self._prometheus = prometheus
        self._api = busy.api
        self._seconds = seconds
        held = sessions_of(busy.api)
        self.session = next(each for each in reversed(held) if each.startswith(f"{SHOWN}-"))

    def frames(self, board: str, panel: Mapping[str, Any]) -> Frames:
        """All that a panel shows."""
        queries = [Query(board=board, panel=panel, target=each) for each in panel["targets"]]
        match queries[0].kind:
            case "prometheus":
                return self._of_prometheus(panel, queries)
            case kind if kind == INFINITY:
                target = queries[0].target
                rows = table_of(target, rows_of(self._api, target, session=self.session))
                return Frames(columns=[each["text"] for each in target["columns"]], rows=rows)
            case kind:
                target = queries[0].target
                text = filled(target.get("query") or target["expr"], {"session": self.session})
                return Frames(note=f"{kind}: {text}")

    def _of_prometheus(self, panel: Mapping[str, Any], queries: list[Query]) -> Frames:
        found = {
            query.target["refId"]: ask(self._prometheus, query, seconds=self._seconds)
            for query in queries
        }
        if panel["type"] == "table":
            return organized(merged(found), panel.get("transformations", []))
        frames = Frames(
            lines=[
                line
                for query in queries
                for series in found[query.target["refId"]]
                if (line := line_of(query.target, series)).points
            ]
        )
        if queries[0].target.get("exemplar"):
            kept = self._prometheus.exemplars(filled(queries[0].expr), seconds=self._seconds)
            frames.exemplars = [
                (float(each["timestamp"]), float(each["value"]))
                for series in kept
                for each in series["exemplars"]
            ]
        return frames


def page(asking: Asking, name: str) -> tuple[str, int]:
    """A dashboard's page, and how high it is."""
    board = load(name)
    unit = WIDTH / 24
    parts = []
    bottom = 0
    for panel in board["panels"]:
        at = panel["gridPos"]
        left, top = at["x"] * unit, at["y"] * CELL
        place = f"left:{left:.0f}px;top:{top}px;width:{at['w'] * unit - 4:.0f}px"
        bottom = max(bottom, top + at["h"] * CELL)
        if panel["type"] == "row":
            parts.append(f'<div class="row" style="{place}">{html.escape(panel["title"])}</div>')
            continue
        high = at["h"] * CELL - 4
        room = high - (30 if panel["type"] in ("stat", "heatmap") else 62)
        drawn = draw(panel, asking.frames(name, panel), int(at["w"] * unit - 24), room)
        parts.append(
            f'<div class="panel" style="{place};height:{high}px">'
            f"<h2>{html.escape(panel['title'])}</h2>{drawn}</div>"
        )
    title = board["title"] + (f" — {asking.session}" if name == "session" else "")
    text = (
        f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style><h1>{html.escape(title)}</h1>'
        f'<p class="about">{html.escape(board["description"])}</p>'
        f'<div class="sheet" style="height:{bottom}px">{"".join(parts)}</div>'
    )
    return text, bottom + 90


def photograph(source: Path, target: Path, height: int) -> None:
    """A picture of a page. Raises CalledProcessError where Chromium takes none."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                f"--user-data-dir={profile}", f"--window-size={WIDTH},{height}",
                f"--screenshot={target}", source.resolve().as_uri(),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )  # fmt: skip


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=IMAGES)
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--html", type=Path, help="keep the pages there")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        pages = given.html or here
        pages.mkdir(parents=True, exist_ok=True)
        with busy(here / "busy", speed=2.0) as one:
            config = shipped_config({JOB: [one.metrics_address]}, rules=shipped_rules())
            with prometheus(here / "prometheus", config) as running:
                one.rounds.wait_for(ROUNDS_MIN, within_s=ROUNDS_WITHIN_S)
                threading.Event().wait(given.seconds)
                one.rounds.check()
                asking = Asking(running, one, seconds=given.seconds)
                heights = {}
                for board in NAMES:
                    text, heights[board] = page(asking, board)
                    (pages / f"{board}.html").write_text(text, encoding="utf-8")
        for board, height in heights.items():
            photograph(pages / f"{board}.html", given.folder / f"{board}.png", height)


if __name__ == "__main__":
    main()
