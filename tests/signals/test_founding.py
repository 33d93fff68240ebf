"""The founding systems, run: what they decided on recorded scenarios is decided here.

`breaker.jsonl` holds for each turn the state and the signals that warn and break;
`convergence.jsonl` the signals that break, up to the first turn that has any, and the one that
names the directive.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from google.protobuf.json_format import ParseDict

from sidecar.adapters.convert.turns_in import TurnReader
from sidecar.core.directive import Commit, Decision
from sidecar.core.limits import Limits
from sidecar.core.reading import Severity
from sidecar.core.run import Run
from sidecar.core.turn import Turn
from sidecar.presets import preset
from sidecar.v1 import run_pb2 as pb

DATA: Final = Path(__file__).parents[1] / "data"


def scenarios(name: str) -> list[Any]:
    rows = map(json.loads, (DATA / name).read_text(encoding="utf-8").splitlines())
    return [pytest.param(row, id=row["name"]) for row in rows]


def decide(row: dict[str, Any]) -> list[Decision]:
    policy = preset(row["policy"])
    reader = TurnReader(key=bytes(16), lens=policy.lens)
    run = Run.start(row["name"], policy, limits=Limits(**row.get("limits", {})))
    decisions = []
    for written in row["turns"]:
        turn = reader.read(ParseDict(written, pb.Turn()))
        assert isinstance(turn, Turn)
        run, decision = run.advance(turn)
        decisions.append(decision)
    return decisions


def signals(decision: Decision, severity: Severity) -> list[str]:
    return [reading.signal for reading in decision.readings if reading.severity is severity]


@pytest.mark.parametrize("row", scenarios("breaker.jsonl"))
def test_the_circuit_breaker_decides_as_founded(row: dict[str, Any]) -> None:
    decided = [
        (
            decision.state.name,
            sorted(signals(decision, Severity.WARNING)),
            sorted(signals(decision, Severity.BREAK)),
        )
        for decision in decide(row)
    ]
    expected = [
        (turn["state"], sorted(turn["warning"]), sorted(turn["break"])) for turn in row["expected"]
    ]
    assert decided == expected, row["why"]


@pytest.mark.parametrize("row", scenarios("convergence.jsonl"))
def test_the_convergence_layer_decides_as_founded(row: dict[str, Any]) -> None:
    expected, first = row["expected"]["break"], row["expected"]["first"]
    decisions = decide(row)[: len(expected)]
    breaks = [signals(decision, Severity.BREAK) for decision in decisions]
    assert breaks == expected, row["why"]
    assert not any(signals(decision, Severity.WARNING) for decision in decisions)
    if first is not None:
        assert (breaks[-1][0], decisions[-1].signal) == (first, first)
        assert isinstance(decisions[-1].directive, Commit)


def test_all_scenarios_are_there() -> None:
    assert len(scenarios("breaker.jsonl")) == 90
    assert len(scenarios("convergence.jsonl")) == 175
