"""`sidecar replay` by the fold alone: what it writes, and what it says where a file is no run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.process.replayed import GOOD, decisions, sidecar, written


@pytest.mark.process
def test_standard_output_has_observe_responses_and_nothing_else() -> None:
    run = sidecar("replay", "--format", "json", "-", stdin=GOOD)
    lines = [json.loads(line) for line in run.stdout.splitlines()]

    assert run.returncode == 0
    assert [list(line) for line in lines] == [["opened"], ["decision"]]
    assert lines[0]["opened"]["session_id"] == "good"
    assert run.stderr == "1 run, 1 decision: 1 undisturbed\n"


@pytest.mark.process
def test_a_broken_line_is_named_and_the_rest_is_replayed_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(GOOD + '{"turn": {"sequence": "x"}}\n{"turn": {"sequence": 2}}\n')
    stopped = sidecar("replay", "--format", "json", str(path))
    went_on = sidecar("replay", "--format", "json", "--keep-going", str(path))

    assert stopped.returncode == went_on.returncode == 1
    assert f"{path}:3: " in stopped.stderr
    assert "expected" in stopped.stderr
    assert len(decisions(stopped.stdout)) == 1
    assert len(decisions(went_on.stdout)) == 2


@pytest.mark.process
def test_turns_after_a_broken_turn_are_decided(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    rest = "".join(f'{{"turn": {{"sequence": {sequence}}}}}\n' for sequence in (3, 4))
    path.write_text(GOOD + '{"turn": {"sequence": 2, "output_lines": "many"}}\n' + rest)
    run = sidecar("replay", "--format", "json", "--keep-going", str(path))

    assert run.returncode == 1
    assert [decision["sequence"] for decision in decisions(run.stdout)] == [1, 3, 4]
    assert "; 1 problem\n" in run.stderr


@pytest.mark.process
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"turn": {"sequence": 1}}\n', "OPEN_REQUIRED"),
        ('{"open": {"policy": "nonesuch"}}\n', "POLICY_UNKNOWN"),
        (GOOD + '{"turn": {"sequence": 5}}\n', "SEQUENCE_GAP"),
        (GOOD + '{"turn": {"sequence": 1, "output_lines": 9}}\n', "SEQUENCE_CONFLICT"),
        ("\xff\n", "not"),
        ("[1, 2]\n", "expected"),
    ],
)
def test_a_file_that_is_no_run_says_why(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content.encode("latin-1"))
    run = sidecar("replay", str(path))

    assert run.returncode == 1
    assert problem in run.stderr


@pytest.mark.process
def test_a_file_that_is_not_there_is_named_and_the_others_are_replayed(tmp_path: Path) -> None:
    good = tmp_path / "good.jsonl"
    good.write_text(GOOD)
    run = sidecar("replay", "--format", "json", str(tmp_path / "missing.jsonl"), str(good))

    assert run.returncode == 1
    assert "missing.jsonl" in run.stderr
    assert len(decisions(run.stdout)) == 1


@pytest.mark.process
def test_who_reads_no_further_hears_of_no_problem(tmp_path: Path) -> None:
    files = [str(written(tmp_path / f"{name}.jsonl", name, 120)) for name in ("one", "second")]
    command = [sys.executable, "-c", "from sidecar.cli import main; main()", "replay"]
    with subprocess.Popen(
        [*command, "--format", "json", *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == ""


@pytest.mark.process
def test_an_id_does_nothing_to_the_terminal_that_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"open": {"session_id": "a\\u001b[2J\\nb"}}\n{"turn": {}}\n')
    plain = sidecar("replay", str(path))
    compared = sidecar("replay", "--what-if", "spin.break=4", str(path))

    assert plain.stdout.startswith("a\\x1b[2J\\nb  policy default ")
    assert compared.stdout.startswith("a\\x1b[2J\\nb  policy default ")


@pytest.mark.process
@pytest.mark.parametrize("change", [[], ["--what-if", "spin.break=4"]])
def test_a_file_without_a_line_is_a_problem_and_the_others_are_replayed(
    tmp_path: Path, change: list[str]
) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    run = sidecar(
        "replay", *change, "--keep-going", str(empty), str(written(tmp_path / "a", "a", 1))
    )

    assert run.returncode == 1
    assert run.stdout.startswith("a  policy default ")
    assert run.stderr.splitlines()[0] == (
        f'{empty}:1: nothing in it; a run file begins with {{"open": ...}}'
    )
    assert run.stderr.splitlines()[-1].endswith("; 1 problem")


@pytest.mark.process
def test_an_open_without_an_id_replays_under_the_file_s_name(tmp_path: Path) -> None:
    path = tmp_path / "named-after-me.jsonl"
    path.write_text('{"open": {}}\n')
    run = sidecar("replay", "--format", "json", str(path))

    assert json.loads(run.stdout)["opened"]["session_id"] == "named-after-me"


@pytest.mark.process
def test_an_observed_run_is_answered_and_unknown_fields_are_passed_over() -> None:
    lines = (
        '{"open": {"session_id": "o", "mode": "MODE_OBSERVE", "shoe_size": 43}}\n'
        '{"turn": {"sequence": 1, "mood": "fine"}}\n'
    )
    run = sidecar("replay", "--format", "json", "-", stdin=lines)

    assert run.returncode == 0
    assert len(decisions(run.stdout)) == 1


@pytest.mark.process
def test_commands_in_a_file_are_obeyed_and_answered() -> None:
    lines = GOOD + '{"command": {"after_sequence": 1, "reset": {"reason": "fresh"}}}\n'
    run = sidecar("replay", "--format", "json", "-", stdin=lines)
    found = decisions(run.stdout)

    assert [decision["cause"] for decision in found] == ["CAUSE_TURN", "CAUSE_OPERATOR"]
    assert found[1]["state"] == "STATE_RECOVERY"


CALL = '{"name": "t", "arguments_json": "{}"}'


@pytest.mark.process
@pytest.mark.parametrize(
    ("bound", "more", "reason"),
    [
        (
            "SIDECAR_TOOL_CALLS_MAX",
            f'{{"turn": {{"sequence": 2, "tool_calls": [{CALL}, {CALL}]}}}}\n',
            "TOOL_CALLS_MAX",
        ),
        (
            "SIDECAR_DECISIONS_KEPT_MAX",
            '{"turn": {"sequence": 2}}\n' + GOOD.splitlines(keepends=True)[1],
            "DUPLICATE_TOO_OLD",
        ),
    ],
)
def test_a_replay_holds_turns_to_the_configured_bounds(bound: str, more: str, reason: str) -> None:
    lines = GOOD + more
    run = subprocess.run(
        [sys.executable, "-c", "from sidecar.cli import main; main()", "replay", "--format", "json",
         "-"],
        input=lines,
        capture_output=True,
        text=True,
        env={**os.environ, bound: "1"},
        check=True,
        timeout=60,
    )  # fmt: skip

    assert decisions(run.stdout)[-1]["rejection"]["reason"] == reason  # type: ignore[index]
