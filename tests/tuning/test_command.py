"""`sidecar tune`, from its arguments to its exit code."""

import re
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from sidecar.cli import main
from sidecar.config.load import load
from sidecar.presets import preset
from sidecar.tuning.evidence import data_digest, tuned_name
from sidecar.tuning.telling import runs_needed
from sidecar.version import VERSION
from tests.evaluation.recorded import labelled, looping, working, written

ROOT = Path(__file__).parents[2]


def recorded(folder: Path, *, solved: int = 4, stuck: int = 4) -> Path:
    """Solved runs that work, and unsolved ones that loop; two runs of each task."""
    labels: list[dict[str, Any]] = []
    for number in range(solved):
        written(folder, f"well-{number // 2}-{number % 2}", working(12))
        labels.append({"session_id": f"well-{number // 2}-{number % 2}", "solved": True})
    for number in range(stuck):
        name = f"badly-{number // 2}-{number % 2}"
        written(folder, name, looping(20))
        judged = {"stuck": True, "from_turn": 3}
        labels.append({"session_id": name, "solved": False, "judged": judged})
    labelled(folder, labels)
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return recorded(tmp_path / "runs")


def tuned(*arguments: object) -> Result:
    given = ["tune", "--processes", "1", *map(str, arguments)]
    return CliRunner().invoke(main, given, catch_exceptions=False)


def few(*arguments: object) -> Result:
    return tuned("--budget", 6, "--folds", 2, *arguments)


def test_the_figures_and_the_frontier_are_printed(runs: Path) -> None:
    result = few(runs)
    lines = result.stdout.splitlines()

    assert (result.exit_code, result.stderr) == (0, "")
    assert lines[0].startswith("Policy default ")
    assert lines[0].endswith(
        "4 solved, 4 unsolved, 4 judged stuck and 0 judged not stuck runs of 8 tasks."
    )
    assert re.match(r"\d+ configurations of \d+ thresholds tried; 1 % of the solved", lines[1])
    assert any(line.split()[:4] == ["default", "0", "of", "4"] for line in lines)
    assert "Frontier:" in result.stdout
    assert "Not one false stop in 4 solved runs" in result.stdout
    assert "To show 1 % takes 299 of them." in result.stdout


def test_the_file_that_is_written_is_a_configuration_as_it_stands(
    runs: Path, tmp_path: Path
) -> None:
    output = tmp_path / "tuned.yaml"
    result = few(runs, "--output", output)
    config = load(path=str(output), environment={})
    evidence = config.evidence["default-tuned"]

    assert result.exit_code == 0
    assert result.stderr == f"{output} has the policy default-tuned\n"
    assert config.default_policy == "default-tuned"
    assert evidence["revision"] == config.policies["default-tuned"].revision
    assert evidence["tuned_from"] == "default"
    assert evidence["tuned_from_revision"] == preset("default").revision
    assert (evidence["runs"], evidence["tasks"], evidence["folds"]) == (8, 8, 2)
    assert evidence["version"] == VERSION
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", evidence["date"])
    assert evidence["before"]["solved"] == evidence["held_out"]["solved"] == 4
    assert evidence["before"]["turns_saved"] == 4 * 16
    assert f"{evidence['configurations']} configurations of" in result.stdout


def test_check_config_shows_the_evidence(runs: Path, tmp_path: Path) -> None:
    output = tmp_path / "tuned.yaml"
    few(runs, "--output", output)
    shown = CliRunner().invoke(main, ["check-config", "--config", str(output)])

    assert shown.exit_code == 0
    assert "default-tuned (default)" in shown.stdout
    assert "held_out             solved 4, solved_stopped 0" in shown.stdout
    assert "outdated" not in shown.stdout


def test_the_command_in_the_evidence_gives_the_same_file_again(runs: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    few(runs, "--seed", 0, "--task", r"^(.*)-\d$", "--output", one)
    written_down = yaml.safe_load(one.read_text())["policies"]["default-tuned"]["evidence"]
    words = shlex.split(written_down["command"].replace("one.yaml", "two.yaml"))
    assert words[:2] == ["sidecar", "tune"]
    again = CliRunner().invoke(main, words[1:], catch_exceptions=False)

    assert again.exit_code == 0
    assert two.read_text() == one.read_text().replace("one.yaml", "two.yaml")


@pytest.mark.process
def test_a_seed_gives_the_same_in_one_process_and_in_two(runs: Path) -> None:
    one, two, other = (
        CliRunner().invoke(main, ["tune", str(runs), "--folds", "2", "--budget", "4", *rest])
        for rest in (["--processes", "1"], ["--processes", "2"], ["--seed", "5"])
    )
    assert one.stdout == two.stdout != other.stdout


def test_the_digest_is_that_of_the_files_wherever_they_lie(runs: Path, tmp_path: Path) -> None:
    files = [*runs.rglob("*.jsonl")]
    shell = 'sha256sum "$@" | cut -c1-64 | sort | sha256sum | cut -c1-64'
    by_hand = subprocess.run(
        ["sh", "-c", shell, "sh", *files], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert data_digest(files) == data_digest(reversed(files)) == by_hand

    output = tmp_path / "tuned.yaml"
    few(runs, "--output", output)
    assert (
        load(path=str(output), environment={}).evidence["default-tuned"]["data_sha256"] == by_hand
    )


def test_runs_of_one_task_go_together(runs: Path) -> None:
    assert "runs of 4 tasks." in few(runs, "--task", r"^(.*)-\d$").stdout


def test_runs_that_are_each_their_own_task_are_said_with_what_would_group_them(runs: Path) -> None:
    words = "Every run is its own task here, so trials of one task may lie in two parts: name"
    apart, together = few(runs).stdout, few(runs, "--task", r"^(.*)-\d$").stdout

    assert words in apart
    assert "--task REGEX" in apart
    assert "is its own task" not in together


def test_the_documented_command_finds_tasks_as_make_eval_does() -> None:
    makefile, page = (ROOT / name for name in ("Makefile", "docs/detection.md"))
    (line,) = re.findall(r"^TASK \?= (.*)$", makefile.read_text("utf-8"), re.MULTILINE)
    pattern = line.replace("$$", "$")

    assert f"sidecar tune folder --task '{pattern}'\n" in page.read_text("utf-8")


def test_any_policy_of_the_configuration_can_be_tuned(runs: Path, tmp_path: Path) -> None:
    own, output = tmp_path / "own.yaml", tmp_path / "tuned.yaml"
    own.write_text("policies: {mine: {preset: gaia, signals: {spin: {break: 7}}}}\n")
    result = few(runs, "--config", own, "--policy", "mine", "--output", output)
    config = load(path=str(output), environment={})

    assert result.exit_code == 0
    assert config.evidence["mine-tuned"]["tuned_from"] == "mine"
    assert config.evidence["mine-tuned"]["revision"] == config.policies["mine-tuned"].revision


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("default", "default-tuned"),
        ("default-tuned", "default-tuned"),
        ("x" * 64, "x" * 58 + "-tuned"),
    ],
)
def test_the_name_says_what_was_tuned(name: str, expected: str) -> None:
    assert tuned_name(replace(preset("default"), name=name)) == expected


@pytest.mark.parametrize(
    ("share", "runs"), [(0.01, 299), (0.05, 59), (0.5, 5), (1.0, 1), (0.0, None)]
)
def test_how_many_runs_show_a_share(share: float, runs: int | None) -> None:
    assert runs_needed(share) == runs


def problem(result: Result) -> tuple[int, str]:
    """The exit code, and the one line that says what is wrong."""
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return result.exit_code, line


def test_missing_labels_are_asked_for(tmp_path: Path) -> None:
    written(tmp_path / "runs", "one", working(3))
    code, line = problem(few(tmp_path / "runs"))
    assert code == 2
    assert line.startswith("sidecar: there are no labels: name them with --labels FILE")


def test_a_folder_that_is_not_there_is_not_said_to_lack_labels(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert problem(few(gone)) == (2, f"{gone}: there is no such file or folder")


def test_a_folder_without_run_files_is_not_said_to_lack_labels(tmp_path: Path) -> None:
    assert problem(few(tmp_path)) == (
        2,
        f"sidecar: no run files in {tmp_path}: expected *.jsonl",
    )


def test_one_class_alone_is_refused(tmp_path: Path) -> None:
    code, line = problem(few(recorded(tmp_path / "solved", stuck=0)))
    assert (code, "unsolved or judged stuck lie in 0 tasks" in line) == (2, True)
    code, line = problem(few(recorded(tmp_path / "stuck", solved=0)))
    assert (code, "solved and not judged stuck lie in 0 tasks" in line) == (2, True)


def test_too_few_tasks_for_the_folds_are_refused(runs: Path) -> None:
    code, line = problem(tuned(runs, "--task", r"^(.*)-\d$", "--folds", 5))
    assert code == 2
    assert line.startswith("sidecar: 5 folds of 4 tasks:")
    assert "--folds 4" in line


def test_where_nothing_keeps_the_bound_no_file_is_written(runs: Path, tmp_path: Path) -> None:
    for number in range(4):
        written(runs, f"well-{number // 2}-{number % 2}", looping(20))
    output = tmp_path / "tuned.yaml"
    result = few(runs, "--output", output)

    assert result.exit_code == 1
    assert "configurations breaks as few as 1 % of the solved runs" in result.stderr
    assert "breaks 4 of 4: allow more with --false-stops" in result.stderr
    assert "Frontier:" in result.stdout
    assert not output.exists()
    assert few(runs, "--output", output, "--false-stops", 1).exit_code == 0


@pytest.mark.parametrize(
    ("name", "problem_begins"),
    [
        ("tuned.toml", "it must end in .yaml or .yml"),
        ("there.yaml", "there is such a file already"),
        ("nowhere/tuned.yaml", "is no folder that can be written to"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_first(
    runs: Path, tmp_path: Path, name: str, problem_begins: str
) -> None:
    (tmp_path / "there.yaml").write_text("streams_max: 5\n")
    code, line = problem(few(runs, "--output", tmp_path / name))
    assert code == 2
    assert problem_begins in line
    assert (tmp_path / "there.yaml").read_text() == "streams_max: 5\n"


def test_a_wrong_command_line_is_told_in_one_line(runs: Path) -> None:
    assert problem(few(runs, "--policy", "nope"))[1].startswith("sidecar: --policy nope: no such")
    assert problem(few(runs, "--task", "("))[1].startswith("sidecar: --task (: no regular")
    assert tuned(runs, "--false-stops", 1.5).exit_code == 2
    assert tuned(runs, "--folds", 1).exit_code == 2


def test_a_broken_run_ends_it_unless_it_is_passed_over(runs: Path) -> None:
    (runs / "made" / "broken.jsonl").write_text("{\n")
    stopped, passed = few(runs), few(runs, "--keep-going")

    assert (stopped.exit_code, stopped.stdout) == (1, "")
    assert "broken.jsonl:1:" in stopped.stderr
    assert passed.exit_code == 1
    assert "Frontier:" in passed.stdout


def test_runs_of_which_nothing_is_known_are_left_out(runs: Path) -> None:
    written(runs, "unknown", looping(9))
    result = few(runs)
    assert result.exit_code == 0
    assert result.stderr == "of 1 run nothing is known: left out\n"
    assert "runs of 8 tasks." in result.stdout
