"""agent-patrol: `PatrolMonitor` at its default sensitivity, told of every call and its result.

A step without calls is told as what was said. Run files do not say what the task was, so its rules
on drift and abandonment, which compare with the task, are silent. A critical report is a BREAK.
"""

from collections.abc import Iterator

from agent_patrol import PatrolMonitor
from agent_patrol import Severity as Reported

from eval.baselines.told import Finding, Run, Severity, Step, each


def findings(run: Run) -> Iterator[Finding]:
    """Every report of a pathology."""
    monitor = PatrolMonitor(on_pathology="ignore")
    for step in run.steps:
        for action, result in told(step):
            report = monitor.observe(action, result)
            if report.pathology:
                critical = report.severity is Reported.CRITICAL
                yield Finding(
                    sequence=step.sequence,
                    severity=Severity.BREAK if critical else Severity.WARNING,
                    rule=report.pathology.value,
                    summary=report.evidence,
                )


def told(step: Step) -> Iterator[tuple[str, str]]:
    """A step as the actions it is told of, each with its result."""
    if step.calls:
        yield from ((f"{call.name} {call.arguments}", call.result) for call in step.calls)
    elif step.text:
        yield step.text, ""


judge = each(findings)
