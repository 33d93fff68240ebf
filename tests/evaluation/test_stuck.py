"""Runs that are stuck, in the ways in which agents get stuck: each is told to change course.

Written by people who had not seen the rules. Nothing is said before the run is stuck, and what is
said comes no later than it did when the row was added.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from sidecar.core.limits import Limits
from sidecar.evaluation.detecting import PolicyDetector
from sidecar.evaluation.runs import RecordedRun
from sidecar.presets import DEFAULT
from sidecar.v1 import run_pb2

DATA = Path(__file__).parents[1] / "data" / "stuck.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
DETECTOR = PolicyDetector(policy=DEFAULT)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_stuck_run_is_told_to_change_course(row: dict[str, Any]) -> None:
    run = RecordedRun(
        session_id=row["name"],
        source="scripted",
        limits=Limits(),
        turns=tuple(ParseDict(turn, run_pb2.Turn()) for turn in row["turns"]),
    )
    marks = DETECTOR.marks(run)
    assert marks, "nothing was said"
    assert row["stuck_from"] <= marks[0].sequence <= row["told"]
