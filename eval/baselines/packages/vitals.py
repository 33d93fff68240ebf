"""agent-vitals: `AgentVitals.step()` with its defaults, once a turn.

It judges four numbers that an agent has to supply, two of which no run file holds; what stands in:

- findings_count: different results so far, of calls that did not fail; of a turn without calls,
  what was said.
- coverage_score ("progress metric"): the share of all results so far that were different.
- total_tokens: as reported, else a quarter of the characters said, asked and given.
- error_count: failed calls so far.

`output_text` is what was said and asked. A snapshot with `any_failure` is a BREAK.
"""

from collections.abc import Iterator
from typing import Final

from agent_vitals import AgentVitals

from eval.baselines.told import Finding, Outcome, Run, Severity, Step, each

CHARACTERS_PER_TOKEN: Final = 4


def findings(run: Run) -> Iterator[Finding]:
    """Every step whose snapshot has a failure."""
    monitor = AgentVitals(mission_id=run.session_id)
    gathered: list[str] = []
    tokens = errors = 0
    for step in run.steps:
        gathered += results(step)
        tokens += spent(step)
        errors += sum(call.outcome is Outcome.ERROR for call in step.calls)
        snapshot = monitor.step(
            findings_count=len(set(gathered)),
            coverage_score=len(set(gathered)) / max(len(gathered), 1),
            total_tokens=tokens,
            error_count=errors,
            output_text=output(step),
        )
        if snapshot.any_failure:
            triggers = (
                snapshot.loop_trigger,
                snapshot.stuck_trigger,
                snapshot.confabulation_trigger,
            )
            yield Finding(
                sequence=step.sequence,
                severity=Severity.BREAK,
                rule=next(filter(None, triggers), "failure"),
            )


def results(step: Step) -> list[str]:
    """What a step brought."""
    if not step.calls:
        return [step.text] if step.text else []
    return [f"{call.name} {call.result}" for call in step.calls if call.outcome is Outcome.OK]


def spent(step: Step) -> int:
    """The tokens of a step, at least 1."""
    if step.tokens_in is not None:
        return step.tokens_in + (step.tokens_out or 0)
    given = sum(len(call.result) for call in step.calls)
    return max((len(output(step)) + given) // CHARACTERS_PER_TOKEN, 1)


def output(step: Step) -> str:
    """What the agent put out: what it said and what it asked for."""
    return "\n".join([step.text, *(f"{call.name} {call.arguments}" for call in step.calls)])


judge = each(findings)
