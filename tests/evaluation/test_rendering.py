"""The same report as tables, as JSON and as a page."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.reading import Severity
from sidecar.evaluation.cases import Case, Spending
from sidecar.evaluation.detecting import Mark
from sidecar.evaluation.labels import Judged
from sidecar.evaluation.rendering.as_json import as_json
from sidecar.evaluation.rendering.charts import delays
from sidecar.evaluation.rendering.grids import grids, percent
from sidecar.evaluation.rendering.page import page
from sidecar.evaluation.rendering.table import plain
from sidecar.evaluation.report import Report, label_notes, report
from sidecar.evaluation.sweep import VALUES, sweep_detectors
from sidecar.presets import DEFAULT, GAIA

DOCS = Path(__file__).parents[2] / "docs"
VOID = {"meta", "br", "hr", "img", "input", "link"}


def mark(sequence: int, severity: Severity = Severity.BREAK, signal: str = "loop") -> Mark:
    return Mark(sequence=sequence, severity=severity, signal=signal)


def case(session_id: str, *marks: Mark, source: str = "made", **known: Any) -> Case:
    """A run of 20 turns, marked alike by two detectors and by every variant of `default`."""
    names = ["default", "other", *(one.name for _, one in sweep_detectors(DEFAULT))]
    facts = {"task": session_id, "turns": 20, **known}
    return Case(session_id=session_id, source=source, marks=dict.fromkeys(names, marks), **facts)


def small() -> Report:
    cases = [
        case("stuck", mark(8, Severity.WARNING), mark(12), judged=Judged(stuck=True, from_turn=7)),
        case("well", solved=True),
        case("badly", mark(5), solved=False, spending=(Spending(sequence=9, tokens=1200),)),
        case("free", solved=True, judged=Judged(stuck=False), source="elsewhere"),
    ]
    return report(cases, ["default", "other"], swept=DEFAULT)


def unlabelled() -> Report:
    return report([case("one", mark(3), labelled=False)], ["default"])


class Balanced(HTMLParser):
    """Fails on a tag that is closed wrongly; collects what would be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.loads += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "srcset")]
        if tag in ("script", "link", "iframe", "object", "image"):
            self.loads.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Closed at once."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag


def parsed(html: str) -> Balanced:
    parser = Balanced()
    parser.feed(html)
    parser.close()
    return parser


def rows(found: Report, title: str) -> list[tuple[str, ...]]:
    (grid,) = [grid for grid in grids(found) if grid.title == title]
    assert all(len(row) == len(grid.columns) for row in grid.rows)
    return list(grid.rows)


def test_the_tables_have_the_figures() -> None:
    found = small()

    assert rows(found, "Whom it disturbs, whom it catches")[0] == (
        *("default", "2/4 50 %", "0/2 0 %", "0/2 0 %", "1/1 100 %", "1/1 100 %", "0/1 0 %"),
        *("1 (1 to 1)", "1/1 100 %"),
    )
    assert rows(found, "What follows the first BREAK")[1] == (
        *("other", "1/1 100 %", "15/20", "1,200", "-", "0/2 0 %", "0/40", "-", "-"),
    )
    assert rows(found, "By signal")[0] == ("default", "loop", *"20110", *"20110")
    assert [row[:2] for row in rows(found, "By source")] == [
        *[("elsewhere", "default"), ("elsewhere", "other"), ("made", "default"), ("made", "other")]
    ]


def test_what_cannot_be_given_is_a_dash_and_is_said() -> None:
    text = plain(unlabelled())

    assert rows(unlabelled(), "Whom it disturbs, whom it catches") == [
        ("default", "1/1 100 %", *"--------"[1:])
    ]
    assert rows(unlabelled(), "How sure that is") == [("default", *"----")]
    assert "No run is known to be solved: how often a detector disturbs such" in text
    assert "No run is known to be judged stuck: recall and delay cannot be given." in text


def test_labels_and_runs_that_do_not_meet_are_counted_and_the_first_named() -> None:
    cases = [case("a", labelled=False), case("b")]

    assert label_notes(cases, ["b", "c", "d", "e", "f"]) == (
        "4 labels are of runs that were not given, and are left out: 'c', 'd', 'e' and 1 more.",
        "1 run has no label, and counts only where nothing need be known of it: 'a'.",
    )
    assert label_notes(cases[1:], ["b"]) == ()


@pytest.mark.parametrize(
    ("ratio", "text"), [(None, "-"), (0.0, "0 %"), (0.014, "1.4 %"), (0.5, "50 %"), (1.0, "100 %")]
)
def test_small_ratios_have_a_place_after_the_point(ratio: float | None, text: str) -> None:
    assert percent(ratio) == text


def keys(tree: Any) -> Iterator[str]:
    """All names of fields; not those of detectors, and not what labels bring."""
    if isinstance(tree, dict):
        for name, part in tree.items():
            yield name
            if name != "judged":
                yield from keys(list(part.values()) if name == "marks" else part)
    elif isinstance(tree, list):
        for part in tree:
            yield from keys(part)


def test_the_json_has_the_figures_and_every_field_is_documented() -> None:
    tree = json.loads(as_json(small()))
    default = tree["detectors"][0]
    documented = set(re.findall(r"`([a-z_0-9]+)`", (DOCS / "detection.md").read_text("utf-8")))

    assert default["stuck"]["break"] == {"count": 1, "of": 1, "ratio": 1.0}
    assert default["lost"]["tokens"] is None
    assert tree["cases"][0]["marks"]["other"][0] == {
        "sequence": 8,
        "severity": "warning",
        "signal": "loop",
    }
    assert [point["value"] for point in tree["sweep"]["points"]] == list(VALUES)
    assert set(keys(tree)) - documented == set()


def test_the_page_needs_nothing_else_and_its_tags_are_balanced() -> None:
    html = page(small())
    parser = parsed(html)

    assert parser.open == []
    assert parser.loads == []
    assert "//" not in html
    assert "url(" not in html


def test_the_page_shows_every_run_of_every_detector_with_its_marks() -> None:
    html = page(small())

    assert html.count('<div class="run">') == 2 * 4
    assert html.count('<path class="start"') == 2
    assert html.count('<path class="break"') == 2 * 2
    assert html.count('<path class="warning"') == 2
    assert "stuck: 20 turns, WARNING at 8 (loop), BREAK at 12 (loop), judged stuck from 7" in html
    assert "Saved against lost: <code>loop.answer_break</code>" in html


def test_the_page_shows_the_figures_of_the_tables() -> None:
    html = page(small())

    for grid in grids(small()):
        for row in grid.rows:
            assert all(f">{cell}</t" in html for cell in row)


def test_names_from_outside_are_text_on_the_page() -> None:
    evil = "</svg><script>alert(1)</script>"
    html = page(report([case(evil, mark(2), source=evil, solved=True)], ["default"]))

    assert "<script>" not in html
    assert parsed(html).open == []


def test_a_page_without_labels_or_marks_leaves_out_what_it_cannot_draw() -> None:
    html = page(unlabelled())

    assert parsed(html).open == []
    assert "<h2>Delay</h2>" not in html
    assert "none of these policies uses loop.answer_break" in html
    assert "<polyline" not in html
    assert "cannot be given" in html


def test_a_page_of_runs_of_which_nothing_is_known_has_no_empty_chart() -> None:
    html = page(report([case("one", mark(3), labelled=False)], ["default"], swept=DEFAULT))

    assert parsed(html).open == []
    assert "Not drawn: no run is known to be solved or unsolved." in html
    assert "<polyline" not in html


def test_delays_beyond_the_scale_are_in_the_outermost_bars() -> None:
    judged = Judged(stuck=True, from_turn=50)
    cases = [case(f"{at}", mark(at), turns=90, judged=judged) for at in (1, 2, 53, 80)]
    chart = delays(report(cases, ["default"]).detectors)

    assert "-10 turns: 2 runs" in chart
    assert "3 turns: 1 run<" in chart
    assert "20 turns: 1 run<" in chart


def test_the_sweep_changes_one_threshold_and_only_where_the_policy_has_it() -> None:
    found = dict(sweep_detectors(DEFAULT))

    assert list(found) == list(VALUES)
    assert found[3].policy.watches[2].thresholds.answer_break == 3
    assert found[3].policy.watches[:2] == DEFAULT.watches[:2]
    assert len({detector.policy.revision for detector in found.values()}) == len(VALUES)
    assert sweep_detectors(GAIA) == ()
