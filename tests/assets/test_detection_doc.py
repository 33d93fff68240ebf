"""docs/detection.md has the figures of the policies as they are now."""

import os
import re
import runpy
import subprocess
from pathlib import Path
from typing import Final

import pytest

from sidecar.evaluation.baselines import FOUNDING
from sidecar.evaluation.detecting import PolicyDetector
from sidecar.evaluation.gathering import Fault, Gatherer, files_of, labels_in, labels_near
from sidecar.evaluation.rendering.grids import summary
from sidecar.evaluation.rendering.table import plain
from sidecar.evaluation.report import Report, report
from sidecar.presets import PRESETS, preset

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "detection.md").read_text("utf-8")
RUNS: Final = os.environ.get("SIDECAR_RUNS", "")


def measured() -> Report:
    """As `make eval` measures, without the programs."""
    (task,) = re.findall(r"^TASK \?= (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    detectors: list[PolicyDetector] = [PolicyDetector(policy=preset(name)) for name in PRESETS]
    detectors.append(FOUNDING)
    gatherer = Gatherer(
        detectors=detectors,
        labels=labels_in(labels_near([Path(RUNS)])),
        task=re.compile(task.replace("$$", "$")),
    )
    files = [path for path in files_of([Path(RUNS)]) if isinstance(path, Path)]
    found = [result for result in gatherer.gather(files) if not isinstance(result, Fault)]
    return report([case for _, case in found], [detector.name for detector in detectors])


def lines(text: str) -> list[str]:
    """Without what aligns and rules them."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip(" \u2500")]


@pytest.mark.skipif(not RUNS, reason="SIDECAR_RUNS names no folder of recorded runs")
def test_the_figures_are_current() -> None:
    found = measured()
    if summary(found) not in PAGE:
        pytest.skip("the page is about other runs than those of SIDECAR_RUNS")
    names = (*PRESETS, FOUNDING.name)
    rows = [line for line in lines(plain(found)) if any(name in line.split() for name in names)]
    stale = [row for row in rows if row not in lines(PAGE)]

    assert len(rows) > 50
    assert stale == [], "run make eval RUNS=... ARGS='--output FILE', scripts/render_detection.py"


def test_new_figures_replace_the_old_ones() -> None:
    render = runpy.run_path(str(ROOT / "scripts" / "render_detection.py"))["render"]
    once = render(PAGE, "new figures   \n")

    assert once == render(once, "new figures")
    assert once.count("\n```text\nnew figures\n```\n") == 1
    assert once.endswith(PAGE[PAGE.index("<!-- end of figures -->") :])


def test_the_command_of_the_page_sets_up_and_compares_every_baseline_there_is() -> None:
    assert "make eval RUNS=folder\n" in PAGE
    shown = subprocess.run(
        ["make", "--dry-run", "eval", "RUNS=folder"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    programs = sorted(path.parent.name for path in (ROOT / "eval" / "baselines").glob("*/run"))

    assert "sidecar eval folder --baseline founding" in shown
    assert all(f"--baseline {name} " in shown for name in programs)
    assert shown.count("/setup") == len(list((ROOT / "eval" / "baselines").glob("*/setup")))
