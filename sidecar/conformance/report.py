"""What a run of the tables says: for a person, or as one JSON object."""

import json
from collections.abc import Sequence
from typing import Any

from sidecar.conformance.running import Outcome
from sidecar.conformance.table import Case

_STDERR_INDENT = "      | "


def line_of(outcome: Outcome) -> str:
    """One case, on one line; with what was expected and what came where it failed."""
    if not outcome.is_played:
        return f"not played  {outcome.case.table}: {outcome.case.name}"
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
    return _printable("\n".join(said))


def summary_of(outcomes: Sequence[Outcome], *, took_s: float) -> str:
    """The last line; another says why cases were not played. `took_s`: from the first on."""
    passed, failed, left = _sorted(outcomes)
    line = f"{len(passed)} passed, {len(failed)} failed in {took_s:.1f} s"
    return f"{line}\n{len(left)} not played: {left[0].fault}" if left else line


def as_json(outcomes: Sequence[Outcome]) -> str:
    """The report as one JSON object."""
    passed, failed, left = _sorted(outcomes)
    report = {
        "passed": len(passed),
        "failed": len(failed),
        "not_played": len(left),
        "cases": [_row(one) for one in outcomes],
    }
    return _printable(json.dumps(report, ensure_ascii=False, indent=2))


def list_of(cases: Sequence[Case]) -> str:
    """A line a case."""
    return "\n".join(f"{case.table}: {case.name}" for case in cases)


def list_as_json(cases: Sequence[Case]) -> str:
    """The cases as one JSON object."""
    rows = [
        {"name": case.name, "table": case.table, "rules": list(case.rules), "about": case.about}
        for case in cases
    ]
    return json.dumps({"cases": rows}, ensure_ascii=False, indent=2)


def _sorted(outcomes: Sequence[Outcome]) -> tuple[list[Outcome], list[Outcome], list[Outcome]]:
    """Those that passed, those that failed, and those that were not played."""
    return (
        [one for one in outcomes if not one.fault],
        [one for one in outcomes if one.fault and one.is_played],
        [one for one in outcomes if not one.is_played],
    )


def _row(outcome: Outcome) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": outcome.case.name,
        "table": outcome.case.table,
        "rules": list(outcome.case.rules),
        "passed": not outcome.fault,
        "played": outcome.is_played,
        "took_s": round(outcome.took_s, 3),
    }
    if outcome.fault:
        row |= {"step": outcome.step, "fault": outcome.fault, "stderr": outcome.stderr}
    return row


def _cut(text: str, characters_max: int = 300) -> str:
    return text if len(text) <= characters_max else f"{text[:characters_max]}..."


def _printable(text: str) -> str:
    """The text with halves of surrogate pairs as escapes, which are those of JSON, too: a driver
    may say them, and no output takes them."""
    return text.encode(errors="backslashreplace").decode()
