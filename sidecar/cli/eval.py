"""`sidecar eval`: how often policies and other detectors are right, on recorded runs."""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from sidecar.cli.eval_judge import JUDGE, judged_cases, row_of, with_model
from sidecar.cli.options import config_option, configured, fail, policies_of
from sidecar.cli.recorded import BROKEN, Faults, gathered, labels_from, pattern_of, run_files_in
from sidecar.config.checks import check_asking
from sidecar.config.keys import Config
from sidecar.core.policy import Policy
from sidecar.evaluation.baselines import (
    BaselineFailedError,
    BaselineUnknownError,
    Program,
    baselines_of,
    with_marks,
)
from sidecar.evaluation.cases import Case
from sidecar.evaluation.detecting import PolicyDetector
from sidecar.evaluation.gathering import Gatherer, labels_near
from sidecar.evaluation.report import Report, label_notes, report
from sidecar.evaluation.sweep import sweep_detectors
from sidecar.presets import PRESETS
from sidecar.turn_bounds import turn_bounds
from sidecar.wording import counted

BASELINES: Final = Path("eval/baselines")


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What is held against the runs."""

    policies: tuple[Policy, ...]
    baselines: tuple[PolicyDetector | Program, ...]
    swept: Policy | None
    """The policy of which one threshold is varied."""

    @property
    def names(self) -> list[str]:
        """In the order of the rows."""
        return [policy.name for policy in self.policies] + [one.name for one in self.baselines]

    @property
    def detectors(self) -> list[PolicyDetector]:
        """Those of this project."""
        found: list[PolicyDetector] = [PolicyDetector(policy=policy) for policy in self.policies]
        found += [one for one in self.baselines if not isinstance(one, Program)]
        if self.swept:
            found += [detector for _, detector in sweep_detectors(self.swept)]
        return found

    @property
    def programs(self) -> list[Program]:
        """The others."""
        return [one for one in self.baselines if isinstance(one, Program)]


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUNS...")
@click.option(
    "--labels",
    "labels_path",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="What is known of the runs (default: labels.jsonl in their folders, or beside these).",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME",
    help="Policy to measure; can be repeated (default: default and the other presets).",
)
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    metavar="NAME,...|NAME=COMMAND",
    help="Detectors to compare with: founding, folders of --baselines (openhands: openhands-*), "
    "or any command.",
)
@click.option(
    "--baselines",
    "folder",
    type=click.Path(path_type=Path),
    default=BASELINES,
    show_default=True,
    metavar="DIR",
    help="Where NAME/run is the program of a baseline.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "html"]),
    default="table",
    show_default=True,
    help="html: one page that needs no network.",
)
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")
@click.option(
    "--task",
    metavar="REGEX",
    help="Finds the task in a session id (its groups joined), where the label names none.",
)
@click.option(
    "--judge",
    is_flag=True,
    help="Measure the judge for circling too, alone and beside the first policy; asks a model.",
)
@click.option("--judge-model", metavar="NAME", help="Model to judge (default: judge.model).")
@click.option("--keep-going", is_flag=True, help="Pass over files that cannot be measured.")
@config_option
def command(
    runs: tuple[Path, ...],
    labels_path: Path | None,
    policies: tuple[str, ...],
    baselines: tuple[str, ...],
    folder: Path,
    form: str,
    output: Path | None,
    task: str | None,
    judge: bool,
    judge_model: str | None,
    keep_going: bool,
    config_path: str | None,
) -> None:
    """Measure how often detectors are right on the recorded runs in RUNS, files or folders.

    Exit code 0; 1 when a run or a baseline could not be measured, with --keep-going too; 2 for what
    the caller has to change. docs/detection.md says what each figure means.
    """
    config = with_model(configured(config_path, checked=check_asking), judge_model)
    compared = _compared(config, policies, baselines, folder, form)
    faults = Faults(keep_going=keep_going)
    files = run_files_in(runs, faults)
    labels = labels_from([labels_path] if labels_path else labels_near(runs))
    bounds = turn_bounds(config)
    gatherer = Gatherer(
        detectors=compared.detectors, labels=labels, task=pattern_of(task), bounds=bounds
    )
    found = gathered(gatherer, files, faults)
    cases, failed, notes = _programmed(found, compared.programs, faults)
    names = [name for name in compared.names if name not in failed]
    if judge:
        cases, said = judged_cases(found, cases, config, compared.policies[0])
        names += [JUDGE, row_of(compared.policies[0])]
        notes.append(said)
    notes = [*label_notes(cases, labels), *notes]
    if faults.count:
        notes.append(_left_out(faults.count))
    _write(report(cases, names, notes=notes, swept=compared.swept), form, output)
    sys.exit(BROKEN if faults.count else 0)


def _left_out(count: int) -> str:
    left_out = counted(
        count,
        "file or baseline could not be measured and is",
        "files or baselines could not be measured and are",
    )
    return f"{left_out} left out."


def _compared(
    config: Config, policies: Sequence[str], baselines: Sequence[str], folder: Path, form: str
) -> Compared:
    names = dict.fromkeys(policies or PRESETS)
    chosen = tuple(policies_of(config, name).named(name) for name in names)
    try:
        others = tuple(one for text in _named(baselines) for one in baselines_of(text, folder))
    except BaselineUnknownError as error:
        fail(str(error))
    rows = Counter([*names, *(one.name for one in others)])
    twice = next((name for name, times in rows.items() if times > 1), None)
    if twice:
        fail(f"--baseline {twice}: there is a policy or a baseline of this name already")
    swept = next((policy for policy in chosen if sweep_detectors(policy)), None)
    return Compared(policies=chosen, baselines=others, swept=None if form == "table" else swept)


def _named(baselines: Iterable[str]) -> Iterable[str]:
    """The baselines one by one; a command may hold commas."""
    for text in baselines:
        yield from [text] if "=" in text else [part.strip() for part in text.split(",")]


def _programmed(
    found: Sequence[tuple[Path, Case]], programs: Iterable[Program], faults: Faults
) -> tuple[list[Case], set[str], list[str]]:
    """The cases with the marks of these programs; the names of those that failed; and notes."""
    files = [path for path, _ in found]
    cases = [case for _, case in found]
    failed: set[str] = set()
    notes = []
    for program in programs:
        try:
            with _waiting(f"baseline {program.name}"):
                cases, strays = with_marks(cases, program.name, program.marks(files))
        except BaselineFailedError as error:
            failed.add(program.name)
            faults.add(str(error))
            continue
        if strays:
            notes.append(
                f"{program.name}: {counted(strays, 'finding')} on runs or turns that are not there."
            )
    return cases, failed, notes


def _write(found: Report, form: str, output: Path | None) -> None:
    if form == "table" and output is None and sys.stdout.isatty():
        # Imported here since a wrong command line should not wait for what draws.
        from sidecar.cli.show import console
        from sidecar.evaluation.rendering.table import table

        console().print(table(found))
        return
    # A file's name need not be text, and may stand for its session.
    raw = _text(found, form).encode("utf-8", "backslashreplace")
    if output is None:
        sys.stdout.buffer.write(raw)
        return
    try:
        output.write_bytes(raw)
    except OSError as error:
        fail(f"{output}: {error.strerror or error}", code=BROKEN)


def _text(found: Report, form: str) -> str:
    from sidecar.evaluation.rendering.as_json import as_json
    from sidecar.evaluation.rendering.page import page
    from sidecar.evaluation.rendering.table import plain

    match form:
        case "json":
            return as_json(found)
        case "html":
            return page(found)
        case _:
            return plain(found)


def _waiting(words: str) -> AbstractContextManager[object]:
    """Says on a terminal what is waited for."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True, markup=False).status(words)
