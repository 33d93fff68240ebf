"""Asks one baseline about the runs on standard input: `python -m eval.baselines.judge MODULE:NAME`.

Runs come in and findings go out as lines of JSON (see `told`). What the asked package prints is
sent to standard error, since standard output is for findings.
"""

import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from typing import TextIO

from eval.baselines.told import Judge, Run, finding_line, read_run_line


def judge_named(name: str) -> Judge:
    """The baseline that `MODULE:NAME` names, MODULE below eval.baselines."""
    module, _, attribute = name.partition(":")
    found: Judge = getattr(import_module(f"eval.baselines.{module}"), attribute)
    return found


def ask(judge: Judge, runs: TextIO, findings: TextIO) -> None:
    """Writes what the baseline finds in the runs."""
    with redirect_stdout(sys.stderr):
        findings.writelines(finding_line(*found) for found in judge(_read(runs)))


def _read(lines: TextIO) -> Iterator[Run]:
    return (read_run_line(line) for line in lines)


if __name__ == "__main__":
    ask(judge_named(sys.argv[1]), sys.stdin, sys.stdout)
