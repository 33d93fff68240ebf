"""What `default` has to reach, so that no change of a rule or a threshold loses it unnoticed."""

import json
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from sidecar.core.limits import Limits
from sidecar.core.reading import Severity
from sidecar.evaluation.baselines import FOUNDING
from sidecar.evaluation.cases import Case
from sidecar.evaluation.detecting import Mark, PolicyDetector
from sidecar.evaluation.gathering import Fault, Gatherer, files_of, labels_in, labels_near
from sidecar.evaluation.measures import Measures, measure
from sidecar.evaluation.runs import RecordedRun
from sidecar.presets import DEFAULT
from sidecar.v1 import run_pb2

RUNS = os.environ.get("SIDECAR_RUNS", "")
PEERS = Path(__file__).parents[1] / "data" / "peers.jsonl"
DETECTOR = PolicyDetector(policy=DEFAULT)

recorded = pytest.mark.skipif(not RUNS, reason="SIDECAR_RUNS names no folder of recorded runs")


STUCK_FOR_A_WHILE = {
    "openhands/interactive_user_message_clears",
    "openhands/monologue_broken_by_observation",
    "openhands/context_window_10_then_user_interactive",
    "gemini-cli/recovery_text_after_strike",
}
"""Scenarios that are not stuck at their end, and begin with a stretch that other scenarios of the
same suites are to be caught for."""


@cache
def peers() -> list[tuple[dict[str, Any], list[Mark]]]:
    """The scenarios of other detectors' tests and complaints, and what was found in them."""
    found = []
    for row in map(json.loads, PEERS.read_text("utf-8").splitlines()):
        run = RecordedRun(
            session_id=row["name"],
            source="peers",
            limits=Limits(**row.get("limits", {})),
            turns=tuple(ParseDict(turn, run_pb2.Turn()) for turn in row["turns"]),
        )
        found.append((row, list(DETECTOR.marks(run))))
    return found


def breaks(marks: Sequence[Mark]) -> list[int]:
    """The turns with a BREAK."""
    return [mark.sequence for mark in marks if mark.severity is Severity.BREAK]


def test_of_the_stuck_scenarios_95_percent_have_a_break() -> None:
    caught = {
        row["name"]: bool(breaks(marks)) for row, marks in peers() if row["expected"]["stuck"]
    }
    missed = [name for name, is_caught in caught.items() if not is_caught]

    assert len(caught) == 44
    assert len(missed) <= 0.05 * len(caught), missed


def test_of_the_other_scenarios_2_percent_end_in_a_break() -> None:
    free = {
        row["name"]: len(row["turns"]) in breaks(marks)
        for row, marks in peers()
        if not row["expected"]["stuck"]
    }
    false = [name for name, is_broken in free.items() if is_broken]

    assert len(free) == 46
    assert len(false) <= 0.02 * len(free), false


def test_the_other_scenarios_are_nudged_only_where_they_were_stuck_for_a_while() -> None:
    nudged = {row["name"] for row, marks in peers() if marks and not row["expected"]["stuck"]}

    assert nudged == STUCK_FOR_A_WHILE


def test_a_needless_nudge_stands_in_turns_that_another_scenario_is_to_be_caught_for() -> None:
    to_catch = [contents(row) for row, _ in peers() if row["expected"]["stuck"]]
    needless = [
        contents(row)
        for row, marks in peers()
        if not row["expected"]["stuck"] and any(mark.severity is Severity.WARNING for mark in marks)
    ]

    assert len(needless) == 3
    for turns in needless:
        assert any(turns[: len(stuck)] == stuck for stuck in to_catch)


def contents(row: dict[str, Any]) -> list[dict[str, Any]]:
    """A scenario's turns, whatever their numbers."""
    return [{**turn, "sequence": 0} for turn in row["turns"]]


@cache
def cases() -> Sequence[Case]:
    gatherer = Gatherer(detectors=[DETECTOR, FOUNDING], labels=labels_in(labels_near([Path(RUNS)])))
    files = [path for path in files_of([Path(RUNS)]) if isinstance(path, Path)]
    return [result[1] for result in gatherer.gather(files) if not isinstance(result, Fault)]


@cache
def measured(detector: str = "default") -> Measures:
    return measure(cases(), detector)


@recorded
def test_solved_runs_are_left_alone() -> None:
    solved = measured().solved

    assert solved.break_.of > 50
    assert solved.break_.count <= 0.01 * solved.break_.of
    assert solved.directive.count <= 0.04 * solved.directive.of


@recorded
def test_no_run_that_was_judged_not_stuck_has_a_break() -> None:
    assert measured().not_stuck.break_.count == 0


@recorded
def test_two_thirds_of_the_stuck_runs_get_a_directive() -> None:
    stuck = measured().stuck.directive

    assert stuck.of > 5
    assert stuck.count >= 0.65 * stuck.of


@recorded
def test_four_fifths_of_the_stuck_runs_do_but_for_web_agents_that_circle_in_meaning() -> None:
    """They word the same search anew each time, which no rule over equal calls can see."""
    literal = [
        case
        for case in cases()
        if case.judged
        and case.judged.stuck
        and not (case.source.startswith("whowhen_") and case.judged.kind == "circling")
    ]
    found = measure(literal, "default").stuck.directive

    assert found.count >= 0.8 * found.of


@recorded
def test_half_of_those_get_it_within_three_turns() -> None:
    median = measured().delay.median

    assert median is not None
    assert median <= 3


@recorded
def test_more_turns_are_saved_than_by_the_founding_rule_and_none_is_lost() -> None:
    assert measured().saved.turns >= measured("founding").saved.turns
    assert measured().lost.turns == 0
