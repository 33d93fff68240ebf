"""The founding table, and what a person sees of a warning and a trip."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from sidecar.adapters.convert import session_out
from sidecar.adapters.run_file import read_lines
from sidecar.cli import main
from sidecar.explaining import Explanation, Row, explain, markdown
from sidecar.policies import Policies
from sidecar.presets import PRESETS, preset
from sidecar.replaying import Replay, records

RUN = Path(__file__).parents[1] / "data" / "founding_table.jsonl"
HASH = re.compile(r"[0-9a-f]{4}")


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    policies = Policies(by_name={name: preset(name) for name in PRESETS})
    replay = Replay(str(RUN), policies)
    list(replay.run(read_lines(str(RUN))))
    assert replay.session is not None
    return explain(session_out(replay.session), records(replay.entries))


def test_the_founding_table_warns_at_the_fourth_and_trips_at_the_sixth(
    explanation: Explanation,
) -> None:
    rows = explanation.rows

    assert [row.turn for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert [row.files_changed for row in rows] == ["3", "2", "0", "0", "0", "-"]
    assert [row.output_lines for row in rows] == ["45", "42", "38", "30", "22", "-"]
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

    assert errors[0] == "-"
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
        "6 iterations run, 5 files changed, 1 distinct errors, 2 approaches tried"
    )
    assert "FORCE CONTINUE" in facts["Override"]
    assert {name for name in facts if name.startswith("Way on")} == {
        "Way on 1",
        "Way on 2",
        "Way on 3",
    }


def test_the_totals_are_of_the_whole_run_where_only_its_latest_turns_are_shown() -> None:
    policies = Policies(by_name={name: preset(name) for name in PRESETS})
    replay = Replay(str(RUN), policies)
    list(replay.run(read_lines(str(RUN))))
    assert replay.session is not None
    latest = explain(session_out(replay.session), records(replay.entries)[-1:])

    assert "6 iterations run" in dict(latest.panels[-1].facts)["Totals"]


def test_markdown_has_the_same_table(explanation: Explanation) -> None:
    lines = markdown(explanation).splitlines()
    row: Row = explanation.rows[3]

    assert "| Iteration | Files Changed | Error Hash | Output Lines | State |" in lines
    assert f"| 4 | 0 | {row.error} | 30 | WARNING (same error 3x) |" in lines
    assert "## CIRCUIT BREAKER: TRIPPED" in lines


def test_the_command_explains_a_run_file() -> None:
    shown = CliRunner().invoke(main, ["explain", str(RUN)])

    assert shown.exit_code == 0, shown.output
    assert "TRIPPED (same error 5x)" in shown.output
    assert "Approaches Tried" in shown.output


def test_the_command_says_which_line_it_cannot_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"open": {}}\n{"turn": \n')
    shown = CliRunner().invoke(main, ["explain", str(broken)])

    assert shown.exit_code == 1
    assert f"{broken}:2:" in shown.output
