"""The texts of sola-st/llm-agents-study: OpenHands on SWE-bench, RepairAgent on Defects4J.

`trajectories/AGENT/parsed/thoughts_actions/RUN` has what the agent thought and did, one iteration
after another; `results_actions/RUN` beside it has the results. `rq1/*_iterations.csv` and the lists
in README.md say which runs were solved. Nothing says which calls failed: that is read off the
results.
"""

import ast
import csv
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sidecar.datasets.moves import (
    Answered,
    Broken,
    Call,
    Document,
    Fault,
    Finding,
    Move,
    Recording,
    Said,
)
from sidecar.datasets.shapes import outcome, slug

THOUGHTS = "thoughts_actions"
RESULTS = "results"
SOLVED = "solved"
README = "readme"
"""Roles of the files beside it."""

_HEADS = {
    THOUGHTS: "(?:Thought and Action at iteration|Iteration) {number}: Thought=",
    RESULTS: "Result at iteration {number}: ",
}
_ACTION = "; Action="
_NEXT = re.compile(r"; (?:Next action: |Action at iteration\d+ : )")
_PREAMBLE = re.compile(r"\AThe result of executing that last command is:\s*")
_EXPERIMENT = re.compile(r"\Aexperiment_\d+_")
_FAILED = re.compile(
    r"\A(?:ERROR:|Failure:|Command .{1,80}? returned: Error)"
    r"|^(?:Traceback \(most recent call last\):|BUILD FAILED|[\w.]*(?:Error|Exception): )"
    r"|[\]:] No such file or directory\r?$|^There are [1-9]\d* failing test cases",
    re.MULTILINE,
)


def convert(document: Document) -> Iterator[Finding]:
    """The recording of one run."""
    agent = document.parts[-4] if len(document.parts) >= 4 else "agent"
    results = list(_split(document.beside.get(RESULTS, ""), RESULTS))
    moves: list[Move] = []
    for number, iteration in enumerate(_split(document.text, THOUGHTS)):
        result = _result(results[number]) if number < len(results) else None
        found = _moves(iteration, result)
        if found is None:
            yield Broken(
                place=f"iteration {number}",
                problem="no action in it; expected Thought=...; Action={'name': ...}",
            )
        else:
            moves.extend(found)
    if not moves:
        yield Broken(place="1", problem='no iterations; expected "Iteration 0: Thought=..."')
        return
    yield Recording(
        session_id=slug("sola", agent, document.stem),
        agent=slug("sola", agent),
        task=_EXPERIMENT.sub("", document.stem),
        solved=_solved(document, agent),
        moves=tuple(moves),
    )


def _split(text: str, kind: str) -> Iterator[str]:
    """The bodies of the iterations. A result may hold anything, a head among it, so each head is
    looked for with the number that comes next."""
    number, start = 0, None
    while True:
        pattern = r"(?:\A|\n---\n)" + _HEADS[kind].format(number=number)
        head = re.compile(pattern).search(text, start or 0)
        if start is not None:
            yield text[start : head.start() if head else len(text)].removesuffix("\n---\n")
        if head is None:
            return
        number, start = number + 1, head.end()


def _result(body: str) -> str:
    """The result without the action that follows it."""
    ends = [found.start() for found in _NEXT.finditer(body)]
    return _PREAMBLE.sub("", body[: ends[-1]] if ends else body).strip()


def _moves(iteration: str, result: str | None) -> list[Move] | None:
    thought, found, action = iteration.rpartition(_ACTION)
    try:
        asked = ast.literal_eval(action.strip()) if found else None
        calls = tuple(_calls(asked)) if isinstance(asked, Mapping) else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        # No literal, one that Python's parser finds too deep, or values that JSON does not have.
        return None
    if calls is None:
        return None
    said = Said(text=thought.strip(), calls=calls)
    if result is None:
        return [said]
    if not said.calls:
        return [said, Fault(kind="no command", message=result)]
    return [said, Answered(text=result, outcome=outcome(_FAILED.search(result)))]


def _calls(asked: Mapping[str, Any]) -> Iterator[Call]:
    if name := asked.get("name"):
        arguments = asked.get("args", asked.get("arguments", {}))
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        yield Call(name=str(name), arguments=text)


def _solved(document: Document, agent: str) -> bool | None:
    rows = csv.DictReader(document.beside.get(SOLVED, "").splitlines())
    for row in rows:
        if row.get("instance_id") == document.stem:
            return row.get("is_resolved") == "True"
    task = _EXPERIMENT.sub("", document.stem)
    return _lists(document.beside.get(README, ""), agent).get(task)


def _lists(readme: str, agent: str) -> dict[str, bool]:
    """What the lists below the agent's heading say of its tasks."""
    found: dict[str, bool] = {}
    ours, solved = False, False
    for line in readme.splitlines():
        if line.startswith("#"):
            ours = agent.casefold() in line.casefold()
        elif line.endswith(" instances:"):
            solved = line.startswith("Resolved")
        elif ours:
            found[line.strip()] = solved
    return found
