"""agent-loop-guard: `LoopGuard` with its defaults, told of every call with arguments and result.

STOP and ESCALATE are a BREAK, WARN a WARNING. Its edit distance, in Python and quadratic, would
take hours over a few hundred runs; rapidfuzz's stands in for it, which is the same number.
"""

from collections.abc import Iterator
from typing import Final

from loop_guard import Action, LoopGuard, similarity
from rapidfuzz.distance import Levenshtein

from eval.baselines.told import Finding, Run, Severity, each

SEVERITIES: Final = {
    Action.WARN: Severity.WARNING,
    Action.STOP: Severity.BREAK,
    Action.ESCALATE: Severity.BREAK,
}


def normalized_edit_distance(one: str, other: str) -> float:
    """The Levenshtein distance as a share of the longer text, in [0, 1]."""
    distance: int = Levenshtein.distance(one, other)
    return distance / max(len(one), len(other), 1)


similarity.normalized_edit_distance = normalized_edit_distance


def findings(run: Run) -> Iterator[Finding]:
    """Every decision but to continue."""
    guard = LoopGuard()
    for step in run.steps:
        for call in step.calls:
            decision = guard.check(tool=call.name, args=call.given, output=call.result)
            severity = SEVERITIES.get(decision.action)
            if severity:
                yield Finding(
                    sequence=step.sequence,
                    severity=severity,
                    rule=decision.strategy,
                    summary=decision.reason,
                )


judge = each(findings)
