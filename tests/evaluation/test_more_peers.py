"""Runs translated from other detectors' tests and from complaints about them, one fact each.

Beside `peers.jsonl`, which is graded as a whole: here every row has to hold.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.reading import Severity
from sidecar.evaluation.detecting import PolicyDetector
from sidecar.presets import DEFAULT
from tests.evaluation.recorded import scripted

DATA = Path(__file__).parents[1] / "data" / "more_peers.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
DETECTOR = PolicyDetector(policy=DEFAULT)


def breaks(row: dict[str, Any]) -> list[int]:
    """The turns of the run with a BREAK under `default`."""
    marks = DETECTOR.marks(scripted(row))
    return [mark.sequence for mark in marks if mark.severity is Severity.BREAK]


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["expected"]["stuck"]], ids=lambda row: row["name"]
)
def test_a_stuck_run_has_a_break(row: dict[str, Any]) -> None:
    assert breaks(row), row["why"]


@pytest.mark.parametrize(
    "row", [row for row in ROWS if not row["expected"]["stuck"]], ids=lambda row: row["name"]
)
def test_a_run_that_gets_on_does_not_end_in_a_break(row: dict[str, Any]) -> None:
    assert row["turns"][-1]["sequence"] not in breaks(row), row["why"]
