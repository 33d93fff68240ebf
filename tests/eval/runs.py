"""Runs to ask baselines about: built by hand, and translated from the peers' own test suites."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from google.protobuf import json_format

from eval.baselines.feed import told
from eval.baselines.told import Call, Judge, Outcome, Run, Severity, Step
from sidecar.core.limits import Limits
from sidecar.evaluation.runs import RecordedRun
from sidecar.v1 import run_pb2

PEERS: Final = Path(__file__).parents[1] / "data" / "peers.jsonl"

_LETTERS: Final = {Severity.WARNING: "w", Severity.BREAK: "b"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One run of a peer's test suite, and what that suite expects."""

    name: str
    run: Run
    stuck: bool
    by_turn: int
    """Where the peer speaks at the latest; the last turn where it must not."""


def scenarios(origin: str) -> Iterator[Scenario]:
    """The scenarios that come from one peer."""
    for line in PEERS.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["name"].startswith(f"{origin}/"):
            turns = tuple(json_format.ParseDict(turn, run_pb2.Turn()) for turn in row["turns"])
            run = RecordedRun(session_id=row["name"], source=origin, limits=Limits(), turns=turns)
            yield Scenario(
                name=row["name"],
                run=told(run),
                stuck=row["expected"]["stuck"],
                by_turn=row["expected"]["by_turn"] or len(turns),
            )


def called(name: str = "look", *, result: str = "", text: str = "", **arguments: object) -> Step:
    """A step with one call that succeeded."""
    call = Call(name=name, arguments=json.dumps(arguments), result=result)
    return Step(sequence=1, calls=(call,), text=text)


def failed(name: str = "look", *, result: str = "no such file", text: str = "") -> Step:
    """A step with one call that failed."""
    call = Call(name=name, result=result, outcome=Outcome.ERROR)
    return Step(sequence=1, calls=(call,), text=text)


def said(text: str) -> Step:
    """A step without calls."""
    return Step(sequence=1, text=text)


def spoken_to(step: Step) -> Step:
    """The step, after a person has spoken."""
    return replace(step, person_spoke=True)


def run_of(*steps: Step) -> Run:
    """A run of these steps, numbered."""
    numbered = tuple(replace(step, sequence=place) for place, step in enumerate(steps, start=1))
    return Run(session_id="one", steps=numbered)


def verdicts(judge: Judge, *steps: Step) -> str:
    """What a baseline says of each step: `w` for a warning, `b` for a break, `.` for nothing."""
    letters = ["."] * len(steps)
    for _, finding in judge([run_of(*steps)]):
        letters[finding.sequence - 1] = _LETTERS[finding.severity]
    return "".join(letters)
