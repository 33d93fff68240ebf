"""Roo Code's limit on identical calls, with its default of three.

Our reading of the rule in RooCodeInc/Roo-Code at 89068c4ff9ca082b7d0fb9f0836be3c4eef19ea1,
src/core/tools/ToolRepetitionDetector.ts, the last version that still exempts scrolling (later ones
have no browser). A blocked call is not executed and the person is asked, which is a BREAK here.
"""

from collections.abc import Iterator
from typing import Final

from eval.baselines.told import Call, Finding, Run, Severity, each

ALLOWED: Final = 3
SCROLLS: Final = frozenset({"scroll_down", "scroll_up"})


def findings(run: Run) -> Iterator[Finding]:
    """Every call that is blocked; the count begins again after it."""
    before, count = "", 0
    for step in run.steps:
        for call in step.calls:
            if scrolls(call):
                continue
            count = count + 1 if call.canonical == before else 1
            before = call.canonical
            if count > ALLOWED:
                before, count = "", 0
                yield Finding(
                    sequence=step.sequence,
                    severity=Severity.BREAK,
                    rule="identical_calls",
                    summary=f"{call.name} was called {ALLOWED + 1} times in a row",
                )


def scrolls(call: Call) -> bool:
    """Whether a call only scrolls the browser; it neither counts nor resets."""
    match call.given:
        case {"action": str(action)} if call.name == "browser_action":
            return action in SCROLLS
    return False


judge = each(findings)
