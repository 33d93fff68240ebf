"""Runs that are stuck, in the ways in which agents get stuck: each is told to change course.

Written by people who had not seen the rules. Nothing is said before the run is stuck, and what is
said comes no later than it did when the row was added.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.evaluation.detecting import PolicyDetector
from sidecar.presets import DEFAULT
from tests.evaluation.recorded import scripted

DATA = Path(__file__).parents[1] / "data" / "stuck.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
DETECTOR = PolicyDetector(policy=DEFAULT)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_stuck_run_is_told_to_change_course(row: dict[str, Any]) -> None:
    marks = DETECTOR.marks(scripted(row))
    assert marks, "nothing was said"
    assert row["stuck_from"] <= marks[0].sequence <= row["told"]
