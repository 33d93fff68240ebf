"""Run files and labels as they are written, read back by those who use them."""

import json
from pathlib import Path

import pytest

from sidecar.datasets.moves import Answered, Call, Person, Recording, Said
from sidecar.datasets.turns import fold
from sidecar.datasets.writing import LABELS_FILE, LabelsBrokenError, RunWriter
from sidecar.evaluation.labels import read_labels
from sidecar.evaluation.runs import read_run, run_files


def _recording(session_id: str = "s", *, solved: bool | None = True) -> Recording:
    return Recording(
        session_id=session_id,
        agent="an agent",
        model="a model",
        task="a task",
        solved=solved,
        moves=(
            Person(),
            Said(text="é", calls=(Call(name="ls"),)),
            Answered(text="a"),
            Said(text="b"),
        ),
        facts={"mistake": {"step": "3"}},
    )


def _write(folder: Path, *recordings: Recording, source: str = "made-up") -> list[Path]:
    writer = RunWriter(folder)
    paths = [writer.write(found, fold(found), source=source) for found in recordings]
    writer.finish()
    return paths


def test_what_is_written_is_what_is_evaluated(tmp_path: Path) -> None:
    (path,) = _write(tmp_path / "new" / "folder", _recording())
    assert list(run_files([tmp_path])) == [path]
    run = read_run(path)
    assert run.session_id == "s"
    assert [turn.sequence for turn in run.turns] == [1, 2]
    label = read_labels(path.with_name(LABELS_FILE))["s"]
    assert (label.source, label.turns, label.solved, label.task) == ("made-up", 2, True, "a task")


def test_an_unknown_outcome_is_null_and_what_else_is_known_is_kept(tmp_path: Path) -> None:
    _write(tmp_path, _recording(solved=None))
    (line,) = (tmp_path / LABELS_FILE).read_text("utf-8").splitlines()
    assert json.loads(line) == {
        "session_id": "s",
        "source": "made-up",
        "turns": 2,
        "solved": None,
        "task": "a task",
        "mistake": {"step": "3"},
    }


def test_runs_of_one_session_or_one_file_name_are_told_apart(tmp_path: Path) -> None:
    sessions = ["s", "s", "a/b", "a:b", "", "x" * 500, "x" * 500]
    paths = _write(tmp_path, *(_recording(session_id) for session_id in sessions))
    assert len({path.name for path in paths}) == len(sessions)
    runs = [read_run(path) for path in paths]
    assert len({run.session_id for run in runs}) == len(sessions)
    assert set(read_labels(tmp_path / LABELS_FILE)) == {run.session_id for run in runs}
    assert all(path.parent == tmp_path for path in paths)


def test_labels_of_others_and_what_somebody_added_stay(tmp_path: Path) -> None:
    _write(tmp_path, _recording("other"), _recording("s", solved=False))
    labels = tmp_path / LABELS_FILE
    judged = {"session_id": "s", "solved": False, "judged": {"stuck": True, "from_turn": 1}}
    other = labels.read_text("utf-8").splitlines()[0]
    labels.write_text(f"{other}\n{json.dumps(judged)}\n", encoding="utf-8")
    _write(tmp_path, _recording("s"))
    found = read_labels(labels)
    assert set(found) == {"other", "s"}
    assert found["s"].solved is True
    assert found["s"].judged is not None


@pytest.mark.parametrize("line", ["not JSON", "[]", '{"solved": true}', '"s"'])
def test_labels_that_cannot_be_read_are_not_overwritten(tmp_path: Path, line: str) -> None:
    labels = tmp_path / LABELS_FILE
    labels.write_text(f'{{"session_id": "a"}}\n{line}\n', encoding="utf-8")
    with pytest.raises(LabelsBrokenError, match=r"labels\.jsonl:2: no label"):
        RunWriter(tmp_path)
