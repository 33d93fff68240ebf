"""agent-watchdog: `AgentWatchdog`, told of every tool call with its result, and of tokens.

Its time limit is off, because a recording is read faster than it was lived. It halts a run once,
which is a BREAK.
"""

from collections.abc import Iterator

from agent_watchdog import AgentWatchdog, WatchdogHalt

from eval.baselines.told import Finding, Run, Severity, Step, each


def findings(run: Run) -> Iterator[Finding]:
    """The halt, if there is one."""
    watchdog = AgentWatchdog(timeout_seconds=None)
    sequence = 0
    try:
        with watchdog.watch(run_id=run.session_id):
            for step in run.steps:
                sequence = step.sequence
                _report(watchdog, step)
    except WatchdogHalt as halt:
        yield Finding(
            sequence=sequence,
            severity=Severity.BREAK,
            rule=halt.report.reason.value,
            summary=halt.report.message,
        )


def _report(watchdog: AgentWatchdog, step: Step) -> None:
    watchdog.record_tokens(token_in=step.tokens_in or 0, token_out=step.tokens_out or 0)
    for call in step.calls:
        watchdog.record_tool_call(call.name, args=call.given, output=call.result)


judge = each(findings)
