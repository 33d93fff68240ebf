"""`sidecar replay` and `sidecar journal`: the same decisions from a file, over the wire, and from
what was kept."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.adapters.run_file import write_line
from sidecar.testing import SidecarProcess
from sidecar.v1 import convergence_service_pb2 as pb
from sidecar.v1 import run_pb2
from tests.process.uninterrupted import turns

DATA = Path(__file__).parents[1] / "data"
RUNS = os.environ.get("SIDECAR_RUNS", "")
GOOD = '{"open": {"session_id": "good"}}\n{"turn": {"sequence": 1, "output_lines": 3}}\n'


def sidecar(*arguments: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", "from sidecar.cli import main; main()", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def written(path: Path, session_id: str, count: int) -> Path:
    lines = [pb.RunFileLine(open=run_pb2.Open(session_id=session_id))]
    lines += [pb.RunFileLine(turn=turn) for turn in turns(count, seed=len(session_id))]
    lines.append(pb.RunFileLine(close=run_pb2.Close(outcome=run_pb2.RUN_OUTCOME_SUCCEEDED)))
    path.write_text("".join(write_line(line) + "\n" for line in lines))
    return path


def decisions(output: str) -> list[dict[str, object]]:
    found = [json.loads(line) for line in output.splitlines()]
    return [line["decision"] for line in found if "decision" in line]


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
