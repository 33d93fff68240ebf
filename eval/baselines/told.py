"""What a baseline is told of a run, and what it says: plain values, and JSON between processes.

Standard library only, because each package is asked in a virtual environment of its own.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Protocol


class Outcome(StrEnum):
    """What became of a call."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"


class Severity(StrEnum):
    """What a baseline asks for: WARNING, that the agent be told; BREAK, that the run stop."""

    WARNING = "warning"
    BREAK = "break"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call and its result."""

    name: str
    arguments: str = "{}"
    """As reported: JSON text in the order it was written, or a digest."""
    result: str = ""
    """Text or digest; empty where none was reported."""
    outcome: Outcome = Outcome.OK

    @property
    def given(self) -> Any:
        """The arguments as a JSON value; the text itself where it is no JSON."""
        try:
            return json.loads(self.arguments)
        except ValueError:
            return self.arguments

    @property
    def canonical(self) -> str:
        """Name and arguments with sorted keys: equal for calls that differ only in key order."""
        return f"{self.name} {json.dumps(self.given, sort_keys=True, ensure_ascii=False)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One turn of the agent's loop."""

    sequence: int
    """From 1."""
    person_spoke: bool = False
    """Since the step before."""
    text: str = ""
    """What the assistant said, before its calls."""
    calls: tuple[Call, ...] = ()
    failures: tuple[str, ...] = ()
    """The kinds of the errors that were reported."""
    tokens_in: int | None = None
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One recorded run."""

    session_id: str
    steps: tuple[Step, ...]
    source: str = ""
    """The agent it is of."""
    task: str = ""
    """What it was about. Told, as `solved` is, only to a baseline that learns from past runs."""
    solved: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a baseline says of one step."""

    sequence: int
    severity: Severity
    rule: str
    summary: str = ""


class Judge(Protocol):
    """A baseline."""

    def __call__(self, runs: Iterable[Run], /) -> Iterator[tuple[str, Finding]]:
        """The findings, each with its run's session id."""
        ...


class RunJudge(Protocol):
    """A baseline that looks at one run at a time."""

    def __call__(self, run: Run, /) -> Iterator[Finding]:
        """The findings on a run, in order."""
        ...


def each(judge: RunJudge) -> Judge:
    """A baseline that looks at one run at a time, asked about many."""

    def judge_all(runs: Iterable[Run], /) -> Iterator[tuple[str, Finding]]:
        for run in runs:
            for finding in judge(run):
                yield run.session_id, finding

    return judge_all


def run_line(run: Run) -> str:
    """A run as one line of JSON."""
    return json.dumps(asdict(run), ensure_ascii=False) + "\n"


def read_run_line(line: str) -> Run:
    """A run from the line that `run_line` wrote."""
    told = json.loads(line)
    return Run(**told | {"steps": tuple(_step(step) for step in told["steps"])})


def finding_line(session_id: str, finding: Finding) -> str:
    """A finding as `sidecar eval --baseline` reads it."""
    return json.dumps({"session_id": session_id, **asdict(finding)}, ensure_ascii=False) + "\n"


def _step(told: dict[str, Any]) -> Step:
    calls = tuple(Call(**call | {"outcome": Outcome(call["outcome"])}) for call in told["calls"])
    return Step(**told | {"calls": calls, "failures": tuple(told["failures"])})
