"""Recorded runs and their labels, as the commands that measure on them take both."""

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from sidecar.cli.bar import with_bar
from sidecar.cli.options import USAGE, fail
from sidecar.evaluation.cases import Case
from sidecar.evaluation.gathering import Fault, Gatherer, files_of, labels_in
from sidecar.evaluation.labels import Label, LabelsInvalidError

BROKEN: Final = 1
"""Exit code when something could not be measured."""


@dataclass(kw_only=True)
class Faults:
    """What could not be measured so far."""

    keep_going: bool
    count: int = 0

    def add(self, text: str, *, code: int = BROKEN) -> None:
        """Say it; unless told to keep going, stop with this exit code."""
        self.count += 1
        click.echo(text, err=True)
        if not self.keep_going:
            sys.exit(code)


def labels_from(files: Iterable[Path]) -> dict[str, Label]:
    """The labels in these files; what cannot be used ends the process."""
    try:
        return labels_in(files)
    except LabelsInvalidError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror or error}")


def pattern_of(task: str | None) -> re.Pattern[str] | None:
    """What --task asks for; what is no regular expression ends the process."""
    try:
        return re.compile(task) if task else None
    except re.error as error:
        fail(f"--task {task}: no regular expression: {error}")


def run_files_in(runs: Sequence[Path], faults: Faults) -> list[Path]:
    """The run files in these files and folders; where there is none, the process ends."""
    files: list[Path] = []
    for path in files_of(runs):
        if isinstance(path, Fault):
            faults.add(path.text, code=USAGE)
        else:
            files.append(path)
    if not files:
        fail(f"no run files in {', '.join(map(str, runs))}: expected *.jsonl")
    return files


def gathered(gatherer: Gatherer, files: Sequence[Path], faults: Faults) -> list[tuple[Path, Case]]:
    """The runs in these files; where there is none, the process ends."""
    found: list[tuple[Path, Case]] = []
    for result in gatherer.gather(with_bar(files, "measuring")):
        if isinstance(result, Fault):
            faults.add(result.text)
        else:
            found.append(result)
    if not found:
        fail("there is no run to measure", code=BROKEN)
    return found
