"""What a run of the tables says: for a person, or as one JSON object."""

import json
from collections.abc import Sequence
from typing import Any

from sidecar.conformance.running import Outcome

_STDERR_INDENT = "      | "


def line_of(outcome: Outcome) -> str:
    """One case, on one line; with what was expected and what came where it failed."""
    mark = "FAILED" if outcome.fault else "passed"
    line = f"{mark}  {outcome.case.table}: {outcome.case.name} ({outcome.took_s:.2f} s)"
    if not outcome.fault:
        return line
    rules = ", ".join(map(str, outcome.case.rules)) or "the driver"
    said = [line, f"    {outcome.case.about} (rules: {rules})"]
    if outcome.step:
        said.append(f"    at {_cut(outcome.step)}")
    said.append(f"    {outcome.fault}")
    said += [_STDERR_INDENT + each for each in outcome.stderr.splitlines()]
    return "\n".join(said)


def summary_of(outcomes: Sequence[Outcome]) -> str:
    """The last line."""
    failed = sum(1 for one in outcomes if one.fault)
    took_s = sum(one.took_s for one in outcomes)
    return f"{len(outcomes) - failed} passed, {failed} failed in {took_s:.1f} s"


def as_json(outcomes: Sequence[Outcome]) -> str:
    """The report as one JSON object."""
    failed = [one for one in outcomes if one.fault]
    report = {
        "passed": len(outcomes) - len(failed),
        "failed": len(failed),
        "cases": [_row(one) for one in outcomes],
    }
    return json.dumps(report, ensure_ascii=False, indent=2)


def _row(outcome: Outcome) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": outcome.case.name,
        "table": outcome.case.table,
        "rules": list(outcome.case.rules),
        "passed": not outcome.fault,
        "took_s": round(outcome.took_s, 3),
    }
    if outcome.fault:
        row |= {"step": outcome.step, "fault": outcome.fault, "stderr": outcome.stderr}
    return row


def _cut(text: str, characters_max: int = 300) -> str:
    return text if len(text) <= characters_max else f"{text[:characters_max]}..."
