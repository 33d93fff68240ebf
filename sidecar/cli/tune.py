"""`sidecar tune`: thresholds chosen on recorded runs, with the evidence for them."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from sidecar.adapters.convert import TurnBounds
from sidecar.cli.options import config_option, configured, fail, policies_of
from sidecar.cli.parameters import FloatRange
from sidecar.cli.recorded import BROKEN, Faults, gathered, labels_from, pattern_of, run_files_in
from sidecar.config.checks import check_asking
from sidecar.core.policy import Policy
from sidecar.evaluation.cases import Case
from sidecar.evaluation.gathering import Gatherer, labels_near
from sidecar.tuning.evidence import Circumstances, data_digest, policy_text, tuned_name
from sidecar.tuning.folding import FoldingEndedError, Runs, folding
from sidecar.tuning.folds import TooFewError, folds_of
from sidecar.tuning.telling import told
from sidecar.tuning.tuner import Settings, Tuning, tune
from sidecar.turn_bounds import turn_bounds
from sidecar.wording import counted

YAML: Final = (".yaml", ".yml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The runs that tell something, and where all that was read came from."""

    cases: tuple[Case, ...]
    files: tuple[Path, ...]
    """Of the cases, in their order."""
    read: tuple[Path, ...]
    """Run files and labels."""

    @property
    def tasks(self) -> int:
        """Tasks of the cases."""
        return len({case.task for case in self.cases})


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
    "--false-stops",
    type=FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="Largest share of the solved runs, but for those judged stuck, that may be broken.",
)
@click.option("--policy", default="", help="Policy to start from (default: the default policy).")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where the policy is written, as a configuration file: a new .yaml file.",
)
@click.option(
    "--task",
    metavar="REGEX",
    help="Finds the task in a session id (its groups joined), where the label names none.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The same gives the same.")
@click.option("--folds", type=click.IntRange(2, 100), default=5, show_default=True)
@click.option(
    "--budget",
    type=click.IntRange(1, 100_000),
    default=200,
    show_default=True,
    help="Configurations that the search may try for each fold, and for all runs.",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 256),
    default=lambda: os.cpu_count() or 1,
    show_default="one for each processor",
)
@click.option("--keep-going", is_flag=True, help="Pass over files that cannot be measured.")
@config_option
@click.pass_context
def command(
    context: click.Context,
    runs: tuple[Path, ...],
    labels_path: Path | None,
    false_stops: float,
    policy: str,
    output: Path | None,
    task: str | None,
    seed: int,
    folds: int,
    budget: int,
    processes: int,
    keep_going: bool,
    config_path: str | None,
) -> None:
    """Choose the thresholds of a policy on the recorded runs in RUNS, files or folders.

    Exit code 0; 1 when a run could not be measured, or no thresholds keep the bound; 2 for what the
    caller has to change. docs/tuning.md says what the figures mean.
    """
    config = configured(config_path, checked=check_asking)
    start = policies_of(config, policy).named(policy)
    _check_output(output)
    bounds = turn_bounds(config)
    faults = Faults(keep_going=keep_going)
    measured = _measured(runs, labels_path, task, bounds, faults)
    settings = Settings(solved_stopped_max=false_stops, budget=budget, seed=seed)
    inputs = Runs.under(start, measured.files, bounds)
    tuning = _tuned(start, measured, inputs, settings, folds=folds, processes=processes)
    sys.stdout.write(told(tuning, measured.cases))
    if not tuning.keeps_bound:
        fail(_unbounded(tuning), code=BROKEN)
    if output:
        _write(output, tuning, measured, _command(context, runs))
    sys.exit(BROKEN if faults.count else 0)


def _check_output(output: Path | None) -> None:
    """Refuse before the search what could not be written after it."""
    if output is None:
        return
    if output.suffix not in YAML:
        fail(f"--output {output}: it must end in {' or '.join(YAML)}, as a configuration file does")
    if output.exists():
        fail(f"--output {output}: there is such a file already; name a new one")
    if not os.access(output.parent, os.W_OK):
        fail(f"--output {output}: {output.parent} is no folder that can be written to")


def _measured(
    runs: Sequence[Path],
    labels_path: Path | None,
    task: str | None,
    bounds: TurnBounds,
    faults: Faults,
) -> Measured:
    files = run_files_in(runs, faults)
    labels_files = (labels_path,) if labels_path else labels_near(runs)
    if not labels_files:
        fail(
            "there are no labels: name them with --labels FILE, one line of JSON for each run: "
            '{"session_id": ..., "solved": true or false, "judged": {"stuck": ...}}'
        )
    gatherer = Gatherer(
        detectors=(), labels=labels_from(labels_files), task=pattern_of(task), bounds=bounds
    )
    found = gathered(gatherer, files, faults)
    known = [
        (path, case)
        for path, case in found
        if case.is_solved or case.is_unsolved or case.judged is not None
    ]
    if len(known) < len(found):
        unknown = counted(len(found) - len(known), "run")
        click.echo(f"of {unknown} nothing is known: left out", err=True)
    return Measured(
        cases=tuple(case for _, case in known),
        files=tuple(path for path, _ in known),
        read=(*(path for path, _ in found), *labels_files),
    )


def _tuned(
    start: Policy,
    measured: Measured,
    inputs: Runs,
    settings: Settings,
    *,
    folds: int,
    processes: int,
) -> Tuning:
    try:
        parts = folds_of(measured.cases, folds, settings.seed)
        with (
            folding(inputs, processes) as fold,
            _progress((folds + 1) * settings.budget) as advance,
        ):
            return tune(start, measured.cases, parts, settings, fold=fold, advance=advance)
    except TooFewError as error:
        fail(str(error))
    except FoldingEndedError as error:
        fail(str(error), code=BROKEN)


def _unbounded(tuning: Tuning) -> str:
    share, figures = tuning.settings.solved_stopped_max, tuning.chosen_on
    return (
        f"none of the {len(tuning.worth)} configurations breaks as few as {100 * share:g} % of the "
        f"solved runs; the one nearest to it breaks {figures.solved_stopped} of {figures.solved}: "
        "allow more with --false-stops, or try more with --budget"
    )


def _command(context: click.Context, runs: Sequence[Path]) -> str:
    """The command as it can be given again, whatever the defaults will be then."""
    words = ["sidecar", "tune", *map(str, runs)]
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if not isinstance(option, click.Option) or value is None or value == "":
            continue
        if not option.is_flag:
            words += [option.opts[0], str(value)]
        elif value:
            words.append(option.opts[0])
    return shlex.join(words)


def _write(output: Path, tuning: Tuning, measured: Measured, command: str) -> None:
    try:
        circumstances = Circumstances(
            date=datetime.now(UTC).date().isoformat(),
            command=command,
            data_sha256=data_digest(measured.read),
            runs=len(measured.cases),
            tasks=measured.tasks,
        )
        text = policy_text(tuning, circumstances)
        with output.open("x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror or error}", code=BROKEN)
    click.echo(f"{output} has the policy {tuned_name(tuning.space.policy)}", err=True)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    # Imported here since a wrong command line should not wait for what draws.
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("searching", total=total)
        yield lambda spent: bar.advance(task, spent)
