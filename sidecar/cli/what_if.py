"""`sidecar replay --what-if`: what would have been decided under other thresholds."""

import json
import sys
from collections.abc import Iterable
from functools import partial

import click

from sidecar.adapters.run_file import read_lines
from sidecar.cli.options import Access, fail, policies_of
from sidecar.config.changes import asked
from sidecar.config.given import ConfigError
from sidecar.core.policy import Policy
from sidecar.printable import printable
from sidecar.replaying.what_if import Earlier, Move, Said, WhatIf, written
from sidecar.wording import counted

FLAG = "--what-if"


def compare(
    files: Iterable[str],
    changes: tuple[str, ...],
    *,
    access: Access,
    policy: str,
    form: str,
    keep_going: bool,
) -> int:
    """Print what moves in each file; how many lines could not be read.

    A change that no policy can have ends the process with exit code 2 and one line.
    """
    config = access.config()
    policies = policies_of(config, policy)
    change = partial(_changed, changes)
    problems = runs = moved = moves = 0
    told: set[str] = set()
    earlier = Earlier(sessions_max=config.sessions_max)
    for source in files:
        run = WhatIf(
            source,
            config=config,
            policies=policies,
            policy=policy,
            change=change,
            earlier=earlier,
        )
        problems += _fold(run, source, keep_going=keep_going)
        run.leave()
        if run.policies is None:
            continue
        runs, moved, moves = runs + 1, moved + bool(run.moves), moves + len(run.moves)
        if run.policies[0].revision not in told:
            told.add(run.policies[0].revision)
            listed = ", ".join(map(str, run.changes)) or "nothing changes"
            click.echo(f"policy {run.policies[0].name}: {listed}", err=True)
        if form == "json":
            sys.stdout.write(json.dumps(written(run), ensure_ascii=False) + "\n")
        else:
            _print(run, *run.policies)
    total = (
        f"{counted(moves, 'directive moves', 'directives move')} in {moved} of "
        f"{counted(runs, 'run')}"
        if moves
        else "no directive moves"
    )
    click.echo(total + (f"; {counted(problems, 'problem')}" if problems else ""), err=True)
    return problems


def _changed(changes: tuple[str, ...], policy: Policy) -> Policy:
    try:
        return asked(policy, changes, where=FLAG)
    except ConfigError as error:
        fail(str(error))


def _fold(run: WhatIf, source: str, *, keep_going: bool) -> int:
    problems = 0
    try:
        for problem in run.run(read_lines(source)):
            problems += 1
            click.echo(f"{printable(source)}:{problem.number}: {problem.text}", err=True)
            if not keep_going:
                break
    except OSError as error:
        problems += 1
        click.echo(f"{printable(source)}: {error.strerror or error}", err=True)
    return problems


def _print(run: WhatIf, before: Policy, after: Policy) -> None:
    sys.stdout.write(
        f"{printable(run.session_id)}  policy {before.name} {before.revision} -> {after.revision}\n"
    )
    for move in run.moves:
        _print_move(move)
    if not run.moves:
        sys.stdout.write("  no directive moves\n")


def _print_move(move: Move) -> None:
    before, after = move.before, move.after
    sys.stdout.write(f"  turn {move.turn:>4}  {before.directive} -> {after.directive}\n")
    for name, said in (("before", before), ("after", after)):
        sys.stdout.write(f"             {name + ':':<7} {_why(said)}\n")


def _why(said: Said) -> str:
    if said.threshold is None:
        return "no reading"
    due = "; no directive is due" if said.directive == "proceed" else ""
    return f"{said.signal} {said.severity} at {said.threshold:g}: {said.summary}{due}"
