"""gemini-cli's loop detection without its model judge, which needs a model to ask.

Our reading of the rules in google-gemini/gemini-cli at 5411f113cafae26161b4969b0237b8e1e024e2c2,
packages/core/src/services/loopDetectionService.ts, and of what is done about a loop in
packages/core/src/core/client.ts: the first one ends the response and tells the model (WARNING);
the next one for the same prompt ends the run (BREAK).
"""

import json
from collections.abc import Iterator, Sequence
from typing import Final

from eval.baselines.rules.chanting import BOX_DRAWING, Manner, Stream
from eval.baselines.told import Call, Finding, Run, Severity, Step, each

REPEATS: Final = 5
PERIOD_MAX: Final = 5

MANNER: Final = Manner(
    gap_mean_max=250,
    periods_max=5,
    # Both are character ranges there: `*-+` within brackets holds no hyphen, and `+-_` runs from
    # the plus to the underscore, digits and capitals included.
    bullets=frozenset("*+"),
    divider=BOX_DRAWING | {"*"} | {chr(code) for code in range(ord("+"), ord("_") + 1)},
)


def findings(run: Run) -> Iterator[Finding]:
    """The first loop in each step; calls after it in the step were never made."""
    calls: list[str] = []
    stream = Stream(MANNER)
    strikes = 0
    for step in run.steps:
        if step.person_spoke:
            calls, stream, strikes = [], Stream(MANNER), 0
        rule = _loop_in(step, calls, stream)
        if rule:
            strikes += 1
            severity = Severity.WARNING if strikes == 1 else Severity.BREAK
            yield Finding(sequence=step.sequence, severity=severity, rule=rule)


def cycles(calls: Sequence[str]) -> bool:
    """Whether the calls end in REPEATS rounds of a cycle of up to PERIOD_MAX calls."""
    return any(
        len(calls) >= period * REPEATS
        and calls[-period * REPEATS :] == [*calls[-period:]] * REPEATS
        for period in range(1, PERIOD_MAX + 1)
    )


def key(call: Call) -> str:
    """What makes two calls the same; the order of the arguments does, and the result does not."""
    return f"{call.name}:{json.dumps(call.given, ensure_ascii=False)}"


def _loop_in(step: Step, calls: list[str], stream: Stream) -> str:
    if stream.chants(step.text):
        return "content_chanting"
    for call in step.calls:
        stream.clear()
        calls.append(key(call))
        if cycles(calls):
            return "identical_calls"
    return ""


judge = each(findings)
