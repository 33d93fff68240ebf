"""Runs that go well, in the ways in which agents work: nothing is said to any of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from sidecar.core.limits import Limits
from sidecar.evaluation.detecting import Mark, PolicyDetector
from sidecar.evaluation.runs import RecordedRun
from sidecar.presets import DEFAULT
from sidecar.v1 import run_pb2

DATA = Path(__file__).parents[1] / "data" / "left_alone.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
DETECTOR = PolicyDetector(policy=DEFAULT)


LOOKED_UP_IN_VAIN = "tau_user_lookup_three_emails"
"""An `Error: user not found` that its agent calls no failure; three of them, a person's word before
each, are one where it does not say so."""


def marks(row: dict[str, Any]) -> tuple[Mark, ...]:
    """What `default` makes of the run."""
    run = RecordedRun(
        session_id=row["name"],
        source="scripted",
        limits=Limits(),
        turns=tuple(ParseDict(turn, run_pb2.Turn()) for turn in row["turns"]),
    )
    return DETECTOR.marks(run)


def without_outcomes(row: dict[str, Any]) -> dict[str, Any]:
    """The run by an agent that does not say which calls failed."""
    silent = [
        {
            **turn,
            "tool_calls": [
                {name: told for name, told in call.items() if name != "outcome"}
                for call in turn.get("tool_calls", [])
            ],
        }
        for turn in row["turns"]
    ]
    return {**row, "turns": silent}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_a_run_that_goes_well_is_left_alone(row: dict[str, Any]) -> None:
    assert marks(row) == ()


@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row["name"] != LOOKED_UP_IN_VAIN],
    ids=lambda row: row["name"],
)
def test_it_is_left_alone_though_it_says_no_outcomes(row: dict[str, Any]) -> None:
    assert marks(without_outcomes(row)) == ()
