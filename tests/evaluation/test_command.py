"""`sidecar eval`, from its arguments to its exit code."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sidecar.cli import main
from sidecar.v1 import run_pb2
from tests.evaluation.recorded import OPEN, labelled, looping, working, written


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two solved runs and an unsolved one that loops from its third turn."""
    folder = tmp_path / "runs"
    for name in ("well-1", "well-2"):
        written(folder, name, working(12))
    written(folder, "badly-1", looping(20, usage=True), source="other")
    labelled(
        folder,
        [
            {"session_id": "well-1", "solved": True},
            {"session_id": "well-2", "solved": True, "judged": {"stuck": False}},
            {
                "session_id": "badly-1",
                "solved": False,
                "judged": {"stuck": True, "from_turn": 3, "kind": "loop"},
            },
        ],
    )
    return folder


def evaluated(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["eval", *map(str, arguments)], catch_exceptions=False)


def figures(result: Result) -> dict[str, Any]:
    """The JSON report's detectors by name."""
    return {one["detector"]: one for one in json.loads(result.stdout)["detectors"]}


def test_all_presets_are_measured_unless_some_are_named(runs: Path) -> None:
    everything = figures(evaluated(runs, "--format", "json"))
    some = figures(evaluated(runs, "--format", "json", "--policy", "gaia", "--policy", "debug"))

    assert list(everything) == ["default", "gaia", "autonomous", "debug", "execute"]
    assert list(some) == ["gaia", "debug"]


def test_the_report_has_what_was_found(runs: Path) -> None:
    result = evaluated(runs, "--format", "json", "--baseline", "founding")
    default, founding = (figures(result)[name] for name in ("default", "founding"))

    assert result.exit_code == 0
    assert result.stderr == ""
    assert default["stuck"]["break"] == {"count": 1, "of": 1, "ratio": 1.0}
    assert default["solved"]["directive"]["count"] == 0
    assert founding["saved"] == {
        "runs": 1,
        "turns": 17,
        "turns_of": 20,
        "tokens": 17 * 110,
        "tokens_turns": 17,
        "cost_usd": pytest.approx(0.17),
        "cost_turns": 17,
    }


@pytest.mark.parametrize(
    ("form", "begins"), [("table", "3 runs with"), ("json", "{"), ("html", "<!doctype html>")]
)
def test_every_form_goes_to_standard_output_or_to_a_file(
    runs: Path, tmp_path: Path, form: str, begins: str
) -> None:
    shown = evaluated(runs, "--format", form)
    kept = evaluated(runs, "--format", form, "--output", tmp_path / "report")

    assert shown.stdout.startswith(begins)
    assert kept.stdout == ""
    assert (tmp_path / "report").read_text("utf-8").startswith(begins)


def test_a_policy_of_one_s_own_is_measured(runs: Path, tmp_path: Path) -> None:
    config = tmp_path / "sidecar.yaml"
    config.write_text("policies:\n  mine:\n    preset: default\n    signals: {loop: off}\n")
    options = ("--config", config, "--policy", "mine", "--format", "json")

    assert figures(evaluated(runs, *options))["mine"]["stuck"]["break"]["count"] == 0


def test_turns_are_held_to_the_configured_bounds(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = looping(5)
    for turn in turns:
        turn.tool_calls.add(name="more")
    path = written(runs, "wide", turns)
    options = (path, "--format", "json", "--policy", "default")
    before = figures(evaluated(*options))["default"]["all"]["directive"]["count"]
    monkeypatch.setenv("SIDECAR_TOOL_CALLS_MAX", "1")
    after = figures(evaluated(*options))["default"]["all"]["directive"]["count"]

    assert (before, after) == (1, 0)


def test_programs_are_compared_and_their_strays_are_said(runs: Path, tmp_path: Path) -> None:
    program = tmp_path / "baselines" / "early" / "run"
    program.parent.mkdir(parents=True)
    lines = [
        json.dumps({"session_id": name, "sequence": 2, "severity": "break", "rule": "second"})
        for name in ("badly-1", "well-1", "nobody")
    ]
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
    program.chmod(0o755)
    result = evaluated(
        *(runs, "--format", "json", "--policy", "default"),
        *("--baselines", program.parent.parent, "--baseline", "founding,early"),
        *("--baseline", f"silent={sys.executable} -c pass"),
    )
    found = figures(result)

    assert result.exit_code == 0
    assert list(found) == ["default", "founding", "early", "silent"]
    assert found["early"]["solved"]["break"] == {"count": 1, "of": 2, "ratio": 0.5}
    assert found["early"]["delay"]["turns"] == [-1]
    assert found["silent"]["all"]["directive"]["count"] == 0
    assert json.loads(result.stdout)["notes"] == [
        "early: 1 finding on runs or turns that are not there."
    ]


def test_a_program_that_fails_ends_the_measuring_unless_told_to_keep_going(runs: Path) -> None:
    options = (runs, "--format", "json", "--baseline", "bad=false", "--policy", "default")
    stopped, went_on = evaluated(*options), evaluated(*options, "--keep-going")

    assert (stopped.exit_code, stopped.stdout) == (1, "")
    assert "baseline bad ended with exit code 1" in stopped.stderr
    assert went_on.exit_code == 1
    assert list(figures(went_on)) == ["default"]


def test_a_broken_file_ends_the_measuring_unless_told_to_keep_going(runs: Path) -> None:
    broken = runs / "broken.jsonl"
    broken.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    stopped = evaluated(runs, "--format", "json")
    went_on = evaluated(runs, "--format", "json", "--keep-going")
    report = json.loads(went_on.stdout)

    assert (stopped.exit_code, stopped.stdout) == (1, "")
    assert f"{broken}:1: not UTF-8" in stopped.stderr
    assert went_on.exit_code == 1
    assert f"{broken}:1: not UTF-8" in went_on.stderr
    assert report["runs"]["all"] == 3
    assert report["notes"] == ["1 file or baseline could not be measured and is left out."]


def test_labels_and_runs_that_do_not_meet_are_said(runs: Path, tmp_path: Path) -> None:
    labels = tmp_path / "mine.jsonl"
    labels.write_text('{"session_id": "well-1", "solved": true}\n{"session_id": "gone"}\n')
    result = evaluated(runs, "--labels", labels)

    assert result.exit_code == 0
    assert "1 label is of a run that was not given, and is left out: 'gone'." in result.stdout
    assert "2 runs have no label" in result.stdout
    assert "No run is known to be judged stuck" in result.stdout


def test_one_class_only_gives_dashes(runs: Path) -> None:
    result = evaluated(runs / "made", "--policy", "default")
    row = next(line.split() for line in result.stdout.splitlines() if "default" in line)

    assert result.exit_code == 0
    assert row == "default 0/2 0 % 0/2 0 % 0/2 0 % - - 0/1 0 % - -".split()
    assert "No run is known to be unsolved: what a detector saves cannot be given." in result.stdout


def test_runs_of_one_task_are_drawn_together(runs: Path) -> None:
    options = (runs, "--format", "json", "--policy", "default")
    apart, together = evaluated(*options), evaluated(*options, "--task", r"^([a-z]+)-\d$")

    assert json.loads(apart.stdout)["tasks"] == 3
    assert json.loads(together.stdout)["tasks"] == 2


def test_an_empty_set_is_said(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    result = evaluated(empty)
    (empty / "none.jsonl").write_text("")
    nothing_left = evaluated(empty, "--keep-going")

    assert result.exit_code == 2
    assert result.stderr == f"sidecar: no run files in {empty}: expected *.jsonl\n"
    assert nothing_left.exit_code == 1
    assert "nothing in it" in nothing_left.stderr
    assert "there is no run to measure" in nothing_left.stderr


def test_a_path_that_is_not_there_is_for_the_caller_to_change(runs: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    stopped = evaluated(gone)
    went_on = evaluated(gone, runs, "--keep-going", "--format", "json")
    nothing_left = evaluated(gone, "--keep-going")

    assert (stopped.exit_code, stopped.stdout) == (2, "")
    assert stopped.stderr == f"{gone}: there is no such file or folder\n"
    assert (went_on.exit_code, json.loads(went_on.stdout)["runs"]["all"]) == (1, 3)
    assert nothing_left.exit_code == 2
    assert "no run files in" in nothing_left.stderr


def test_runs_that_are_named_twice_are_measured_once(runs: Path) -> None:
    result = evaluated(runs, runs, runs / "made" / "well-1.jsonl", "--format", "json")

    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)["runs"]["all"] == 3


def test_a_gap_in_the_turns_is_named_as_by_replay(runs: Path) -> None:
    path = written(runs, "gap", [run_pb2.Turn(sequence=1), run_pb2.Turn(sequence=5)])
    result = evaluated(runs)
    replayed = CliRunner().invoke(main, ["replay", str(path)])

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"{path}:3: SEQUENCE_GAP: turn 2 expected, not 5\n"
    assert result.stderr in replayed.stderr


def test_runs_that_are_each_their_own_task_are_said_beside_the_intervals(runs: Path) -> None:
    words = "Every run is its own task here; where several are trials of one, name it with --task"
    apart, together = evaluated(runs), evaluated(runs, "--task", r"^([a-z]+)-\d$")

    assert words in " ".join(apart.stdout.split())
    assert "by drawing the 3 tasks of known runs again" in " ".join(apart.stdout.split())
    assert "is its own task" not in together.stdout


def test_one_task_is_counted_as_one(runs: Path) -> None:
    result = evaluated(runs, "--task", "^.")
    one = evaluated(runs / "other")

    assert "by drawing the 2 tasks of known runs again" in result.stdout
    assert "by drawing the 1 task of known runs again" in one.stdout


def test_a_page_of_a_policy_without_the_threshold_says_why_there_is_no_chart(runs: Path) -> None:
    result = evaluated(runs, "--format", "html", "--policy", "gaia")

    assert "Saved against lost" in result.stdout
    assert "none of these policies uses loop.answer_break" in result.stdout


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--policy", "nonesuch"), "--policy nonesuch: no such policy"),
        (
            ("--baseline", "nonesuch"),
            f"there is no executable {Path.cwd()}/eval/baselines/nonesuch",
        ),
        (("--baseline", "founding,founding"), "there is a policy or a baseline of this name"),
        (("--baseline", "default=true"), "--baseline default: there is a policy"),
        (("--task", "("), "--task (: no regular expression"),
        (("--labels", "/nowhere"), "/nowhere"),
    ],
)
def test_a_wrong_command_line_is_answered_in_one_line(
    runs: Path, options: tuple[str, ...], problem: str
) -> None:
    result = evaluated(runs, *options)

    assert result.exit_code == 2
    assert problem in result.stderr
    assert result.stdout == ""


def test_a_labels_file_with_a_wrong_line_is_named_with_it(runs: Path) -> None:
    (runs / "labels.jsonl").write_text('{"session_id": "well-1"}\n{"solved": "maybe"}\n')
    result = evaluated(runs)

    assert result.exit_code == 2
    assert f"{runs}/labels.jsonl:2: " in result.stderr


def test_a_report_that_cannot_be_written_is_said(runs: Path, tmp_path: Path) -> None:
    result = evaluated(runs, "--output", tmp_path / "no such folder" / "report")

    assert result.exit_code == 1
    assert "report: No such file or directory" in result.stderr


def test_a_file_name_that_is_no_text_still_names_its_run(tmp_path: Path) -> None:
    path = tmp_path / "caf\udce9.jsonl"
    path.write_text(OPEN.replace('"one"', '""'))
    result = evaluated(path, "--format", "html", "--output", tmp_path / "page.html")

    assert result.exit_code == 0
    assert "caf\\udce9" in (tmp_path / "page.html").read_text("utf-8")
