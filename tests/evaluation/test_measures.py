"""Figures from marks and labels, and what they are not."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sidecar.core.reading import Severity
from sidecar.evaluation.cases import Case, Spending
from sidecar.evaluation.detecting import Mark, PolicyDetector
from sidecar.evaluation.gathering import Fault, Gatherer, files_of, labels_in, labels_near
from sidecar.evaluation.labels import LABELS_FILE, Judged
from sidecar.evaluation.measures import Measures, Share, measure, resamples_of
from sidecar.presets import PRESETS, preset
from tests.evaluation.recorded import counted, synthetic

RUNS = os.environ.get("SIDECAR_RUNS", "")
STUCK = Judged(stuck=True, from_turn=10)
FREE = Judged(stuck=False)


def case(marks: str = "", **known: Any) -> Case:
    """A run of 20 turns; the marks as `w3 b7`: WARNING at turn 3, BREAK at 7, by `rule`."""
    severities = {"w": Severity.WARNING, "b": Severity.BREAK}
    found = tuple(
        Mark(sequence=int(mark[1:]), severity=severities[mark[0]], signal="rule")
        for mark in marks.split()
    )
    facts = {"session_id": "s", "source": "made", "task": "t", "turns": 20, **known}
    return Case(marks={"d": found}, **facts)


def measured(*cases: Case) -> Measures:
    return measure(cases, "d", resamples_of(cases))


def gathered(folder: Path) -> Sequence[Case]:
    gatherer = Gatherer(
        detectors=[PolicyDetector(policy=preset(name)) for name in PRESETS],
        labels=labels_in(labels_near([folder])),
    )
    files = [path for path in files_of([folder]) if isinstance(path, Path)]
    found = [result for result in gatherer.gather(files) if not isinstance(result, Fault)]
    return [case for _, case in found]


def figures(one: Measures) -> dict[str, Any]:
    def both(share: Share) -> tuple[int, int]:
        return share.count, share.of

    return {
        "solved with BREAK": both(one.solved.break_),
        "solved with any": both(one.solved.directive),
        "unsolved with BREAK": both(one.unsolved.break_),
        "stuck with any": both(one.stuck.directive),
        "not stuck with BREAK": both(one.not_stuck.break_),
        "median delay": one.delay.median,
        "saved": one.saved.turns,
        "lost": one.lost.turns,
        "by signal": {
            fired.signal: fired.first_break.all for fired in one.signals if fired.first_break.all
        },
    }


@pytest.mark.parametrize("policy", PRESETS)
def test_the_figures_are_those_of_replaying_and_counting(policy: str, tmp_path: Path) -> None:
    labels = synthetic(tmp_path, count=30, seed=11)
    found = figures(measure(gathered(tmp_path), policy))

    assert found == counted(tmp_path, labels, policy)
    assert sum(found["by signal"].values()) > 2


def test_a_solved_run_that_was_judged_stuck_is_no_mistake() -> None:
    found = measured(
        case("b12", session_id="stuck", solved=True, judged=STUCK),
        case("b12", session_id="well", solved=True),
        case("", session_id="also", solved=True, judged=FREE),
    )

    assert found.solved.break_ == Share(count=1, of=2)
    assert found.stuck.break_ == Share(count=1, of=1)
    assert found.lost.turns == 8
    assert found.on_break.precision.share == Share(count=1, of=2)


def test_runs_of_which_nothing_is_known_count_neither_for_nor_against() -> None:
    found = measured(case("b3"), case("w3", solved=False), case("b3", solved=False, judged=STUCK))

    assert found.all.break_ == Share(count=2, of=3)
    assert found.unsolved.directive == Share(count=2, of=2)
    assert found.on_directive.precision.share == Share(count=1, of=1)
    assert found.saved.turns == 17


def test_a_warning_catches_but_does_not_break() -> None:
    found = measured(case("w11", judged=STUCK), case("w11 b15", judged=STUCK), case(judged=STUCK))

    assert found.stuck.directive == Share(count=2, of=3)
    assert found.stuck.break_ == Share(count=1, of=3)
    assert found.on_directive.recall.share == Share(count=2, of=3)
    assert found.on_break.recall.share == Share(count=1, of=3)


@pytest.mark.parametrize(
    ("marks", "delays", "quartiles", "prompt"),
    [
        ([], (), (None, None, None), Share(count=0, of=0)),
        (["w13"], (3,), (3, 3, 3), Share(count=1, of=1)),
        (["w14 b11", "b12"], (2, 4), (2.5, 3, 3.5), Share(count=1, of=2)),
        (["w4", "w10", "b12", "b18"], (-6, 0, 2, 8), (-1.5, 1, 3.5), Share(count=3, of=4)),
    ],
)
def test_the_delay_counts_from_the_judged_start_to_the_first_mark(
    marks: list[str],
    delays: tuple[int, ...],
    quartiles: tuple[float | None, ...],
    prompt: Share,
) -> None:
    unknown_start = case("w2", judged=Judged(stuck=True))
    missed = case("", judged=STUCK)
    found = measured(unknown_start, missed, *(case(each, judged=STUCK) for each in marks)).delay

    assert found.turns == delays
    assert (found.quartile_low, found.median, found.quartile_high) == quartiles
    assert found.prompt == prompt


def test_tokens_and_cost_after_the_first_break_are_summed_as_far_as_they_were_told() -> None:
    told = tuple(Spending(sequence=turn, tokens=100, cost_usd=0.5) for turn in (4, 5, 6))
    partly = (Spending(sequence=9, tokens=7), Spending(sequence=20, cost_usd=0.25))
    found = measured(
        case("b5", solved=False, spending=told), case("w2 b8", solved=False, spending=partly)
    ).saved

    assert (found.runs, found.turns, found.turns_of) == (2, 15 + 12, 40)
    assert (found.tokens, found.tokens_turns) == (107, 2)
    assert (found.cost_usd, found.cost_turns) == (0.75, 2)


def test_tokens_and_cost_that_no_turn_told_are_absent_and_not_0() -> None:
    before = (Spending(sequence=2, tokens=50, cost_usd=1.0),)
    found = measured(case("b5", solved=False, spending=before), case("b5", solved=True))

    assert (found.saved.tokens, found.saved.cost_usd) == (None, None)
    assert (found.lost.tokens, found.lost.cost_usd) == (None, None)


def test_one_class_alone_gives_no_rate_of_the_other() -> None:
    found = measured(case("b5", solved=False), case("", solved=False))

    assert found.solved.break_.ratio is None
    assert found.stuck.directive.ratio is None
    assert found.on_break.precision.share.ratio is None
    assert found.on_break.recall.low is None
    assert found.unsolved.break_.ratio == 0.5


def test_a_run_counts_for_the_signal_of_its_first_break_and_of_its_first_mark() -> None:
    def mark(at: int, severity: Severity, signal: str) -> Mark:
        return Mark(sequence=at, severity=severity, signal=signal)

    marks = (
        mark(3, Severity.WARNING, "spin"),
        mark(5, Severity.BREAK, "loop"),
        mark(5, Severity.BREAK, "stall"),
    )
    run = Case(session_id="s", source="made", task="t", turns=9, solved=True, marks={"d": marks})
    found = measure([run], "d").signals

    assert [(one.signal, one.first_break.all, one.first_mark.solved) for one in found] == [
        ("loop", 1, 0),
        ("spin", 0, 1),
    ]


@pytest.mark.skipif(not RUNS, reason="SIDECAR_RUNS names no folder of recorded runs")
def test_the_figures_on_recorded_runs_are_those_of_replaying_and_counting() -> None:
    lines = (Path(RUNS) / LABELS_FILE).read_text("utf-8").splitlines()
    labels = [json.loads(line) for line in lines]
    cases = gathered(Path(RUNS))

    assert len(cases) == len(labels)
    assert figures(measure(cases, "default")) == counted(Path(RUNS), labels, "default")
