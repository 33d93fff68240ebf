"""The stuck detector of OpenHands before its SDK ("V0"), with a person at hand.

Our reading of the rules in All-Hands-AI/OpenHands at 156d0686c46aafb0fa9d291da6421fb6f64dddc0,
openhands/controller/stuck.py: it looks back to the last message of a person (`headless_mode` off),
before each step of the agent. A stuck agent is stopped, which is a BREAK.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from eval.baselines.rules.openhands_events import (
    OBSERVATIONS,
    Event,
    Kind,
    alike,
    alternate,
    events,
    last,
)
from eval.baselines.told import Call, Finding, Run, Severity, each

PAIRS: Final = 4
ERRORS: Final = 3
MESSAGES: Final = 3
ALTERNATING: Final = 6
CONDENSATIONS: Final = 10

COMMANDS: Final = frozenset({"run", "execute_bash", "bash", "shell", "terminal"})
"""Tools that run a shell command: by output of equal commands only the exit code is compared."""
CELLS: Final = frozenset({"run_ipython", "execute_ipython_cell"})
"""Tools that run Python: what they give is no error to the detector, whatever it says."""
EDIT: Final = "edit_file_by_replace("
EDIT_LINES: Final = 3
"""Edits are the same when their first lines are; an edit of fewer lines is like no other."""

ACTIONS: Final = frozenset({Kind.ACTION, Kind.MESSAGE})

_JUPYTER: Final = ("[Jupyter current working directory:", "[Jupyter Python interpreter:")
_UNTERMINATED: Final = "SyntaxError: unterminated string literal (detected at line"
_CELL_LINES_MIN: Final = 6
_SYNTAX_ERRORS: Final = (
    "SyntaxError: invalid syntax. Perhaps you forgot a comma?",
    "SyntaxError: incomplete input",
)


def findings(run: Run) -> Iterator[Finding]:
    """Every step after which the agent would be stopped."""
    history: list[Event] = []
    for step in run.steps:
        rule = ""
        for event in events(step):
            if event.kind is Kind.PERSON:
                history.clear()
                continue
            history.append(as_kept(event, len(history)))
            if event.kind is not Kind.ACTION:
                rule = rule or stuck(history)
        rule = rule or stuck(history)
        if rule:
            yield Finding(sequence=step.sequence, severity=Severity.BREAK, rule=rule)


def as_kept(event: Event, place: int) -> Event:
    """An event with the identity V0 compares it by, at its place in the history."""
    call = event.call
    if call is None:
        return event
    if call.name in COMMANDS and event.kind is Kind.RESULT:
        return replace(event, identity=(Kind.RESULT, call.canonical))
    if call.name in CELLS and event.kind is Kind.ERROR:
        return replace(event, kind=Kind.RESULT)
    if call.name in CELLS and event.kind is Kind.ACTION and EDIT in _code(call.given):
        lines = _code(call.given).split("\n")
        opening = tuple(lines[:EDIT_LINES]) if len(lines) >= EDIT_LINES else (place,)
        return replace(event, identity=opening)
    return event


def stuck(history: Sequence[Event]) -> str:
    """The first rule by which the agent is stuck; empty: none."""
    actions = last(history, ACTIONS, ALTERNATING)
    observed = last(history, OBSERVATIONS, ALTERNATING)
    if alike(actions[:PAIRS], PAIRS) and alike(observed[:PAIRS], PAIRS):
        return "repeated_action"
    if alike(actions[:ERRORS], ERRORS) and _errors(observed[:ERRORS]):
        return "repeated_error"
    if _monologue(history):
        return "monologue"
    if alternate(actions, ALTERNATING) and alternate(observed, ALTERNATING):
        return "alternating"
    return "context_window" if _condensing(history) else ""


def _errors(observed: Sequence[Event]) -> bool:
    if len(observed) < ERRORS:
        return False
    if all(event.kind is Kind.ERROR for event in observed):
        return True
    cells = [_lines(event.call) for event in observed if event.call and event.call.name in CELLS]
    return len(cells) == ERRORS and _same_syntax_error(cells)


def _same_syntax_error(cells: Sequence[list[str]]) -> bool:
    """Whether all cells end in one syntax error at one line."""
    errors = {lines[-3] if len(lines) >= ERRORS else "" for lines in cells}
    noted = all(
        len(lines) >= ERRORS
        and lines[-2].startswith(_JUPYTER[0])
        and lines[-1].startswith(_JUPYTER[1])
        for lines in cells
    )
    if len(errors) != 1 or not noted:
        return False
    error = errors.pop()
    heads = {lines[0].strip() for lines in cells}
    placed = len(heads) == 1 and heads.pop().startswith("Cell In[1], line")
    long_enough = all(len(lines) >= _CELL_LINES_MIN for lines in cells)
    known = any(text in error for text in _SYNTAX_ERRORS)
    return _UNTERMINATED in error or (known and placed and long_enough)


def _monologue(history: Sequence[Event]) -> bool:
    """Whether the last messages of the agent are the same, with nothing observed between them."""
    places = [place for place, event in enumerate(history) if event.kind is Kind.MESSAGE]
    said = [history[place] for place in places[-MESSAGES:]]
    if not alike(said, MESSAGES):
        return False
    between = history[places[-MESSAGES] : places[-1]]
    return not any(event.kind in OBSERVATIONS for event in between)


def _condensing(history: Sequence[Event]) -> bool:
    """Whether there were many condensations and two of the last followed one another."""
    places = [place for place, event in enumerate(history) if event.kind is Kind.CONDENSATION]
    recent = places[-CONDENSATIONS:]
    return len(recent) == CONDENSATIONS and any(
        there == here + 1 for here, there in pairwise(recent)
    )


def _lines(cell: Call) -> list[str]:
    return cell.result.strip().split("\n")


def _code(given: Any) -> str:
    match given:
        case {"code": str(code)}:
            return code
    return ""


judge = each(findings)
