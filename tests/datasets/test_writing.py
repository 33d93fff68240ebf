"""Run files and labels as they are written, read back by those who use them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.datasets.moves import Answered, Call, Person, Recording, Said
from sidecar.datasets.shapes import slug
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


ALIKE = [
    *(
        "会话一",
        "会话二",
        "team:42",
        "team 42",
        "team-42",
        "a/b",
        "a-b",
        ".a-b",
        "labels",
        "Labels",
    ),
    *("run", "/", "//", "..", "é" * 60, "é" * 61, "é" * 200, "é" * 201, "x" * 128, "x" * 129),
    *("\ud800", "\udfff"),
]
"""Sessions whose names come to be alike, or cannot be the name of a file."""


def test_each_session_has_one_file_however_many_commands_convert_it(tmp_path: Path) -> None:
    first = [path for session in ALIKE for path in _write(tmp_path, _recording(session))]
    again = [path for session in reversed(ALIKE) for path in _write(tmp_path, _recording(session))]
    assert again == first[::-1]
    assert sorted(run_files([tmp_path])) == sorted(set(first))
    sessions = [read_run(path).session_id for path in first]
    assert len(set(sessions)) == len(ALIKE)
    assert set(read_labels(tmp_path / LABELS_FILE)) == set(sessions)
    assert all(len(session.encode()) <= 128 for session in sessions)
    assert all(len(path.name.encode()) <= 140 for path in first)
    as_they_are = [found for found in ALIKE if found.isprintable() and len(found.encode()) <= 128]
    assert set(as_they_are) <= set(sessions)


@pytest.mark.parametrize(
    ("session", "name"),
    [
        ("5d0c8a-b.1", "5d0c8a-b.1"),
        ("x" * 128, "x" * 128),
        ("team:42", "team-42-6ccdcad717ba"),
        ("会话一", "run-8cfca12b1874"),
        ("labels", "labels-d772ebb45902"),
    ],
)
def test_a_file_is_named_as_its_session_or_by_its_words_and_a_digest(
    tmp_path: Path, session: str, name: str
) -> None:
    (path,) = _write(tmp_path, _recording(session))
    assert path.name == f"{name}.jsonl"


@pytest.mark.parametrize("content", ['{"open": {"session_id": "S"}}\n', "a note\n", ""])
def test_a_file_that_holds_something_else_is_never_replaced(tmp_path: Path, content: str) -> None:
    taken = tmp_path / "s.jsonl"
    taken.write_text(content, encoding="utf-8")
    (path,) = _write(tmp_path, _recording("s"))
    assert _write(tmp_path, _recording("s")) == [path]
    assert path.name.startswith("s-")
    assert read_run(path).session_id == "s"
    assert taken.read_text("utf-8") == content


def test_two_runs_of_a_long_session_of_many_bytes_are_told_apart(tmp_path: Path) -> None:
    runs = [_recording("会" * 40), _recording("会" * 40)]
    others = [_recording("会" * 41), _recording("会" * 41)]
    paths = [*_write(tmp_path, *runs), *_write(tmp_path, *others)]
    sessions = {read_run(path).session_id for path in paths}
    assert len(sessions) == 4
    assert max(len(session.encode()) for session in sessions) <= 128
    assert set(read_labels(tmp_path / LABELS_FILE)) == sessions


def test_a_task_that_is_the_name_of_a_file_need_not_be_utf_8(tmp_path: Path) -> None:
    _write(tmp_path, replace(_recording(), task="a\udcff"))
    assert read_labels(tmp_path / LABELS_FILE)["s"].task == "a?"


@pytest.mark.parametrize(
    ("why", "parts", "name"),
    [
        ("signs between words are lost", ("openhands", "a__b-1"), "openhands-a-b-1"),
        ("numbers are names", ("tau2", 3, 0), "tau2-3-0"),
        ("a part that is empty is none", ("a", "", "b"), "a-b"),
    ],
)
def test_parts_of_ascii_are_the_name(why: str, parts: tuple[Any, ...], name: str) -> None:
    assert slug(*parts) == name, why


def test_parts_that_differ_in_words_that_are_no_ascii_have_names_that_differ() -> None:
    names = {
        slug("inspect", task) for task in ("任务一", "任务二", "/", "-", "é", "è", "caf", "café")
    }
    assert len(names) == 8
    assert all(name.isascii() and name.startswith("inspect-") for name in names)


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
