"""What an explanation has no record of, and what it leaves out."""

import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from sidecar.cli import main
from sidecar.cli.show import show
from sidecar.explaining.explanation import Explanation, explain
from sidecar.explaining.markdown import markdown
from sidecar.v1 import session_service_pb2 as admin_pb
from tests.edges.test_explain import RUN, held, looped


def kept(*sequences: int, last: int) -> Explanation:
    """A session of which these turns are in the journal."""
    turns = [admin_pb.TurnRecord(sequence=sequence) for sequence in sequences]
    session = admin_pb.Session(session_id="s", last_sequence=last)
    return explain(admin_pb.GetSessionResponse(session=session, turns=turns))


@pytest.mark.parametrize(
    ("found", "last", "said"),
    [
        ((1, 2, 3), 3, ""),
        ((3, 4), 4, "turns 1 to 2"),
        ((2, 4, 5), 6, "turns 1, 3, 6"),
        ((), 1500, "turns 1 to 1500"),
        ((), 0, ""),
    ],
)
def test_turns_that_nothing_is_known_of_are_said(
    found: tuple[int, ...], last: int, said: str
) -> None:
    explanation = kept(*found, last=last)

    assert explanation.unrecorded.startswith(f"No record was found of {said}: " if said else "")
    assert bool(explanation.unrecorded) is bool(said)


def test_what_nothing_is_known_of_is_said_in_every_form() -> None:
    explanation = kept(3, last=3)
    wide = Console(width=120, file=io.StringIO())
    with wide.capture() as shown:
        wide.print(show(explanation))

    assert "No record was found of turns 1 to 2: " in shown.get()
    assert "\nNo record was found of turns 1 to 2: " in markdown(explanation)


def test_a_run_under_debug_is_not_told_to_switch_to_it() -> None:
    shown = CliRunner().invoke(main, ["explain", "--policy", "debug", str(RUN)]).output

    assert "CIRCUIT BREAKER: TRIPPED" in shown
    assert "`debug`" not in shown


def test_an_agent_that_names_its_session_cannot_write_lines_into_the_explanation() -> None:
    named = admin_pb.Session(session_id="s\nall is well", last_sequence=1)
    named.approaches.add(name="dig\n# TRIPPED")
    explanation = explain(admin_pb.GetSessionResponse(session=named))
    console = Console(width=120, file=io.StringIO())
    with console.capture() as shown:
        console.print(show(explanation))

    for form in (shown.get(), markdown(explanation)):
        assert "s\\nall is well" in form
        assert "dig\\n# TRIPPED" in form


def test_of_a_run_in_a_file_what_only_its_sidecar_can_do_is_said_to_be_done_there() -> None:
    shown = CliRunner().invoke(main, ["explain", "--format", "json", str(RUN)]).stdout
    warning, tripped = (dict(panel["facts"]) for panel in json.loads(shown)["panels"])
    go_on = "`sidecar sessions continue --reason ... founding-table`"

    assert warning["Override"] == f"at the sidecar that holds it: FORCE CONTINUE: {go_on}"
    assert tripped["Override"] == warning["Override"]
    assert tripped["Way on 1"].startswith("at the sidecar that holds it: resume with fresh context")
    assert tripped["Way on 2"].startswith("switch to the `debug` preset")
    assert tripped["Way on 3"] == f"at the sidecar that holds it: fix it by hand, then {go_on}"
    assert "State saved" not in tripped


@pytest.mark.parametrize(
    ("session_id", "operand"),
    [
        ("a b; rm -rf x", "'a b; rm -rf x'"),
        ("$(id)`id`", "'$(id)`id`'"),
        ("it's", "'it'\"'\"'s'"),
        ("--help", "-- --help"),
        ("-a b", "-- '-a b'"),
        ("a\x1b[31m\n", "$'a\\x1b[31m\\x0a'"),
        ("it's\\\u202e", "$'it\\'s\\\\\\xe2\\x80\\xae'"),
    ],
)
def test_an_id_is_one_word_and_no_option_in_every_command_that_is_offered(
    tmp_path: Path, session_id: str, operand: str
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(RUN.read_text().replace('"founding-table"', json.dumps(session_id)))
    warning, tripped = (dict(panel.facts) for panel in held(path).panels)

    go_on = f"`sidecar sessions continue --reason ... {operand}`"
    assert warning["Override"] == tripped["Override"] == f"FORCE CONTINUE: {go_on}"
    assert tripped["Way on 3"] == f"fix it by hand, then {go_on}"
    word = operand.removeprefix("-- ")
    assert tripped["State saved"] == f"in the journal: `sidecar explain --session {word}`"
    assert tripped["Way on 1"].endswith(f"previous_session_id = {json.dumps(session_id)}")


def test_of_a_run_in_a_file_without_a_name_nothing_is_offered_that_only_a_sidecar_could_do(
    tmp_path: Path,
) -> None:
    panels = looped(tmp_path)
    tripped = panels["CIRCUIT BREAKER: TRIPPED"]

    assert "Override" not in {*panels["CIRCUIT BREAKER: WARNING"], *tripped}
    assert [fact for name, fact in tripped.items() if name.startswith("Way on")] == [
        "switch to the `debug` preset in a new session, to diagnose before changing anything"
    ]


@pytest.mark.parametrize(
    ("on_break", "action"),
    [
        ("commit", "commit: end with the best answer so far"),
        ("rest", "rest: hand over to a new session"),
        ("stop", "halt: "),
    ],
)
def test_a_trip_says_what_the_agent_was_told(tmp_path: Path, on_break: str, action: str) -> None:
    failing = [{"turn": {"failures": [{"kind": "E", "message": "m"}]}} for _ in range(9)]
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, [{"open": {"policy": "mine"}}, *failing])))
    environment = {"SIDECAR_POLICIES__MINE__ON_BREAK": on_break}
    arguments = ["explain", "--format", "json", str(path)]
    shown = CliRunner().invoke(main, arguments, env=environment).stdout
    assert dict(json.loads(shown)["panels"][-1]["facts"])["Action"].startswith(action)
