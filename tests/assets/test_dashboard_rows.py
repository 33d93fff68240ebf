"""What jq makes of the JSON API's answers, by answers that are made up for it."""

from collections.abc import Mapping, Sequence
from typing import Any

import jq
import pytest

from grafana.src import rows
from grafana.src.board import SOME
from sidecar.core.reading import Severity
from sidecar.core.turn import Progress, Turn
from sidecar.signals.drift import DRIFT, DriftThresholds
from tests.observability.dashboards import VARIABLES, filled


def test_an_operators_command_comes_after_the_turn_that_it_followed() -> None:
    at = "2026-01-01T00:00:0{}Z"
    decided = {"state": "STATE_HEALTHY", "proceed": {}}
    answer = {
        "turns": [
            {"sequence": 1, "time": at.format(1), "decision": {**decided, "cause": "CAUSE_TURN"}},
            {
                "sequence": 2,
                "time": at.format(3),
                "state_before": "STATE_HEALTHY",
                "decision": {
                    "cause": "CAUSE_TURN",
                    "state": "STATE_TRIPPED",
                    "signal": "loop",
                    "halt": {"reason": "enough"},
                },
            },
        ],
        "commands": [
            {
                "command": {"after_sequence": 1},
                "time": at.format(2),
                "decision": {**decided, "cause": "CAUSE_OPERATOR"},
            }
        ],
    }
    found = jq.compile(rows.DECISIONS).input_value(answer).all()
    assert [(row["turn"], row["cause"], row["directive"]) for row in found] == [
        (1, "operator", "proceed"),
        (2, "turn", "halt"),
    ]
    assert found[1]["change"] == "healthy → tripped"
    assert found[1]["reason"] == "enough"


WARNED = {"signal": "drift", "severity": "SEVERITY_WARNING"}


def shares(*readings: Mapping[str, Any]) -> Any:
    """The points of one turn that are drawn of its readings, above none and below."""
    turn = {
        "time": "2026-01-01T00:00:00Z",
        "decision": {"readings": [each for each in readings if "severity" in each]},
        "readings_below": [each for each in readings if "severity" not in each],
    }
    (row,) = jq.compile(rows.SHARES).input_value({"turns": [turn]}).all()
    del row["time"]
    return row


@pytest.mark.parametrize("least", [0.6, 1.0])
def test_a_share_of_the_plan_below_its_minimum_is_drawn_above_the_line(least: float) -> None:
    done = Progress(tasks_completed=10, tasks_aligned=3)
    thresholds = DriftThresholds(plan_alignment_min=least)
    _, reading = DRIFT.step(DRIFT.initial, Turn(sequence=1, progress=done), thresholds)
    assert reading.value < reading.threshold == least
    drawn = shares({**WARNED, "value": reading.value, "threshold": reading.threshold})
    assert drawn["drift"] == pytest.approx(2 - 0.3 / least)


def test_a_share_of_the_plan_above_its_minimum_is_drawn_below_the_line() -> None:
    done = Progress(tasks_completed=10, tasks_aligned=9)
    _, reading = DRIFT.step(DRIFT.initial, Turn(sequence=1, progress=done), DRIFT.defaults)
    assert reading.severity is Severity.NONE
    drawn = shares({"signal": "drift", "value": reading.value, "threshold": reading.threshold})
    assert drawn["drift"] == pytest.approx(2 - 0.9 / 0.6)


def test_what_is_held_against_a_maximum_is_drawn_as_a_share_of_it() -> None:
    assert shares(
        {**WARNED, "value": 0.5, "threshold": 0.4},
        {**WARNED, "signal": "max_turns", "value": 80, "threshold": 100},
        {**WARNED, "signal": "loop", "value": 4, "threshold": 4},
        {"signal": "stall", "value": 2, "threshold": 8},
    ) == {"drift": 1.25, "max_turns": 0.8, "loop": 1, "stall": 0.25}
    assert shares({"signal": "drift", "value": 0.1, "threshold": 0.4}) == {"drift": 0.25}
    assert shares({**WARNED, "value": 2}) == {"drift": 1}


ODD_NAMES = ["planner (v2)", "c++", "a.b", 'the "best"', "back\\slash", "a|b", "x, y", "größe"]


def chosen_of(names: Sequence[str], value: str) -> list[str]:
    """Agents of the rows of one run each, where Grafana has `value` for the variable *Agent*."""
    at = {"open_time": "2026-01-01T00:00:00Z", "active_time": "2026-01-01T00:00:00Z"}
    answer = {"sessions": [{"session_id": name, "agent_name": name, **at} for name in names]}
    program = jq.compile(filled(rows.RUNS, {**VARIABLES, "agent": value}))
    return sorted(row["agent"] for row in program.input_value(answer).all())


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_agent_is_chosen_by_its_name_whatever_characters_it_has(name: str) -> None:
    assert chosen_of([*ODD_NAMES, "c", "axb"], f"{{{name}}}") == [name]


def test_several_agents_are_chosen_by_their_names_and_all_by_none() -> None:
    assert chosen_of(["c++", "a.b", "c"], "{c++,a.b}") == ["a.b", "c++"]
    assert chosen_of(ODD_NAMES, SOME) == sorted(ODD_NAMES)


def test_a_run_counts_as_tripped_by_what_it_was_told_and_not_by_its_state() -> None:
    at = {"open_time": "2026-01-01T00:00:00Z", "active_time": "2026-01-01T00:00:00Z"}
    told: Sequence[tuple[str, str]] = [
        ("STATE_TRIPPED", "rotate"),
        ("STATE_RECOVERY", "commit"),
        ("STATE_TRIPPED", "halt"),
        ("STATE_HEALTHY", "proceed"),
    ]
    answer = {
        "sessions": [
            {"session_id": how, "state": state, "last_directive": {how: {"reason": "x"}}, **at}
            for state, how in told
        ]
    }
    program = jq.compile(filled(rows.OFFENDERS))
    (row,) = program.input_value(answer).all()
    assert (row["runs"], row["tripped"], row["warned"], row["run"]) == (4, 2, 1, "halt")
