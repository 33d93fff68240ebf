"""The founding table, and what a person sees of a warning and a trip."""

import io
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from sidecar.adapters.convert import history_out, session_out
from sidecar.adapters.run_file import read_lines
from sidecar.cli import main
from sidecar.cli.show import show
from sidecar.explaining.explanation import Explanation, Panel, Row, explain
from sidecar.explaining.markdown import markdown
from sidecar.explaining.measures import against_limit, in_few_words
from sidecar.policies import Policies
from sidecar.presets import PRESETS, preset
from sidecar.replaying.recorded import Replay
from sidecar.v1 import run_pb2 as pb
from sidecar.v1 import session_service_pb2 as admin_pb

RUN = Path(__file__).parents[1] / "data" / "founding_table.jsonl"
HASH = re.compile(r"[0-9a-f]{4}")


def held(path: Path) -> Explanation:
    """The run in a file, as a sidecar explains it that has it."""
    policies = Policies(by_name={name: preset(name) for name in PRESETS})
    replay = Replay(str(path), policies)
    list(replay.run(read_lines(str(path))))
    assert replay.session is not None
    return explain(history_out(session_out(replay.session), replay.entries))


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    return held(RUN)


def test_the_founding_table_warns_at_the_fourth_and_trips_at_the_sixth(
    explanation: Explanation,
) -> None:
    rows = explanation.rows

    assert [row.turn for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row.files_changed for row in rows] == [3, 2, 0, 0, 0, None]
    assert [row.output_lines for row in rows] == [45, 42, 38, 30, 22, None]
    assert [row.state for row in rows] == [
        "HEALTHY",
        "HEALTHY",
        "HEALTHY",
        "WARNING (same error 3x)",
        "WARNING (same error 4x, no progress 3x)",
        "TRIPPED (same error 5x)",
    ]


def test_the_table_shows_one_error_by_four_digits(explanation: Explanation) -> None:
    errors = [row.error for row in explanation.rows]

    assert errors[0] == ""
    assert len(set(errors[1:])) == 1
    assert HASH.fullmatch(errors[1])


def test_approaches_and_rotations_say_which_turns(explanation: Explanation) -> None:
    assert explanation.approaches == (
        "guard the lookup (iterations 1-4): rotated: spin",
        "default the record (iterations 5-6): ended: spin",
    )
    assert explanation.rotations[0] == (
        "iteration 4 (spin): previous guard the lookup, new default the record"
    )


def test_a_rotation_of_an_agent_without_approaches_says_so() -> None:
    rotation = admin_pb.Rotation(sequence=3, signal="loop")
    found = admin_pb.GetSessionResponse(session=admin_pb.Session(rotations=[rotation]))

    assert explain(found).rotations == ("iteration 3 (loop): the agent names no approaches",)


def test_the_panels_say_what_how_much_and_what_can_be_done(explanation: Explanation) -> None:
    warning, tripped = explanation.panels
    facts = dict(tripped.facts)

    assert warning.title == "CIRCUIT BREAKER: WARNING"
    assert dict(warning.facts)["Iteration"] == "5 / 20"
    assert tripped.title == "CIRCUIT BREAKER: TRIPPED"
    assert facts["Signal"] == "spin (same error 5x)"
    assert facts["Count / limit"] == "5 / 5"
    assert facts["Iteration"] == "6 / 20"
    assert facts["Totals"] == (
        "6 iterations run, 5 files changed, 1 distinct error, 2 approaches tried"
    )
    assert "FORCE CONTINUE" in facts["Override"]
    assert {name for name in facts if name.startswith("Way on")} == {
        "Way on 1",
        "Way on 2",
        "Way on 3",
    }


def looped(tmp_path: Path, **turn: Any) -> dict[str, dict[str, str]]:
    """The panels of a run of five turns in which the same call fails: their facts, by title."""
    call = {"name": "ls", "outcome": "OUTCOME_ERROR", "result_text": "ls: cannot access 'x'"}
    turns = [
        {"turn": {"sequence": sequence, "tool_calls": [call], **turn}} for sequence in range(1, 6)
    ]
    path = tmp_path / "looped.jsonl"
    path.write_text("\n".join(map(json.dumps, [{"open": {}}, *turns])))
    shown = CliRunner().invoke(main, ["explain", "--format", "json", str(path)])
    assert shown.exit_code == 0, shown.output
    return {panel["title"]: dict(panel["facts"]) for panel in json.loads(shown.stdout)["panels"]}


def test_the_panel_of_a_warning_is_not_of_one_that_a_break_was_answered_with(
    tmp_path: Path,
) -> None:
    panels = looped(tmp_path)  # at turn 4 loop breaks and spin begins to warn

    warning = panels["CIRCUIT BREAKER: WARNING"]
    assert warning["Signal"] == "loop (repeated 3x)"
    assert warning["Iteration"] == "3 / no limit"
    assert warning["Action"] == "rotate: the agent names no approaches"


def test_the_totals_have_no_files_where_no_turn_tells_them(tmp_path: Path) -> None:
    def totals(**turn: Any) -> str:
        return looped(tmp_path, **turn)["CIRCUIT BREAKER: TRIPPED"]["Totals"]

    assert totals() == "5 iterations run, 1 distinct error, 0 approaches tried"
    assert "5 iterations run, 0 files changed" in totals(progress={"files_changed": 0})


def test_a_closed_run_is_not_offered_to_be_continued(
    tmp_path: Path, explanation: Explanation
) -> None:
    closed = tmp_path / "closed.jsonl"
    closed.write_text(RUN.read_text() + '{"close": {}}\n')
    shown = markdown(held(closed))

    assert "sidecar sessions continue" in markdown(explanation)
    assert "sidecar sessions continue" not in shown
    assert "- **Way on 1**: resume with fresh context" in shown


def test_one_turn_is_no_turns(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text('{"open": {"policy": "gaia"}}\n{"turn": {"output_lines": 1}}\n')

    assert held(path).title.endswith(", 1 turn, HEALTHY")


def test_a_policy_whose_revision_is_not_known_is_named_alone() -> None:
    session = admin_pb.Session(session_id="s", policy="mine")

    assert explain(admin_pb.GetSessionResponse(session=session)).title.startswith(
        "s: policy mine, 0 turns, "
    )


def test_the_totals_are_of_the_whole_run_where_only_its_latest_turns_are_shown() -> None:
    policies = Policies(by_name={name: preset(name) for name in PRESETS})
    replay = Replay(str(RUN), policies)
    list(replay.run(read_lines(str(RUN))))
    assert replay.session is not None
    latest = explain(history_out(session_out(replay.session), replay.entries, turns_max=1))

    assert "6 iterations run" in dict(latest.panels[-1].facts)["Totals"]


def test_markdown_has_the_same_table(explanation: Explanation) -> None:
    lines = markdown(explanation).splitlines()
    row: Row = explanation.rows[3]

    assert "| Iteration | Files Changed | Error Hash | Output Lines | State |" in lines
    assert f"| 4 | 0 | {row.error} | 30 | WARNING (same error 3x) |" in lines
    assert "## CIRCUIT BREAKER: TRIPPED" in lines


def test_counts_are_numbers_in_json_and_null_where_nothing_was_reported(tmp_path: Path) -> None:
    path = tmp_path / "counted.jsonl"
    turns = [{"turn": {"output_lines": "7", "progress": {"files_changed": 0}}}, {"turn": {}}]
    path.write_text("\n".join(map(json.dumps, [{"open": {}}, *turns])))
    shown = CliRunner().invoke(main, ["explain", "--format", "json", str(path)])
    rows = json.loads(shown.stdout)["rows"]
    assert [(row["files_changed"], row["output_lines"]) for row in rows] == [(0, 7), (None, None)]
    assert [row["error"] for row in rows] == ["", ""]


def test_why_a_session_was_closed_is_in_its_title() -> None:
    closed = admin_pb.Session(session_id="s", closed=True, close_reason="enough")

    assert explain(admin_pb.GetSessionResponse(session=closed)).title.endswith(", closed: enough")


def test_the_command_explains_a_run_file() -> None:
    shown = CliRunner().invoke(main, ["explain", str(RUN)])

    assert shown.exit_code == 0, shown.output
    assert "TRIPPED (same error 5x)" in shown.output
    assert "Approaches Tried" in shown.output


def test_a_file_whose_name_is_not_utf_8_is_explained(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.jsonl")
    path.write_text('{"open": {}}\n{"turn": {}}\n')
    shown = CliRunner().invoke(main, ["explain", str(path)])

    assert shown.exit_code == 0
    assert "caf\\udce9" in shown.stdout


def test_the_command_says_which_line_it_cannot_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"open": {}}\n{"turn": \n')
    shown = CliRunner().invoke(main, ["explain", str(broken)])

    assert shown.exit_code == 1
    assert f"{broken}:2:" in shown.output


def test_the_command_reads_a_pipe_as_a_run_file() -> None:
    reader, writer = os.pipe()
    os.write(writer, RUN.read_bytes())
    os.close(writer)
    result = CliRunner().invoke(main, ["explain", f"/dev/fd/{reader}"])
    os.close(reader)

    assert result.exit_code == 0
    assert "TRIPPED (same error 5x)" in result.stdout


def test_the_command_says_why_a_file_cannot_be_read() -> None:
    result = CliRunner().invoke(main, ["explain", "x" * 300])

    assert result.exit_code == 1
    assert result.stderr == f"sidecar: {'x' * 300}: File name too long\n"


def test_a_narrow_terminal_leaves_nothing_out(explanation: Explanation) -> None:
    saved = ("State saved", f"/home/someone/.local/state/sidecar/runs/{'0e4b3a10' * 4}.md")
    panels = (*explanation.panels, Panel(title="TRIPPED", facts=(saved,)))
    narrow = Console(width=40, file=io.StringIO())
    with narrow.capture() as shown:
        narrow.print(show(replace(explanation, panels=panels)))

    assert "…" not in shown.get()


def test_with_an_admin_address_the_name_is_a_session_s_whatever_files_there_are() -> None:
    there = ["--admin", "127.0.0.1:1"]
    asked = CliRunner().invoke(main, ["explain", str(RUN), *there])
    unclear = CliRunner().invoke(main, ["explain", str(RUN), "--policy", "debug", *there])

    assert asked.exit_code == 3, asked.output
    assert unclear.exit_code == 2
    assert "leave one of them out" in unclear.output


@pytest.mark.parametrize("arguments", [[], ["a", "--session", "a"]])
def test_what_is_explained_is_named_once(arguments: list[str]) -> None:
    shown = CliRunner().invoke(main, ["explain", *arguments])

    assert shown.exit_code == 2
    assert shown.stderr == "sidecar: give a SESSION, or a session's id with --session\n"


@pytest.mark.parametrize("arguments", [["none.jsonl"], ["some-session", "--policy", "gaia"]])
def test_a_file_that_is_not_there_is_not_looked_for_in_a_sidecar(arguments: list[str]) -> None:
    shown = CliRunner().invoke(main, ["explain", *arguments])

    assert shown.exit_code == 2
    assert f"{arguments[0]}: no such file" in shown.output


def told(tmp_path: Path, opening: dict[str, Any], turns: list[dict[str, Any]]) -> str:
    """What the command says of such a run, on one line."""
    lines = [{"open": {"session_id": "s", **opening}}, *({"turn": turn} for turn in turns)]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return " ".join(CliRunner().invoke(main, ["explain", str(path)]).output.split())


def test_a_full_window_is_said_in_per_cent(tmp_path: Path) -> None:
    usage = {"context_tokens": "192000", "context_window": "200000"}
    text = told(tmp_path, {}, [{"usage": usage}])
    assert "token_overflow (context window 96 % full)" in text
    assert "96 % / 95 %" in text


def test_budgets_are_said_in_what_they_are_counted_in(tmp_path: Path) -> None:
    limits = {"input_tokens_max": "1000000", "cost_usd_max": 0.5}
    by_tokens = told(tmp_path, {"limits": limits}, [{"usage": {"input_tokens": "1234567"}}])
    by_cost = told(tmp_path, {"limits": limits}, [{"usage": {"cost_usd": 0.625}}])
    assert "(1,234,567 of 1,000,000 input tokens)" in by_tokens
    assert "1,234,567 / 1,000,000" in by_tokens
    assert "(spent 0.625 US dollars of 0.5 US dollars)" in by_cost


def test_a_limit_of_time_is_not_called_a_turn(tmp_path: Path) -> None:
    times = {"start_time": "2026-01-02T00:00:00Z", "end_time": "2026-01-02T02:00:00Z"}
    text = told(tmp_path, {"limits": {"duration_max": "5400s"}}, [times])
    assert "max_turns (time 7,200 s of 5,400 s)" in text
    turns = told(tmp_path, {"limits": {"max_turns": "2"}}, [{}, {}])
    assert "max_turns (turn 2 of 2)" in turns


@pytest.mark.parametrize(
    ("signal", "summary", "value", "threshold", "limit"),
    [
        ("decline", "the assistant wrote 4 lines in turn 9, 70 % less", 0.7, 0.5, "70 % / 50 %"),
        ("decline", "the score fell 4 times in a row", 4, 3, "4 / 3"),
        ("drift", "1 of 4 completed tasks serve the plan", 0.25, 0.7, "25 % / 70 %"),
        ("drift", "3 of 4 changed files lie outside the plan", 0.75, 0.3, "75 % / 30 %"),
        ("drift", "test coverage fell from 80 % to 60 %", 20, 10, "20 points / 10 points"),
        ("{later}", "something else", 1500, 2, "1,500 / 2"),
    ],
)
def test_what_a_signal_measured_is_said_in_its_unit(
    signal: str, summary: str, value: float, threshold: float, limit: str
) -> None:
    reading = pb.Reading(signal=signal, summary=summary, value=value, threshold=threshold)
    assert against_limit(reading) == limit
    assert ("{" in in_few_words(reading)) is (signal == "{later}")


def test_a_decline_says_which_of_its_measurements_fell(tmp_path: Path) -> None:
    scores = [{"turn": {"reward": 9 - number}} for number in range(6)]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, [{"open": {"session_id": "s"}}, *scores])))
    told = CliRunner().invoke(main, ["explain", str(path)]).output
    assert "score fell 4x" in told
    assert "output down" not in told


def test_of_a_run_that_is_only_observed_nothing_is_said_to_have_been_told(tmp_path: Path) -> None:
    call = {"name": "read", "arguments_json": "{}", "result_text": "the same again, word for word"}
    turns = [{"tool_calls": [call], "directive_seen": 0} for _ in range(8)]
    text = told(tmp_path, {"mode": "MODE_OBSERVE"}, turns)

    assert "TRIPPED, only observed" in text
    assert "turn 4: commit, which the agent was not told" in text
    assert "Action none, since the run is only observed" in text
    assert "Rotation Applied" not in text
