"""`sidecar replay --what-if`: which directives move."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sidecar.cli import main
from sidecar.presets import preset
from tests.evaluation.recorded import looping, working, written


@pytest.fixture
def loops(tmp_path: Path) -> Path:
    """Twelve times the same call with the same result."""
    return written(tmp_path, "loops", looping(12))


def replayed(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["replay", *map(str, arguments)], catch_exceptions=False)


def compared(*arguments: object) -> list[dict[str, Any]]:
    result = replayed(*arguments, "--format", "json")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def directives(*arguments: object) -> dict[int, str]:
    """What a plain replay says, by turn."""
    found = {}
    for line in replayed(*arguments, "--format", "json").stdout.splitlines():
        decision = json.loads(line).get("decision", {})
        for word in ("proceed", "rotate", "commit", "halt"):
            if word in decision:
                found[int(decision["sequence"])] = word
    return found


def own(tmp_path: Path, thresholds: str) -> Path:
    path = tmp_path / "sidecar.yaml"
    path.write_text(f"policies: {{default: {{signals: {thresholds}}}}}\n")
    return path


def test_what_moves_is_what_differs_between_two_replays(loops: Path, tmp_path: Path) -> None:
    before = directives(loops)
    after = directives(loops, "--config", own(tmp_path, "{loop: {repeat_break: 6}}"))
    (run,) = compared(loops, "--what-if", "loop.repeat_break=6")
    moved = {move["turn"]: move for move in run["moves"]}

    assert moved.keys() >= {turn for turn in before if before[turn] != after[turn]} != set()
    for turn, move in moved.items():
        assert move["before"]["directive"] == before[turn]
        assert move["after"]["directive"] == after[turn]


def test_each_move_has_its_reading(loops: Path) -> None:
    (run,) = compared(loops, "--what-if", "loop.repeat_break=6")
    first = run["moves"][0]

    assert (first["turn"], first["cause"]) == (4, "turn")
    assert first["before"]["directive"] == "commit"
    assert (first["before"]["signal"], first["before"]["severity"]) == ("loop", "break")
    assert (first["before"]["value"], first["before"]["threshold"]) == (4, 4)
    assert "was called 4 times with the same arguments" in first["before"]["summary"]
    assert first["after"]["directive"] != "commit"
    assert first["after"]["severity"] == "warning"


def test_a_run_that_nothing_moves_in_says_so(loops: Path, tmp_path: Path) -> None:
    works = written(tmp_path, "works", working(12))
    result = replayed(loops, works, "--what-if", "loop.repeat_break=6")

    assert result.exit_code == 0
    assert result.stdout.endswith("\n  no directive moves\n")
    assert "  turn    4  commit -> " in result.stdout
    assert "before: loop break at 4: `search` was called 4 times" in result.stdout
    assert "in 1 of 2 runs\n" in result.stderr
    assert result.stderr.startswith("policy default: loop.repeat_break 4 -> 6\n")
    assert replayed(works, "--what-if", "spin.break=6").stderr.endswith("no directive moves\n")


def test_a_reading_that_is_not_told_of_again_is_said_to_be_none(loops: Path) -> None:
    result = replayed(loops, "--what-if", "loop.repeat_break=6")
    assert "; no directive is due" in result.stdout


def test_an_object_a_run_names_both_policies_and_what_was_changed(loops: Path) -> None:
    (run,) = compared(loops, "--what-if", "loop.repeat_break=6", "--what-if", "spin.break=6")
    assert run["session_id"] == "loops"
    assert (run["policy"], run["turns"]) == ("default", 12)
    assert run["revisions"][0] == preset("default").revision != run["revisions"][1]
    assert run["changes"] == [
        {"threshold": "loop.repeat_break", "before": 4, "after": 6},
        {"threshold": "spin.break", "before": 5, "after": 6},
    ]


def test_a_signal_that_is_switched_off_leaves_no_reading(loops: Path) -> None:
    (run,) = compared(loops, "--what-if", "loop=off")
    assert run["moves"][0]["after"] == {"directive": "proceed"}
    assert "no reading" in replayed(loops, "--what-if", "loop=off").stdout


def test_every_run_is_held_against_its_own_policy(loops: Path, tmp_path: Path) -> None:
    founding = tmp_path / "founding.jsonl"
    head, *turns = loops.read_text().splitlines()
    opening = json.loads(head)
    opening["open"] |= {"session_id": "founding", "policy": "gaia"}
    founding.write_text("\n".join([json.dumps(opening), *turns]))
    runs = compared(loops, founding, "--what-if", "loop.break=6")

    assert [run["policy"] for run in runs] == ["default", "gaia"]
    assert [each["threshold"] for each in runs[1]["changes"]] == [
        "loop.founding_break",
        "loop.founding_window",
    ]
    (run,) = compared(founding, "--policy", "default", "--what-if", "loop.break=6")
    assert run["policy"] == "default"


def test_a_command_in_the_run_is_obeyed_under_both(loops: Path) -> None:
    lines = loops.read_text().splitlines()
    lines.insert(7, '{"command": {"after_sequence": 6, "continue": {"reason": "go on"}}}')
    loops.write_text("\n".join(lines))
    (run,) = compared(loops, "--what-if", "loop.repeat_break=6")
    assert run["turns"] == 12
    assert run["moves"]


REFUSED = {
    "an unknown signal": ("stal.break=3", "--what-if: stal is not a known signal"),
    "an unknown threshold": ("spin.brake=3", "--what-if: spin.brake is not a known threshold"),
    "a bad order": (
        "spin.break=3",
        '--what-if: spin.break = "3" is not right: it must be at least',
    ),
    "no form": ("spin", '--what-if: "spin" is not right: it must be SIGNAL.THRESHOLD=VALUE'),
}


@pytest.mark.parametrize(("change", "problem"), REFUSED.values(), ids=REFUSED)
def test_a_change_that_no_policy_can_have_is_refused_in_one_line(
    loops: Path, change: str, problem: str
) -> None:
    result = replayed(loops, "--what-if", change)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"sidecar: {problem}")


def test_a_live_sidecar_has_its_own_policies(loops: Path) -> None:
    result = replayed(loops, "--what-if", "spin.break=6", "--target", "127.0.0.1:1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "leave out --target" in result.stderr


def test_what_cannot_be_read_is_told_and_the_rest_compared(loops: Path, tmp_path: Path) -> None:
    loops.write_text(loops.read_text() + "{\n")
    missing = tmp_path / "missing.jsonl"
    result = replayed(missing, loops, "--what-if", "loop.repeat_break=6")

    assert result.exit_code == 1
    assert f"{missing}: No such file or directory\n" in result.stderr
    assert f"{loops}:14: " in result.stderr
    assert result.stderr.endswith("; 2 problems\n")
    assert "turn    4  commit -> " in result.stdout


def test_turns_behind_a_broken_line_count_when_asked_to_keep_going(loops: Path) -> None:
    lines = loops.read_text().splitlines()
    lines.insert(2, "{")
    loops.write_text("\n".join(lines))
    stopped, passed = (
        json.loads(replayed(loops, "--what-if", "spin.break=6", "--format", "json", *more).stdout)
        for more in ((), ("--keep-going",))
    )
    assert (stopped["turns"], passed["turns"]) == (1, 12)


TURN = {"turn": {"tool_calls": [{"name": "t", "arguments_json": "{}", "result_text": "no"}]}}


def lines(path: Path, *of_a_run: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in of_a_run))
    return path


def moved(run: dict[str, Any]) -> list[tuple[int, str, str]]:
    return [
        (move["turn"], move["before"]["directive"], move["after"]["directive"])
        for move in run["moves"]
    ]


def test_a_journal_is_compared_under_the_limits_of_today(tmp_path: Path) -> None:
    given = {"open": {}, "granted_limits": {"max_turns": "40"}}
    path = lines(tmp_path / "journal.jsonl", given, *[{"turn": {}}] * 6)
    (run,) = compared(path, "--what-if", "max_turns.turns_max=3")

    assert (3, "proceed", "commit") in moved(run)


def test_the_end_of_a_wait_that_the_other_policy_does_not_ask_for_shifts_no_turn(
    tmp_path: Path,
) -> None:
    config = tmp_path / "sidecar.yaml"
    config.write_text(
        "policies: {default: {on_warning: pause, wait_max_s: 1}, other: {preset: default}}\n"
    )
    idle: dict[str, Any] = {"command": {"idle": {}}}
    path = lines(tmp_path / "run.jsonl", {"open": {}}, *[TURN] * 3, idle, *[TURN] * 6)
    changes = ("--what-if", "loop.repeat_break=5", "--what-if", "loop.repeat_warning=4")
    (run,) = compared(path, "--config", config, *changes)
    before = directives(path, "--config", config)
    changed = own(
        tmp_path,
        "{loop: {repeat_break: 5, repeat_warning: 4}}, on_warning: pause, wait_max_s: 1",
    )
    after = directives(path, "--config", changed, "--keep-going")
    of_turns = [turn for turn in before if before[turn] != after[turn] and turn != 3]

    assert of_turns
    assert [turn for turn, *_ in moved(run) if turn != 3] == of_turns
    assert [turn for turn, *_ in moved(run)].count(3) == 1


def test_a_run_that_goes_on_from_a_file_before_it_is_compared_with_what_that_one_left(
    tmp_path: Path,
) -> None:
    heir = {"open": {"session_id": "two", "previous_session_id": "one"}}
    first = lines(tmp_path / "one.jsonl", {"open": {"session_id": "one"}}, *[{"turn": {}}] * 5)
    second = lines(tmp_path / "two.jsonl", heir, *[{"turn": {}}] * 5)
    _, run = compared(first, second, "--what-if", "max_turns.turns_max=8")
    alone, _ = compared(second, first, "--what-if", "max_turns.turns_max=8")

    assert (3, "proceed", "commit") in moved(run)
    assert alone["moves"] == []
