"""`sidecar replay` and `sidecar journal`: the same decisions from a file, over the wire, and from
what was kept."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sidecar.testing import SidecarProcess
from tests.process.replayed import GOOD, decisions, sidecar, written

RUNS = os.environ.get("SIDECAR_RUNS", "")


@pytest.mark.process
def test_a_live_sidecar_and_its_journal_give_the_decisions_of_the_fold(tmp_path: Path) -> None:
    files = [str(written(tmp_path / f"{name}.jsonl", name, 120)) for name in ("one", "second")]
    folded = sidecar("replay", "--format", "json", *files)
    with SidecarProcess(tmp_path) as live:
        sent = sidecar("replay", "--format", "json", "--target", live.agent, *files)
        assert live.stop() == 0
    journal = subprocess.run(
        [sys.executable, "-c", "from sidecar.cli import main; main()", "journal", "one"],
        capture_output=True,
        text=True,
        env={**os.environ, "SIDECAR_STATE_DIRECTORY": str(live.state_directory)},
        check=True,
        timeout=60,
    ).stdout
    again = sidecar("replay", "--format", "json", "-", stdin=journal)

    assert folded.returncode == sent.returncode == again.returncode == 0, sent.stderr
    assert sent.stdout == folded.stdout
    assert len(decisions(folded.stdout)) == 240
    assert decisions(again.stdout) == decisions(folded.stdout)[:120]
    assert "result 5" not in journal


@pytest.mark.process
def test_a_live_sidecar_decides_alike_on_what_follows_lines_that_are_broken_or_refused(
    tmp_path: Path,
) -> None:
    call = '"tool_calls": [{"name": "t", "arguments_json": "{}", "result_text": "none"}]'
    lines = [
        '{"open": {"session_id": "gaps"}}',
        *(f'{{"turn": {{"sequence": {sequence}, {call}}}}}' for sequence in (1, 2)),
        '{"turn": {"sequence": 3, "output_lines": "many"}}',
        *(f'{{"turn": {{"sequence": {sequence}, {call}}}}}' for sequence in (4, 5, 6)),
        '{"turn": {"sequence": 6, "output_lines": 9}}',
        f'{{"turn": {{{call}}}}}',
        '{"command": {"after_sequence": 7, "reset": {"reason": "fresh"}}}',
        '{"open": {"first_available_sequence": 11}}',
        *(f'{{"turn": {{"sequence": {sequence}, {call}}}}}' for sequence in (11, 12, 13)),
        '{"close": {}}',
        '{"turn": {"sequence": 14}}',
    ]
    path = tmp_path / "gaps.jsonl"
    path.write_text("\n".join(lines) + "\n")
    folded = sidecar("replay", "--keep-going", "--format", "json", str(path))
    with SidecarProcess(tmp_path) as live:
        steered = f"--target={live.agent}", f"--admin={live.admin}"
        sent = sidecar("replay", "--keep-going", "--format", "json", *steered, str(path))

    assert [decision["sequence"] for decision in decisions(folded.stdout)] == [
        *(1, 2, 4, 5, 6, 7),
        *(7, 11, 12, 13),
    ]
    assert sent.stdout == folded.stdout
    assert (folded.returncode, sent.returncode) == (1, 1)
    numbers = [int(line.split(":")[1]) for line in sent.stderr.splitlines()[:-1]]
    assert numbers == [4, 8, 16], sent.stderr
    assert "; 3 problems\n" in folded.stderr


@pytest.mark.process
def test_a_later_open_resumes_the_run_and_is_refused_where_it_says_otherwise_than_the_first(
    tmp_path: Path,
) -> None:
    first = '"session_id": "s", "policy": "gaia", "limits": {"max_turns": "4"}'
    opens = (
        first,
        '"first_available_sequence": 2',
        f'{first}, "mode": "MODE_ENFORCE"',
        '"policy": "debug"',
        '"limits": {"max_turns": "40"}',
        '"mode": "MODE_OBSERVE"',
    )
    path = tmp_path / "resumed.jsonl"
    path.write_text("".join(f'{{"open": {{{one}}}}}\n{{"turn": {{}}}}\n' for one in opens))
    folded = sidecar("replay", "--keep-going", "--format", "json", str(path))
    with SidecarProcess(tmp_path) as live:
        sent = sidecar(
            "replay", "--keep-going", "--format=json", f"--target={live.agent}", str(path)
        )

    problems = folded.stderr.splitlines()[:-1]
    said = [line.removeprefix(f"{path}:").split(":")[:2] for line in problems]
    assert said == [[number, " OPEN_MISMATCH"] for number in ("7", "9", "11")]
    assert [decision["sequence"] for decision in decisions(folded.stdout)] == [1, 2, 3, 4, 5, 6]
    assert (sent.stdout, sent.stderr) == (folded.stdout, folded.stderr)


@pytest.mark.process
@pytest.mark.parametrize(
    ("first", "later", "problems"),
    [
        ({"max_turns": "100"}, {"max_turns": "100"}, []),
        ({"max_turns": "100"}, {"max_turns": "10"}, ["3"]),
        ({"max_turns": "0"}, {}, []),
        ({"max_turns": "-1"}, {"max_turns": "-2"}, []),
    ],
)
def test_limits_of_a_later_open_are_held_against_those_that_were_asked_for(
    tmp_path: Path, first: dict[str, str], later: dict[str, str], problems: list[str]
) -> None:
    path = tmp_path / "resumed.jsonl"
    lines: tuple[dict[str, Any], ...] = (
        {"open": {"limits": first}, "granted_limits": {"max_turns": "10"}},
        {"turn": {}},
        {"open": {"limits": later}},
        {"turn": {}},
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    folded = sidecar("replay", "--keep-going", "--format", "json", str(path))
    with SidecarProcess(tmp_path) as live:
        sent = sidecar(
            "replay", "--keep-going", "--format=json", f"--target={live.agent}", str(path)
        )

    said = [line.split(":")[1] for line in folded.stderr.splitlines()[:-1]]
    assert said == problems
    assert (sent.stdout, sent.stderr) == (folded.stdout, folded.stderr)


@pytest.mark.process
def test_a_journal_is_sent_to_a_live_sidecar_under_the_limits_that_its_run_was_given(
    tmp_path: Path,
) -> None:
    path = tmp_path / "journal.jsonl"
    given = '{"open": {"limits": {"max_turns": "40"}}, "granted_limits": {"max_turns": "3"}}\n'
    path.write_text(given + '{"turn": {}}\n' * 5)
    folded = sidecar("replay", "--format", "json", str(path))
    with SidecarProcess(tmp_path) as live:
        sent = sidecar("replay", "--format", "json", f"--target={live.agent}", str(path))

    assert [decision["state"] for decision in decisions(folded.stdout)][2] == "STATE_TRIPPED"
    assert (sent.stdout, sent.stderr) == (folded.stdout, folded.stderr)


@pytest.mark.process
def test_a_command_that_is_repeated_does_nothing_more_in_a_live_sidecar_either(
    tmp_path: Path,
) -> None:
    more = '{"command": {"continue": {"reason": "go", "extra_turns": "5", "request_id": "q"}}}\n'
    fresh = '{"command": {"reset": {"reason": "fresh", "request_id": "q"}}}\n'
    turns = "".join(f'{{"turn": {{"sequence": {sequence}}}}}\n' for sequence in range(2, 8))
    path = tmp_path / "repeated.jsonl"
    path.write_text(
        '{"open": {"limits": {"max_turns": "3"}}}\n{"turn": {"sequence": 1}}\n'
        + (more * 2 + fresh + more + fresh + turns)
    )
    folded = sidecar("replay", "--format", "json", str(path))
    with SidecarProcess(tmp_path) as live:
        steered = f"--target={live.agent}", f"--admin={live.admin}"
        sent = sidecar("replay", "--format", "json", *steered, str(path))

    asked = [one["cause"] == "CAUSE_TURN" for one in decisions(folded.stdout)]
    assert asked == [True, False, False, *[True] * 6]
    assert (sent.stdout, sent.stderr) == (folded.stdout, folded.stderr)


@pytest.mark.process
def test_what_a_live_sidecar_would_decide_otherwise_is_not_sent_to_it(tmp_path: Path) -> None:
    successor, steered = tmp_path / "successor.jsonl", tmp_path / "steered.jsonl"
    successor.write_text('{"open": {"session_id": "b"}, "inherited_json": "{}"}\n')
    steered.write_text(GOOD + '{"command": {"after_sequence": 1, "reset": {"reason": "fresh"}}}\n')
    with SidecarProcess(tmp_path) as live:
        run = sidecar("replay", "--target", live.agent, str(successor), str(steered))

    assert run.returncode == 1
    assert f"{successor}:1: " in run.stderr
    assert f"{steered}:3: a continue or reset needs --admin ADDRESS" in run.stderr
    assert "2 runs, 1 decision: 1 undisturbed; 2 problems" in run.stderr


@pytest.mark.process
def test_after_a_turn_that_cannot_be_sent_a_live_sidecar_is_told_the_others(tmp_path: Path) -> None:
    path = tmp_path / "rejected.jsonl"
    rejected = '{"rejected": {"sequence": 2, "rejection": {"reason": "TOOL_CALLS_MAX"}}}\n'
    path.write_text(GOOD + rejected + '{"turn": {"sequence": 3}}\n{"turn": {"sequence": 4}}\n')
    with SidecarProcess(tmp_path) as live:
        run = sidecar(
            "replay", "--keep-going", "--format=json", f"--target={live.agent}", str(path)
        )

    assert f"{path}:3: a rejected turn cannot be sent again" in run.stderr
    assert [decision["sequence"] for decision in decisions(run.stdout)] == [1, 3, 4]


@pytest.mark.process
def test_a_command_that_is_refused_is_the_file_s_problem(tmp_path: Path) -> None:
    path = tmp_path / "negative.jsonl"
    path.write_text(GOOD + '{"command": {"continue": {"reason": "less", "extra_turns": "-1"}}}\n')
    with SidecarProcess(tmp_path) as live:
        run = sidecar("replay", f"--target={live.agent}", f"--admin={live.admin}", str(path))

    assert run.returncode == 1
    assert f"{path}:3: REQUEST_INVALID: " in run.stderr
    assert "; 1 problem\n" in run.stderr


@pytest.mark.process
def test_problems_are_said_in_the_same_words_by_the_fold_and_of_a_live_sidecar(
    tmp_path: Path,
) -> None:
    big = "x" * (5 * 1024 * 1024)
    lines = [
        '{"open": {}}',
        '{"turn": {}}',
        '{"turn": {"sequence": 3}}',
        '{"turn": {"sequence": 1, "output_lines": 9}}',
        '{"command": {"after_sequence": 7, "reset": {"reason": "fresh"}}}',
        '{"command": {"after_sequence": 1}}',
        f'{{"turn": {{"sequence": 2, "text": "{big}"}}}}',
        '{"turn": {"sequence": 3}}',
        '{"open": {"session_id": "another"}}',
        '{"turn": {}}',
    ]
    path = tmp_path / "words.jsonl"
    path.write_text("\n".join(lines) + "\n")
    folded = sidecar("replay", "--keep-going", "--format", "json", str(path))
    with SidecarProcess(tmp_path) as live:
        sent = sidecar("replay", "--keep-going", "--format=json", "--target", live.agent, str(path))

    problems = folded.stderr.splitlines()[:-1]
    assert [problem.split(":")[1] for problem in problems] == ["3", "4", "5", "6", "7", "9"]
    assert [decision["sequence"] for decision in decisions(folded.stdout)] == [1, 3]
    assert sent.stderr == folded.stderr
    assert sent.stdout == folded.stdout


@pytest.mark.process
def test_a_run_goes_on_from_that_of_an_earlier_file_as_in_a_live_sidecar(tmp_path: Path) -> None:
    call = '"tool_calls": [{"name": "t", "arguments_json": "{}", "result_text": "none"}]'
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_text("\n".join(['{"open": {}}', *[f'{{"turn": {{{call}}}}}'] * 4]) + "\n")
    second.write_text('{"open": {"previous_session_id": "first"}}\n{"turn": {}}\n')
    files = str(first), str(second)
    folded = sidecar("replay", "--format", "json", *files)
    with SidecarProcess(tmp_path) as live:
        sent = sidecar("replay", "--format", "json", "--target", live.agent, *files)

    assert (folded.returncode, sent.returncode) == (0, 0)
    assert sent.stdout == folded.stdout
    assert decisions(folded.stdout)[-1]["state"] == "STATE_RECOVERY"
    assert "previous_missing" not in folded.stdout


@pytest.mark.process
def test_a_run_whose_beginning_is_missing_is_sent_as_it_is_folded(tmp_path: Path) -> None:
    lines = (
        '{"open": {"session_id": "late", "first_available_sequence": 5}}',
        '{"turn": {"sequence": 5}}',
        '{"turn": {}}',
        '{"command": {"after_sequence": 6, "continue": {"reason": "go on"}}}',
        '{"close": {}}',
        '{"command": {"continue": {"reason": "too late"}}}',
    )
    path = tmp_path / "late.jsonl"
    path.write_text("\n".join(lines) + "\n")
    folded = sidecar("replay", "--keep-going", "--format", "json", str(path))
    with SidecarProcess(tmp_path) as live:
        steered = f"--target={live.agent}", f"--admin={live.admin}"
        sent = sidecar("replay", "--keep-going", "--format", "json", *steered, str(path))

    assert [one["sequence"] for one in decisions(folded.stdout)] == [5, 6, 6]
    assert (sent.stdout, sent.stderr) == (folded.stdout, folded.stderr)


@pytest.mark.process
def test_a_run_that_a_sidecar_has_already_is_not_silently_answered_otherwise(
    tmp_path: Path,
) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text("\n".join(['{"open": {}}', *['{"turn": {}}'] * 260]) + "\n")
    with SidecarProcess(tmp_path) as live:
        first = sidecar("replay", "--target", live.agent, str(path))
        second = sidecar("replay", "--target", live.agent, str(path))
        third = sidecar("replay", "--keep-going", "--target", live.agent, str(path))

    assert first.returncode == 0, first.stderr
    assert (second.returncode, second.stdout) == (1, "")
    assert f"{path}:1: the sidecar has 260 turns of a session 'long' already" in second.stderr
    assert third.returncode == 1
    assert "1 run, 260 decisions, 4 turns not counted: 1 undisturbed; 1 problem\n" in third.stderr


@pytest.mark.process
@pytest.mark.skipif(not RUNS, reason="SIDECAR_RUNS names no folder of recorded runs")
def test_every_recorded_run_is_decided_alike_by_the_fold_and_by_a_live_sidecar(
    tmp_path: Path,
) -> None:
    files = sorted(str(path) for path in Path(RUNS).glob("*/*.jsonl"))
    folded = sidecar("replay", "--format", "json", *files)
    with SidecarProcess(tmp_path) as live:
        sent = sidecar("replay", "--format", "json", "--target", live.agent, *files)

    assert files
    assert folded.returncode == 0, folded.stderr
    assert sent.returncode == 0, sent.stderr
    assert sent.stdout == folded.stdout
