"""Runs that go well, in the ways in which agents work: nothing is said to any of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.evaluation.detecting import PolicyDetector
from sidecar.presets import DEFAULT
from tests.evaluation.recorded import scripted

DATA = Path(__file__).parents[1] / "data" / "left_alone.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
DETECTOR = PolicyDetector(policy=DEFAULT)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_run_that_goes_well_is_left_alone(row: dict[str, Any]) -> None:
    assert DETECTOR.marks(scripted(row)) == ()
