"""loopbrake: `start()` and `Brake.step()`, told of every call and its result.

Its stop line is a number of calls that its own past good runs stayed under, and it only watches
until it has seen 19 of them. So it is told which runs were solved, and each run is held against the
line that `calibrate()` draws from the solved runs of the same agent on other tasks. A stop, which
is what it does where there is nobody to ask, is a BREAK.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import loopbrake

from eval.baselines.told import Finding, Outcome, Run, Severity

PROJECT: Final = "past-runs"


def judge(runs: Iterable[Run], /) -> Iterator[tuple[str, Finding]]:
    """The stop of each run that is stopped. All runs are read before the first is judged."""
    everything = sorted(runs, key=_same_line)
    for (source, task), held in groupby(everything, key=_same_line):
        past = [run for run in everything if run.source == source and run.task != task]
        with TemporaryDirectory() as home:
            calibrate(past, home)
            for run in held:
                yield from ((run.session_id, finding) for finding in stop(run, home))


def calibrate(past: Iterable[Run], home: str) -> None:
    """Draws the line from the solved ones among past runs, and leaves it in `home`."""
    file = Path(home) / "past.jsonl"
    file.write_text("".join(_as_past(run) for run in past if run.solved), "utf-8")
    loopbrake.calibrate(file, project=PROJECT, home=home)


def stop(run: Run, home: str) -> Iterator[Finding]:
    """The step at which a run is stopped, if it is."""
    with loopbrake.start(PROJECT, run=run.session_id, home=home) as brake:
        for step in run.steps:
            for call in step.calls:
                decision = brake.step(
                    f"{call.name} {call.arguments}",
                    call.result,
                    tool=call.name,
                    error=call.outcome is Outcome.ERROR,
                )
                if decision.stop:
                    yield Finding(
                        sequence=step.sequence,
                        severity=Severity.BREAK,
                        rule="steps",
                        summary=decision.reason,
                    )
                    return


def _same_line(run: Run) -> tuple[str, str]:
    """What runs share that are held against one line."""
    return run.source, run.task


def _as_past(run: Run) -> str:
    """A run in the form that `calibrate()` reads; it takes no more from it than its length."""
    step = {"action": "call", "observation": "", "error": None, "tokens": 0}
    told = {
        "group": run.source,
        "dataset": run.source,
        "task": run.task,
        "run": run.session_id,
        "success": bool(run.solved),
        "exit": None,
        "tokens_measured": False,
        "steps": [step for one in run.steps for _ in one.calls],
    }
    return json.dumps(told) + "\n"
