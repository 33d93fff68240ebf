#!/usr/bin/env python3
"""Writes docs/signals.md: the breaker's diagram and the policies' numbers come from the code."""

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from sidecar.core.breaker import ON_CONTINUE, TRANSITIONS
from sidecar.core.reading import Severity
from sidecar.presets import PRESETS, preset
from sidecar.signals import SIGNALS

PAGE: Final = Path(__file__).parent.parent / "docs" / "signals.md"

INTRODUCTION: Final = """\
# Signals, breaker, policies

<!-- Written by scripts/render_signals.py. Do not edit. -->

Each turn is read by eight signals; `circling`, the last of the table, is what a model says where a judge is on. A reading has a severity (none, warning, break), the value
measured, the threshold it was held against, and one sentence of evidence. A signal whose measurement
is absent holds its state and says nothing: an agent that never reports `files_changed` never stalls.

| signal | measures | raised by |
|---|---|---|"""

READING = """
The order is the order of precedence: a decision lists breaks before warnings, each in this order.
`circling` alone never halts a run: the most that it asks for is a commit, and no halt follows that.
A **notice** is a warning that the breaker does not count: a budget that runs low is no misbehaviour.

## What a loop is

A repeat counts only if it taught nothing: the same call with the same result (clocks, durations, ids
and temporary names masked), and nothing new from other calls in between. So a test run three times
between edits is no loop, nor a job polled until it is done: a changed result starts the count again.

Also seen are

- one answer to ever different questions, and cycles of two to six calls;
- turns that bring nothing new, twenty turns of which sixteen only failed, edits that fail again and again;
- calls that fail whatever their text says, and calls that are refused again and again; of what fails far
  apart, only since it last worked and since the latest step that led on, such as `git bisect good`, not
  where each time something was learned in between, and of its results those that were not left behind;
- messages that repeat, a phrase chanted within one text, and compactions without progress between them.

More patience, or another measure, have

- calls that only wait, failed ones too, calls that are made again and answer that something is still
  running, and what fails again after a pause, whatever its error says. A second look at each of several
  things is no wait, and that something else is on its way is new;
- a question of how something does (a tool with *status*, *progress* or *job* in its name), by one try; a
  click or a pressed key that is merely confirmed, and rounds of such, by seven;
- failures of calls that were made together, in one turn: they count once, since none knew of the others.

New is also what an agent reports as progress (a changed file, a completed task, fewer failing tests than ever
before). An agent's own list of what it is going to do (`TodoWrite`, `write_todos`) is no news when it is
written anew; it, a thought (`think`, `sequentialthinking`) and a note to itself (`save_memory`) stand between
other calls as a text does.

Subagents (`turn.actor`) have windows of their own. Waiting and questions of status are not counted while other
actors of the run progress; once another has changed something, whatever an actor looks at, tests or says again is
new, and so is what it says again to words that another had not said before. A person's word (`user_input`) starts the
look-back afresh.

`spin` leaves out what fails when it is looked at again after a pause, and the turns after which fewer tests
fail than ever before. It counts *tries* for a warning: turns that did more than write or talk, since most agents
edit in one turn and test in the next. A break counts plain turns, and there is none where ever other calls failed
that were to write nothing: a list of which much is missing or refused may be gone through to its end.
An error whose kind says that the model's context is full (`context_length_exceeded`) has ten turns within
its windows: whoever runs the agent shortens the prompt and tries again.

## The breaker
"""

DIRECTIVES: Final = """\
A trip stands until somebody continues or resets the run. Under `default` it also passes by itself:
three turns in a row without a break, at least one of them with progress, lead to recovery; two quiet
turns end that.

## When the agent is told

- A directive is given when a signal rises, and again five turns later while it stands, or at once when
  `directive_seen` shows that the agent never got it. It is not repeated in between.
- A warning rotates, a break commits; the strongest of a turn wins. Of equally strong ones a wait for a person, or a
  hand-over, that one signal asks for is asked for; what is weaker is left for a turn of its own. Whoever was told to
  commit is told of no other way while the run is tripped. Under `default` the first directive
  for a signal is a rotate even at a break, so nobody is told to end who has not been told to
  change. Budgets have had their notice.
- A halt follows only a commit that was seen, three turns later, while a break still stands, unless the policy's action
  at a break is `stop` or `ask_user`.
- A turn with a final answer is always answered with proceed.
- In MODE_OBSERVE nothing is said; everything is measured and kept.

## The policies

`on_warning` and `on_break` may be `rotate`, `pause`, `ask_user` and `commit`, `rest`, `stop`,
`ask_user`. A pause is a rotate that asks the agent to wait for a person; a rest is a commit that asks
for a hand-over to a new session. A dash stands for "never".
"""


def render() -> str:
    """The page."""
    lines = [
        INTRODUCTION,
        *_signals(),
        READING,
        "```mermaid",
        "stateDiagram-v2",
        *_diagram(),
        "```",
        "",
        DIRECTIVES,
    ]
    lines += _policies()
    return "\n".join(lines) + "\n"


def _diagram() -> Iterator[str]:
    yield "    [*] --> healthy"
    for (before, severity), after in TRANSITIONS.items():
        if before is not after:
            yield f"    {before.value} --> {after.value}: {severity.name.lower()}"
    for before, after in ON_CONTINUE.items():
        if before is not after:
            yield f"    {before.value} --> {after.value}: continue"
    yield "    recovery --> healthy: 2 quiet turns"


def _signals() -> Iterator[str]:
    for signal in SIGNALS:
        yield f"| `{signal.name}` | {signal.words.measured} | {signal.words.raised_by} |"


def _policies() -> Iterator[str]:
    policies = [preset(name) for name in PRESETS]
    yield f"| | {' | '.join(f'`{policy.name}`' for policy in policies)} |"
    yield "|---" * (len(policies) + 1) + "|"
    for severity in (Severity.WARNING, Severity.BREAK):
        cells = [policy.on[severity].value for policy in policies]
        yield f"| on_{severity.name.lower()} | {' | '.join(cells)} |"
    yield f"| nudge_first | {' | '.join(_word(p.staging.nudge_first) for p in policies)} |"
    for signal in SIGNALS:
        by_policy = [
            next((w.thresholds for w in policy.watches if w.signal.name == signal.name), None)
            for policy in policies
        ]
        yield f"| **{signal.name}** | {' | '.join('' if t else 'off' for t in by_policy)} |"
        for field in fields(signal.defaults):
            cells = [_word(getattr(t, field.name)) if t else "" for t in by_policy]
            if any(cell not in ("", "-") for cell in cells):
                yield f"| {field.name.rstrip('_')} | {' | '.join(cells)} |"


def _word(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(getattr(value, "value", value))


if __name__ == "__main__":
    PAGE.write_text(render())
