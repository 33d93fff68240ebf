"""Reads the run files named on standard input and asks a baseline about them.

`python -m eval.baselines.feed MODULE:NAME [--venv NAME] [--labels]`: the baseline is asked in the
virtual environment `.eval/NAME` (`eval/baselines/NAME/setup` makes it), or in this one. With
--labels it is also told which runs are known to have been solved. Exit status 0 when all runs were
judged, 1 when one could not be read, 2 when the environment is not there.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from eval.baselines.told import Call, Outcome, Run, Step, run_line
from sidecar.evaluation.labels import LABELS_FILE, Label, LabelsInvalidError, read_labels
from sidecar.evaluation.runs import RecordedRun, RunUnreadableError, read_run
from sidecar.v1 import run_pb2

ROOT: Final = Path(__file__).resolve().parents[2]
ENVIRONMENTS: Final = ROOT / ".eval"

_OUTCOMES: Final = {
    run_pb2.OUTCOME_ERROR: Outcome.ERROR,
    run_pb2.OUTCOME_DENIED: Outcome.DENIED,
}


class NotSetUpError(RuntimeError):
    """A package's virtual environment is not there."""


def told(run: RecordedRun, label: Label | None = None) -> Run:
    """A recorded run as baselines are told it; without a label, nothing of how it went."""
    return Run(
        session_id=run.session_id,
        source=label.source if label and label.source else run.source,
        task=label.group if label else "",
        solved=label.solved if label else None,
        steps=tuple(_step(turn) for turn in run.turns),
    )


def python_of(venv: str | None) -> str:
    """The interpreter of a package's environment, or this one. Raises NotSetUpError."""
    if venv is None:
        return sys.executable
    python = ENVIRONMENTS / venv / "bin" / "python"
    if not python.exists():
        raise NotSetUpError(f"{python}: not there; eval/baselines/{venv}/setup makes it")
    return str(python)


def feed(python: str, judge: str, runs: Iterable[Run]) -> int:
    """Asks the baseline in an interpreter of its own, which writes to our standard output.

    Returns its exit status.
    """
    with subprocess.Popen(  # noqa: S603 - an interpreter that our own setup made
        [python, "-m", "eval.baselines.judge", judge],
        stdin=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
    ) as asked:
        assert asked.stdin is not None  # noqa: S101 - a pipe was asked for
        for run in runs:
            asked.stdin.write(run_line(run))
        asked.stdin.close()
        return asked.wait()


def main(arguments: list[str]) -> int:
    """The command. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="feed", description=__doc__)
    parser.add_argument("judge", metavar="MODULE:NAME")
    parser.add_argument("--venv", metavar="NAME")
    parser.add_argument("--labels", action="store_true")
    options = parser.parse_args(arguments)
    paths = [Path(line.rstrip("\n")) for line in sys.stdin if line.strip()]
    try:
        known = _labels if options.labels else _no_labels
        return feed(python_of(options.venv), options.judge, _read(paths, known))
    except NotSetUpError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except (RunUnreadableError, LabelsInvalidError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


def _read(paths: Iterable[Path], known: Callable[[Path], Mapping[str, Label]]) -> Iterator[Run]:
    for path in paths:
        run = read_run(path)
        yield told(run, known(path.parent).get(run.session_id))


def _no_labels(_: Path) -> Mapping[str, Label]:
    return {}


@cache
def _labels(folder: Path) -> Mapping[str, Label]:
    """The labels beside the runs of a folder, or in the folder above it; empty: none."""
    places = (folder / LABELS_FILE, folder.parent / LABELS_FILE)
    return next((read_labels(place) for place in places if place.exists()), {})


def _step(turn: run_pb2.Turn) -> Step:
    usage = turn.usage
    return Step(
        sequence=turn.sequence,
        person_spoke=turn.user_input,
        text=turn.text or turn.text_digest,
        calls=tuple(_call(call) for call in turn.tool_calls),
        failures=tuple(failure.kind for failure in turn.failures),
        tokens_in=usage.input_tokens if usage.HasField("input_tokens") else None,
        tokens_out=usage.output_tokens if usage.HasField("output_tokens") else None,
    )


def _call(call: run_pb2.ToolCall) -> Call:
    return Call(
        name=call.name,
        arguments=call.arguments_json or call.arguments_digest or "{}",
        result=call.result_text or call.result_digest,
        outcome=_OUTCOMES.get(call.outcome, Outcome.OK),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
