"""`sidecar datasets`: recorded runs of public sources and other tools as run files."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from sidecar.cli.aligning import aligned
from sidecar.cli.bar import with_bar
from sidecar.cli.options import config_option, configured, fail
from sidecar.config.checks import check_asking
from sidecar.datasets.catalogue import SOURCES, Source
from sidecar.datasets.converting import FORMATS, Converted, Format, convert_file, files_of
from sidecar.datasets.turns import Bounds
from sidecar.datasets.verifying import FetchError
from sidecar.datasets.writing import LabelsBrokenError, RunWriter
from sidecar.paths import cache_directory
from sidecar.wording import counted

BROKEN: Final = 1
"""Exit code when something could not be fetched or converted."""

F = TypeVar("F", bound=Callable[..., Any])
COLUMNS: Final = ("NAME", "LICENCE", "FILES", "SIZE", "SHA-256")


def _bounded(function: F) -> F:
    """Adds the options that say how much of long texts is kept."""
    for name, meaning in (
        ("--argument-max", "Characters kept of a text within a call's arguments."),
        ("--text-max", "Characters kept of what the assistant says in a turn."),
        ("--result-max", "Characters kept of a result."),
    ):
        function = click.option(name, type=click.IntRange(min=64), metavar="N", help=meaning)(
            function
        )
    return function


@click.group()
def command() -> None:
    """Recorded runs of public sources and other tools, as run files with labels."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="A JSON object a line, with every file.")
def list_(as_json: bool) -> None:
    """List the public sources: licence, size, pinned address and SHA-256.

    The sum of a source with several files is that of its table of sums.
    """
    if as_json:
        for source in SOURCES.values():
            click.echo(json.dumps(_entry(source)))
        return
    rows = aligned([COLUMNS, *(_row(source) for source in SOURCES.values())])
    abouts = ["", *(_about(source) for source in SOURCES.values())]
    for row, about in zip(rows, abouts, strict=True):
        click.echo(row + about)


@command.command()
@click.argument("name", type=click.Choice(list(SOURCES)), metavar="NAME")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where the run files and labels.jsonl go (default: .eval/runs/NAME).",
)
@click.option(
    "--from",
    "clone",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="PATH",
    help="Take the files from this local clone of the repository, without a network.",
)
@click.option(
    "--mirror",
    "--dataset-mirror",
    "mirror",
    metavar="URL",
    help="Address that stands in for the public host.",
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where downloads are kept (default: sidecar/datasets in the user's cache).",
)
@click.option("--accept-licence", is_flag=True, help="Fetch a source that states no licence.")
@config_option
@_bounded
def fetch(
    name: str,
    output: Path | None,
    clone: Path | None,
    mirror: str | None,
    cache: Path | None,
    accept_licence: bool,
    config_path: str | None,
    **bounds: int | None,
) -> None:
    """Fetch the public source NAME, hold it against its checksums and convert it.

    Exit code 0; 1 when a file could not be had, is not the one that was pinned or could not be
    converted; 2 when the source cannot be fetched.
    """
    source = SOURCES[name]
    _check_fetchable(source, accept_licence=accept_licence)
    flags = {} if mirror is None else {"dataset_mirror": mirror}
    config = configured(config_path, flags, checked=check_asking)
    # Imported here since only this speaks HTTP.
    from sidecar.datasets.bringing import bring

    with _failing():
        paths = bring(
            source,
            cache or cache_directory() / "datasets",
            clone=clone,
            mirror=config.dataset_mirror,
            progress=partial(with_bar, what="fetching"),
        )
        form = FORMATS[source.format]
        files = [path for path in paths if _is_run(form, path)]
        _convert(form, files, output or Path(".eval/runs") / name, _bounds(form, bounds), name)


@command.command()
@click.argument("form", type=click.Choice(list(FORMATS)), metavar="FORMAT")
@click.argument("files", type=click.Path(path_type=Path, exists=True), nargs=-1, required=True)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    required=True,
    help="Where the run files and labels.jsonl go.",
)
@_bounded
def convert(form: str, files: tuple[Path, ...], output: Path, **bounds: int | None) -> None:
    """Convert FILES of another tool into run files; of a folder, those that look like FORMAT.

    Exit code 0; 1 when a record could not be read or no run was found. What can be read is
    converted all the same.
    """
    found = FORMATS[form]
    with _failing():
        paths = list(files_of(found, files))
        if not paths:
            fail(f"no files like {', '.join(found.files)} in {', '.join(map(str, files))}")
        _convert(found, paths, output, _bounds(found, bounds), form)


command.epilog = "Formats: " + "; ".join(f"{name} ({form.about})" for name, form in FORMATS.items())


def _check_fetchable(source: Source, *, accept_licence: bool) -> None:
    if not source.pinned:
        fail(f"{source.name}: no checksum is pinned, so it is not fetched: {source.note}")
    if not source.permitted and not accept_licence:
        fail(
            f"{source.name}: {source.note}, so it may not be yours to use; if it is, say so with "
            "--accept-licence"
        )


def _is_run(form: Format, path: Path) -> bool:
    return any(path.match(pattern) for pattern in form.files)


def _bounds(form: Format, given: dict[str, int | None]) -> Bounds:
    kept = form.bounds
    return Bounds(
        result_max=given["result_max"] or kept.result_max,
        text_max=given["text_max"] or kept.text_max,
        argument_max=given["argument_max"] or kept.argument_max,
    )


def _convert(form: Format, paths: Sequence[Path], output: Path, bounds: Bounds, name: str) -> None:
    writer = RunWriter(output)
    converted = [
        _reported(convert_file(form, path, writer, bounds=bounds, source=name))
        for path in with_bar(paths, "converting")
    ]
    runs = sum(file.runs for file in converted)
    broken = sum(len(file.broken) for file in converted)
    skipped = sum((file.skipped for file in converted), Counter[str]())
    if runs:
        writer.finish()
    click.echo(
        f"{counted(runs, 'run')}, {counted(sum(file.turns for file in converted), 'turn')} "
        f"in {output}"
        + (f"; {counted(broken, 'broken record')}" if broken else "")
        + (f"; passed over: {_counts(skipped)}" if skipped else "")
    )
    if broken or not runs:
        sys.exit(BROKEN)


def _reported(converted: Converted) -> Converted:
    for broken in converted.broken:
        click.echo(f"{converted.path}:{broken.place}: {broken.problem}", err=True)
    if not converted.runs and not converted.broken:
        click.echo(f"{converted.path}: no run in it", err=True)
    return converted


def _counts(skipped: Counter[str]) -> str:
    return ", ".join(f"{kind} ({count})" for kind, count in skipped.most_common())


@contextmanager
def _failing() -> Iterator[None]:
    """Ends the process with one line where a file cannot be had, read or written."""
    try:
        yield
    except (FetchError, LabelsBrokenError) as error:
        fail(str(error), code=BROKEN)
    except BrokenPipeError:
        # Nobody reads on, as before `| head`; click ends the process without a word.
        raise
    except OSError as error:
        fail(f"{error.filename or ''}: {error.strerror or error}", code=BROKEN)


def _row(source: Source) -> tuple[str, ...]:
    if not source.pinned:
        return source.name, source.licence, "-", "-", "not pinned: not fetched"
    size = f"{source.size / 1e6:.1f} MB"
    return source.name, source.licence, str(len(source.files)), size, source.sha256


def _about(source: Source) -> str:
    return f"\n    {source.about}{f' ({source.note})' if source.note else ''}\n    {source.address}"


def _entry(source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "about": source.about,
        "format": source.format,
        "licence": source.licence,
        "fetchable": source.pinned,
        "repository": source.repository,
        "commit": source.commit,
        "paths": source.paths,
        "size": source.size,
        "sha256": source.sha256,
        "note": source.note,
        "files": [
            {
                "path": file.path,
                "size": file.size,
                "sha256": file.sha256,
                "url": source.url(file.path),
            }
            for file in source.files
        ],
    }
