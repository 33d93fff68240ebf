"""Where configurations break runs, here and in other processes."""

import multiprocessing
import os
from pathlib import Path

import pytest

from sidecar.adapters.convert import TurnBounds
from sidecar.config.changes import with_thresholds
from sidecar.core.reading import Severity
from sidecar.evaluation.detecting import PolicyDetector, first
from sidecar.evaluation.gathering import Gatherer, labels_in
from sidecar.evaluation.measures import measure
from sidecar.evaluation.runs import read_run, run_files
from sidecar.presets import preset
from sidecar.tuning.figures import Part
from sidecar.tuning.folding import Folder, FoldingEndedError, Runs, folding
from sidecar.tuning.space import UNCHANGED, Configuration
from tests.evaluation.recorded import looping, synthetic, working, written

RECORDED = os.environ.get("SIDECAR_RUNS", "")

PATIENT: Configuration = ((("loop", "repeat_break"), 6), (("loop", "answer_break"), 8))
CONTRADICTION: Configuration = ((("loop", "answer_break"), 8), (("loop", "answer_break_window"), 5))


def files(folder: Path) -> list[Path]:
    """Runs by chance."""
    synthetic(folder, 40, seed=5)
    return sorted(folder.glob("*/*.jsonl"))


def runs(found: list[Path], policy: str = "default") -> Runs:
    return Runs.under(preset(policy), found, TurnBounds())


def test_a_run_breaks_where_the_policy_with_these_thresholds_breaks_it(tmp_path: Path) -> None:
    found = files(tmp_path)
    folder = Folder(runs(found))
    for configuration in (UNCHANGED, PATIENT):
        policy = with_thresholds(preset("default"), dict(configuration))
        marks = [PolicyDetector(policy=policy).marks(read_run(path)) for path in found]
        breaks = [first(each, Severity.BREAK) for each in marks]
        expected = tuple(mark.sequence if mark else 0 for mark in breaks)
        assert folder.breaks(configuration) == expected
        assert any(expected)
    assert folder.breaks(UNCHANGED) != folder.breaks(PATIENT)


def test_what_contradicts_itself_is_not_folded(tmp_path: Path) -> None:
    folder = Folder(runs([written(tmp_path, "one", looping(3))]))
    with pytest.raises(ValueError, match="contradict"):
        folder.breaks(CONTRADICTION)


def test_no_turn_is_read_beyond_the_bounds(tmp_path: Path) -> None:
    found = [written(tmp_path, "one", looping(9)), written(tmp_path, "two", working(9))]
    bounded = Runs.under(preset("default"), found, TurnBounds(tool_calls_max=0))
    assert Folder(runs(found)).breaks(UNCHANGED) != (0, 0)
    assert Folder(bounded).breaks(UNCHANGED) != Folder(runs(found)).breaks(UNCHANGED)


@pytest.mark.process
def test_two_processes_fold_as_one_does(tmp_path: Path) -> None:
    found = runs(files(tmp_path))
    wanted = [UNCHANGED, PATIENT, ((("spin", "break"), 3),)]
    with folding(found, 1) as alone, folding(found, 2) as together:
        assert together(wanted) == alone(wanted)
        assert together([]) == alone([]) == []


@pytest.mark.process
def test_a_process_that_ends_early_is_told_of(tmp_path: Path) -> None:
    found = runs([written(tmp_path, "one", looping(3))])
    ended = pytest.raises(FoldingEndedError, match="ended early")
    with ended, folding(found, 2) as together:
        together([UNCHANGED, PATIENT])
        for process in multiprocessing.active_children():
            process.terminate()
            process.join()
        together([UNCHANGED, PATIENT])


@pytest.mark.process
def test_no_process_is_left_behind(tmp_path: Path) -> None:
    found = runs([written(tmp_path, "one", looping(3))])
    with folding(found, 2) as together:
        together([UNCHANGED])
    assert not multiprocessing.active_children()


@pytest.mark.skipif(not Path(RECORDED, "labels.jsonl").is_file(), reason="SIDECAR_RUNS is not set")
def test_the_figures_on_recorded_runs_are_those_of_an_evaluation() -> None:
    folder = Path(RECORDED)
    labels = labels_in([folder / "labels.jsonl"])
    gatherer = Gatherer(detectors=[PolicyDetector(policy=preset("default"))], labels=labels)
    found = [each for each in gatherer.gather(run_files([folder])) if isinstance(each, tuple)]
    cases = [case for _, case in found]
    breaks = Folder(runs([path for path, _ in found])).breaks(UNCHANGED)
    figures, measures = Part(cases, range(len(cases))).figures(breaks), measure(cases, "default")
    assert figures.solved_stopped == measures.solved.break_.count
    assert figures.stuck_stopped == measures.stuck.break_.count
    assert figures.turns_saved == measures.saved.turns
