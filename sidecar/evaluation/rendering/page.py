"""The report as one page that needs nothing else: no network, no script."""

from collections.abc import Iterable, Sequence
from html import escape

from sidecar.evaluation.rendering.charts import DELAY_HIGH, DELAY_LOW, delays, traded
from sidecar.evaluation.rendering.grids import Grid, grids, summary
from sidecar.evaluation.rendering.strips import strips
from sidecar.evaluation.rendering.style import STYLE
from sidecar.evaluation.report import Report
from sidecar.evaluation.sweep import THRESHOLD


def page(report: Report) -> str:
    """A whole HTML document."""
    body = "".join(_sections(report))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>Detection on {report.runs.all} recorded runs</title>\n"
        f"<style>\n{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )


def _sections(report: Report) -> Iterable[str]:
    yield "<h1>Detection on recorded runs</h1>\n"
    yield f"<p>{escape(summary(report))}</p>\n"
    if report.notes:
        notes = "".join(f"<li>{escape(note)}</li>" for note in report.notes)
        yield f"<ul>{notes}</ul>\n"
    yield from map(_table, grids(report))
    yield from _delays(report)
    yield from _sweep(report)
    yield from _strips(report)


def _table(grid: Grid) -> str:
    head = "".join(
        f"<th{' class=name' if place < grid.names else ''}>{escape(column)}</th>"
        for place, column in enumerate(grid.columns)
    )
    rows = "".join(f"<tr>{_row(grid, row)}</tr>\n" for row in grid.rows)
    inner = (
        f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>'
        f'</table></div>\n<p class="note">{escape(grid.note)}</p>\n'
    )
    title = f"<h2>{escape(grid.title)}</h2>"
    if grid.names == 1:
        return f"{title}\n{inner}"
    # A table within a table: long, and not what one looks for first.
    return f"<details><summary>{title}</summary>\n{inner}</details>\n"


def _row(grid: Grid, row: Sequence[str]) -> str:
    names, figures = row[: grid.names], row[grid.names :]
    return "".join(
        [f"<th>{escape(name)}</th>" for name in names]
        + [f"<td>{escape(figure)}</td>" for figure in figures]
    )


def _delays(report: Report) -> Iterable[str]:
    charts = delays(report.detectors)
    if not charts:
        return
    yield "<h2>Delay</h2>\n"
    yield f'<div class="charts">{charts}</div>\n'
    yield (
        '<p class="note">Turns from the judged start of the stuck stretch to the first warning or '
        f"break; runs on one scale. Delays below {DELAY_LOW} and above {DELAY_HIGH} are in the "
        "outermost bars.</p>\n"
    )


def _sweep(report: Report) -> Iterable[str]:
    if why := _not_swept(report):
        yield f'<h2>Saved against lost</h2>\n<p class="note">{escape(why)}</p>\n'
    if report.sweep is None or why:
        return
    name, policy = escape(report.sweep.threshold), escape(report.sweep.policy)
    yield f"<h2>Saved against lost: <code>{name}</code></h2>\n"
    yield f'<div class="wide">{traded(report.sweep)}</div>\n'
    yield (
        f'<p class="note">The policy {policy} with this one threshold at each value. saved: turns '
        "after the first BREAK in unsolved runs; lost: in solved ones.</p>\n"
    )


def _not_swept(report: Report) -> str:
    """Why there is no chart of a sweep; empty: there is one."""
    if report.sweep is None:
        return (
            f"Not drawn: none of these policies uses {'.'.join(THRESHOLD)}, the threshold that is "
            "varied here."
        )
    if not report.runs.solved and not report.runs.unsolved:
        return "Not drawn: no run is known to be solved or unsolved."
    return ""


def _strips(report: Report) -> Iterable[str]:
    yield "<h2>Every run</h2>\n"
    yield (
        '<p class="note">A bar is a run, its length the turns: '
        '<i class="key well"></i> solved, <i class="key badly"></i> unsolved, '
        '<i class="key unknown"></i> not known. On it '
        '<i class="key warning"></i> WARNING, <i class="key break"></i> BREAK, '
        '<i class="key start"></i> the judged start.</p>\n'
    )
    for place, one in enumerate(report.detectors):
        shown = " open" if place == 0 else ""
        yield f"<details{shown}><summary><h3>{escape(one.detector)}</h3></summary>\n"
        yield strips(report.cases, one.detector)
        yield "</details>\n"
