"""From files to cases: what is read, and what is said of what cannot be."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from sidecar.core.policy import Lens
from sidecar.evaluation.cases import Case, Spending
from sidecar.evaluation.detecting import PolicyDetector
from sidecar.evaluation.gathering import Fault, Gatherer, files_of, labels_in, labels_near
from sidecar.evaluation.labels import Judged, Label, LabelsInvalidError, read_labels
from sidecar.evaluation.runs import read_run
from sidecar.presets import AUTONOMOUS, DEFAULT, GAIA
from tests.evaluation.recorded import OPEN, TURN, labelled, looping, working, written

DETECTOR = PolicyDetector(policy=DEFAULT)


def gather(*paths: Path, labels: Iterable[Label] = (), task: str = "") -> list[Case | str]:
    """The cases, and the texts of the faults."""
    gatherer = Gatherer(
        detectors=[DETECTOR],
        labels={label.session_id: label for label in labels},
        task=re.compile(task) if task else None,
    )
    found = gatherer.gather(paths)
    return [result.text if isinstance(result, Fault) else result[1] for result in found]


def the_case(*paths: Path, labels: Iterable[Label] = (), task: str = "") -> Case:
    (case,) = gather(*paths, labels=labels, task=task)
    assert isinstance(case, Case)
    return case


def test_a_case_has_its_marks_its_length_and_what_its_label_says(tmp_path: Path) -> None:
    path = written(tmp_path, "one", looping(9))
    case = the_case(path, labels=[Label(session_id="one", source="lab", solved=False)])

    assert (case.session_id, case.source, case.turns) == ("one", "lab", 9)
    assert case.is_unsolved
    assert {mark.signal for mark in case.marks["default"]} == {"loop"}


def test_a_run_without_a_label_has_the_source_of_its_folder(tmp_path: Path) -> None:
    case = the_case(written(tmp_path, "one", working(3), source="mine"))

    assert (case.labelled, case.source, case.task, case.truth) == (False, "mine", "one", None)


def test_a_label_knows_the_turns_of_a_recording_that_was_cut(tmp_path: Path) -> None:
    path = written(tmp_path, "one", working(3))

    assert the_case(path, labels=[Label(session_id="one", turns=8)]).turns == 8
    assert the_case(path, labels=[Label(session_id="one", turns=2)]).turns == 3


@pytest.mark.parametrize(
    ("session_id", "label", "expected"),
    [
        ("tau-airline-12-3", Label(session_id="tau-airline-12-3"), "airline-12"),
        ("tau-airline-12-3", Label(session_id="tau-airline-12-3", task="own"), "own"),
        ("fix-run4-Math-5", Label(session_id="fix-run4-Math-5"), "Math-5"),
        ("whole-7", Label(session_id="whole-7"), "whole-7"),
    ],
)
def test_the_task_is_the_label_s_or_found_in_the_session_id(
    tmp_path: Path, session_id: str, label: Label, expected: str
) -> None:
    path = written(tmp_path, session_id, working(1))
    task = r"(airline-\d+)-\d+$|([A-Z]\w*-\d+)$"

    assert the_case(path, labels=[label], task=task).task == expected


def test_what_turns_say_of_tokens_and_cost_is_kept_and_nonsense_is_not(tmp_path: Path) -> None:
    turns = looping(4, usage=True)
    turns[1].ClearField("usage")
    turns[2].usage.input_tokens = -5
    turns[2].usage.cost_usd = float("nan")
    case = the_case(written(tmp_path, "one", turns))

    assert case.spending == (
        Spending(sequence=1, tokens=110, cost_usd=0.01),
        Spending(sequence=3, tokens=10),
        Spending(sequence=4, tokens=110, cost_usd=0.01),
    )


def test_a_session_in_two_files_is_measured_once_and_both_are_named(tmp_path: Path) -> None:
    one = written(tmp_path, "same", working(2), source="a")
    other = written(tmp_path, "same", working(2), source="b")
    case, fault = gather(one, other)

    assert isinstance(case, Case)
    assert fault == (
        f"{other}: session 'same' is already in {one}; every run needs a session_id of its own"
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "nothing in it"),
        (TURN.encode(), "run.jsonl:1: the first line of a run file is"),
        (
            OPEN.encode() + b'{"turn": {"sequence": 4}}\n{"turn": {"sequence": 2}}\n',
            "run.jsonl:2: SEQUENCE_GAP: turn 1 expected, not 4",
        ),
        (
            OPEN.encode() + b'{"turn": {"sequence": 1}}\n{"turn": {"sequence": 5}}\n',
            "run.jsonl:3: SEQUENCE_GAP: turn 2 expected, not 5",
        ),
        (
            OPEN.encode() + b'{"turn": {"sequence": 1}}\n{"turn": {"sequence": 1}}\n',
            "run.jsonl:3: turn 1 comes after turn 1: turns are in order",
        ),
        (bytes(reversed(range(256))) * 40, "run.jsonl:1: not UTF-8; expected"),
        (OPEN.encode() + b"\x00\x01\x02\n", "run.jsonl:2: "),
        (OPEN.encode() + '{"turn": {"text": "caf\xe9"}}\n'.encode("latin-1"), "run.jsonl:2: not"),
        (OPEN.encode() + b'{"turn": ', "run.jsonl:2: "),
    ],
)
def test_a_file_that_is_no_run_is_named_with_what_is_wrong(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    (fault,) = gather(path)

    assert isinstance(fault, str)
    assert problem in fault
    assert "\n" not in fault


def test_turns_that_are_said_to_be_lost_or_rejected_are_no_gap(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        '{"open": {"session_id": "one", "first_available_sequence": 3}}\n'
        '{"turn": {"sequence": 3}}\n{"rejected": {"sequence": 4}}\n{"turn": {}}\n'
        '{"open": {"session_id": "one", "first_available_sequence": 8}}\n{"turn": {}}\n'
    )

    assert [turn.sequence for turn in read_run(path).turns] == [3, 5, 8]


def test_a_rejected_turn_beyond_the_next_is_a_gap(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(OPEN + '{"rejected": {"sequence": 4}}\n')

    assert gather(path) == [f"{path}:2: SEQUENCE_GAP: turn 1 expected, not 4"]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = written(tmp_path, "one", working(1))
    (tmp_path / "link.jsonl").symlink_to(path)

    assert len(list(files_of([tmp_path, tmp_path, path, path.parent / ".." / "made"]))) == 1


def test_a_file_that_cannot_be_opened_is_named_and_the_others_are_measured(tmp_path: Path) -> None:
    gone = tmp_path / "gone.jsonl"
    fault, case = gather(gone, written(tmp_path, "one", working(2)))

    assert fault == f"{gone}: No such file or directory"
    assert isinstance(case, Case)


def test_results_of_ten_megabytes_are_measured(tmp_path: Path) -> None:
    turns = looping(5)
    for turn in turns[:2]:
        turn.tool_calls[0].result_text = "x" * 10_000_000
    case = the_case(written(tmp_path, "one", turns))

    assert case.turns == 5


def test_a_run_without_turns_is_a_case_that_nobody_marks(tmp_path: Path) -> None:
    case = the_case(written(tmp_path, "one", []))

    assert (case.turns, case.marks["default"]) == (0, ())


def test_labels_among_the_run_files_are_no_run_and_a_missing_path_is_a_fault(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, "one", working(1))
    labels = labelled(tmp_path, [])
    gone = tmp_path / "gone"

    assert list(files_of([labels, path, gone])) == [
        path,
        Fault(text=f"{gone}: there is no such file or folder"),
    ]


def test_labels_are_found_in_the_folder_of_the_runs_or_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path, "one", working(1))
    beside = labelled(tmp_path, [{"session_id": "one"}])
    found = [labels_near([path]), labels_near([path.parent]), labels_near([tmp_path, path])]
    own = labelled(path.parent, [{"session_id": "one"}])

    assert found == [(beside.resolve(),)] * 3
    assert labels_near([path]) == (own.resolve(),)


def test_a_session_labelled_twice_in_one_file_is_refused(tmp_path: Path) -> None:
    labels = labelled(tmp_path, [{"session_id": "one"}, {"session_id": "one", "solved": True}])

    with pytest.raises(LabelsInvalidError, match=r"labels\.jsonl:2: session_id 'one' is labelled"):
        labels_in([labels])


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('{"session_id": "one", "slved": true}', "slved is no field; did you mean solved?"),
        ('{"session_id": "one", "judgd": {"stuck": true}}', "did you mean judged?"),
        (
            '{"session_id": "one", "judged": {"stuck": true, "fromTurn": 3}}',
            "did you mean from_turn?",
        ),
    ],
)
def test_a_misspelt_field_of_a_label_is_refused(tmp_path: Path, line: str, named: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(LabelsInvalidError, match=re.escape(named)):
        read_labels(path)


def test_a_field_that_a_label_does_not_have_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"session_id": "one", "solved": true, "reviewer": "k", "score": 3}\n')
    assert read_labels(path)["one"].solved is True


def test_a_run_that_was_stuck_from_a_turn_beyond_its_last_is_not_measured(tmp_path: Path) -> None:
    path = written(tmp_path, "one", working(3))
    beyond = Label(session_id="one", judged=Judged(stuck=True, from_turn=9999))

    assert gather(path, labels=[beyond]) == [
        f"{path}: its label says from_turn 9999, and the run has 3 turns"
    ]


def test_a_lens_looks_at_a_run_once_whoever_asks(tmp_path: Path) -> None:
    run = read_run(written(tmp_path, "one", looping(3)))

    assert run.events(DEFAULT.lens) is run.events(Lens())
    assert run.events(DEFAULT.lens) is not run.events(GAIA.lens)
    assert run.events(GAIA.lens) is run.events(AUTONOMOUS.lens)


def test_a_session_labelled_in_two_files_is_refused(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    files = [labelled(folder, [{"session_id": "one"}]) for folder in folders]

    with pytest.raises(LabelsInvalidError, match=r"b/labels\.jsonl: session_id 'one' is labelled"):
        labels_in(files)
