"""What was done to a run from outside, as `sidecar explain` shows it between the turns."""

import json
from pathlib import Path

from click.testing import CliRunner
from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.cli import main
from sidecar.explaining.explanation import explain
from sidecar.v1 import run_pb2 as pb
from sidecar.v1 import session_service_pb2 as admin_pb

STEERED = """\
{"open": {"session_id": "s"}}
{"command": {"verdict": {"stuck": false, "confidence": 0.25, "summary": "it has begun"}}}
{"turn": {"sequence": 1, "end_time": "2026-03-01T10:00:00Z", "failures": [{"message": "E"}]}}
{"command": {"idle": {"waited": "300s"}}}
{"command": {"continue": {"reason": "a|b\\n I have looked", "extra_turns": "5"}}}
{"command": {"reset": {"reason": "fresh context"}}}
{"turn": {"sequence": 2}}
"""
ASKING = """\
default_policy: asking
policies: {asking: {signals: {spin: {warning: 1}}, on_warning: ask_user}}
"""


def steered(tmp_path: Path, form: str) -> str:
    path = tmp_path / "steered.jsonl"
    path.write_text(STEERED)
    config = tmp_path / "asking.yaml"
    config.write_text(ASKING)
    shown = CliRunner().invoke(
        main, ["explain", "--config", str(config), "--format", form, str(path)]
    )
    assert shown.exit_code == 0, shown.output
    return shown.stdout


def test_what_was_done_to_a_run_stands_between_its_turns_with_its_reason(tmp_path: Path) -> None:
    rows = json.loads(steered(tmp_path, "json"))["rows"]

    assert [(row["turn"], row["command"], row["reason"]) for row in rows] == [
        (None, "verdict", "not stuck (25% sure), it has begun"),
        (1, "", ""),
        (None, "idle", "nobody came within 300 s"),
        (None, "continue", "a|b I have looked, 5 more turns"),
        (None, "reset", "fresh context"),
        (2, "", ""),
    ]
    assert [row["time"] for row in rows] == ["", "2026-03-01 10:00:00 UTC", "", "", "", ""]


def test_a_verdict_says_since_when_and_where_to_look(tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    verdict = {"stuck": True, "confidence": 0.9, "since_sequence": 2, "cited_sequences": [2, 4]}
    path.write_text(f'{{"open": {{}}}}\n{json.dumps({"command": {"verdict": verdict}})}\n')
    shown = CliRunner().invoke(main, ["explain", "--format", "json", str(path)])
    (row,) = json.loads(shown.stdout)["rows"]
    assert row["reason"] == "stuck since turn 2 (90% sure), see turns 2, 4"


def test_a_command_is_a_row_of_the_table_and_of_the_markdown(tmp_path: Path) -> None:
    table = steered(tmp_path, "text").splitlines()
    rows = [line for line in steered(tmp_path, "markdown").splitlines() if line.startswith("| ")]

    assert any("RECOVERY (reset: fresh context)" in line for line in table)
    assert rows[5] == "|  |  |  |  | RECOVERY (reset: fresh context) |"
    assert "a\\|b I have looked" in rows[4]
    assert {line.replace("\\|", "").count("|") for line in rows} == {6}


def test_a_halt_for_want_of_a_person_is_among_the_directives(tmp_path: Path) -> None:
    rotate, halt = json.loads(steered(tmp_path, "json"))["directives"]

    assert rotate.startswith("turn 1: rotate [")
    assert halt.startswith("idle after turn 1: halt [")


def test_the_time_of_a_command_is_said_where_it_is_known() -> None:
    done = pb.Command(after_sequence=1)
    done.reset.reason = "fresh"
    record = admin_pb.CommandRecord(command=done, time=Timestamp(seconds=1_790_000_000))
    (row,) = explain(admin_pb.GetSessionResponse(commands=[record])).rows

    assert row.state == "- (reset at 2026-09-21 14:13:20 UTC: fresh)"
