"""Detectors outside of this project, as programs."""

import sys
from pathlib import Path

import pytest

from sidecar.core.reading import Severity
from sidecar.evaluation.baselines import (
    FOUNDING,
    BaselineFailedError,
    BaselineUnknownError,
    Finding,
    Program,
    baselines_of,
    with_marks,
)
from sidecar.evaluation.cases import Case
from sidecar.evaluation.runs import read_run
from tests.evaluation.recorded import looping, written

ROOT = Path(__file__).parents[2]


def program(folder: Path, body: str) -> Program:
    """A program in Python."""
    path = folder / "program.py"
    path.write_text(body)
    return Program(name="other", command=(sys.executable, str(path)))


def case(session_id: str, turns: int) -> Case:
    return Case(session_id=session_id, source="", task="", turns=turns)


def test_a_program_gets_every_path_and_its_findings_become_marks(tmp_path: Path) -> None:
    files = [written(tmp_path, name, looping(6)) for name in ("one", "a name with blanks")]
    echo = program(
        tmp_path,
        "import json, pathlib, sys\n"
        "for line in sys.stdin:\n"
        "    name = pathlib.Path(line.rstrip('\\n')).stem\n"
        "    found = {'session_id': name, 'rule': 'same', 'summary': 'again'}\n"
        "    for sequence, severity in ((5, 'break'), (3, 'warning'), (5, 'warning')):\n"
        "        print(json.dumps({**found, 'sequence': sequence, 'severity': severity}))\n",
    )
    cases = [case("one", 6), case("a name with blanks", 6)]
    marked, strays = with_marks(cases, "other", echo.marks(files))

    assert strays == 0
    for each in marked:
        found = [(mark.sequence, mark.severity.name, mark.signal) for mark in each.marks["other"]]
        assert found == [(3, "WARNING", "same"), (5, "BREAK", "same"), (5, "WARNING", "same")]


def test_findings_on_runs_or_turns_that_are_not_there_are_counted_and_dropped() -> None:
    findings = [
        Finding(session_id=name, sequence=sequence, severity="break", rule="r")
        for name, sequence in (("one", 6), ("one", 7), ("nobody", 1))
    ]
    (marked,), strays = with_marks(
        [case("one", 6)], "other", ((each.session_id, each.mark) for each in findings)
    )

    assert strays == 2
    assert [mark.sequence for mark in marked.marks["other"]] == [6]
    assert marked.marks["other"][0].severity is Severity.BREAK


def test_a_program_that_talks_much_on_both_sides_is_read_to_its_end(tmp_path: Path) -> None:
    line = '{"session_id": "one", "sequence": 1, "severity": "warning", "rule": "r"}'
    talker = program(
        tmp_path,
        "import sys\n"
        "for _ in range(20000):\n"
        f"    print({line!r})\n"
        "    print('x' * 100, file=sys.stderr)\n"
        "assert len(sys.stdin.readlines()) == 20000\n",
    )

    assert len(list(talker.marks([tmp_path / "run.jsonl"] * 20_000))) == 20_000


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            "import sys\nprint('first', file=sys.stderr)\nsys.exit('no module of that name')",
            "baseline other ended with exit code 1: no module of that name",
        ),
        ("import sys\nsys.exit(7)", "exit code 7: it said nothing on standard error"),
        ("print()\nprint('hello')", "baseline other, line 2 of its output: .*expected"),
        (
            'print(\'{"session_id": "a", "sequence": 0, "severity": "break", "rule": "r"}\')',
            "line 1 of its output: .*sequence",
        ),
        (
            'print(\'{"session_id": "a", "sequence": 1, "severity": "halt", "rule": "r"}\')',
            "line 1 of its output: .*severity",
        ),
    ],
)
def test_a_program_that_does_something_else_is_named_with_what_it_did(
    tmp_path: Path, body: str, problem: str
) -> None:
    with pytest.raises(BaselineFailedError, match=problem):
        list(program(tmp_path, body).marks([]))


def test_a_program_that_cannot_be_started_is_named() -> None:
    nowhere = Program(name="other", command=("/nowhere/at all", "-x"))

    with pytest.raises(BaselineFailedError, match="other cannot be started: '/nowhere/at all' -x"):
        list(nowhere.marks([]))


def test_a_name_means_the_program_in_its_folder_and_a_command_itself(tmp_path: Path) -> None:
    run = tmp_path / "openhands" / "run"
    run.parent.mkdir()
    run.write_text("#!/bin/sh\n")
    run.chmod(0o755)

    assert baselines_of("openhands", tmp_path) == (Program(name="openhands", command=(str(run),)),)
    assert baselines_of("mine=python x.py --a 'b c'", tmp_path) == (
        Program(name="mine", command=("python", "x.py", "--a", "b c")),
    )
    assert baselines_of("founding", tmp_path) == (FOUNDING,)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("openhands", ["openhands-sdk", "openhands-v0"]),
        ("gemini", ["gemini-cli"]),
        ("qwen", ["qwen-code", "qwen-code-heuristics"]),
        ("qwen-code", ["qwen-code"]),
        ("openhands-v0", ["openhands-v0"]),
    ],
)
def test_a_name_of_no_program_means_all_that_begin_with_it_and_a_dash(
    name: str, meant: list[str]
) -> None:
    found = baselines_of(name, ROOT / "eval/baselines")

    assert [each.name for each in found] == meant


def test_an_unknown_name_is_answered_with_the_place_that_was_looked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(BaselineUnknownError, match=f"executable {tmp_path}/eval/baselines/a/run"):
        baselines_of("a", Path("eval/baselines"))


@pytest.mark.parametrize("text", ["openhand", "", "plain", "=python", "mine=", "mine='"])
def test_what_names_no_baseline_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "run").write_text("not executable")

    with pytest.raises(BaselineUnknownError, match="baseline"):
        baselines_of(text, tmp_path)


def test_an_unknown_name_is_answered_with_those_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "roo").mkdir()
    (tmp_path / "roo" / "run").write_text("")

    with pytest.raises(BaselineUnknownError, match="there are founding, roo, and NAME=COMMAND"):
        baselines_of("ro", tmp_path)


def test_the_founding_rule_breaks_at_the_third_equal_call_and_has_no_budget(
    tmp_path: Path,
) -> None:
    marks = FOUNDING.marks(read_run(written(tmp_path, "one", looping(40))))

    assert {mark.signal for mark in marks} == {"loop"}
    assert [mark.sequence for mark in marks] == list(range(3, 41))
    assert {mark.severity for mark in marks} == {Severity.BREAK}
