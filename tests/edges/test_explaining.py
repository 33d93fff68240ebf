"""What an explanation has no record of, and what it leaves out."""

import io

import pytest
from click.testing import CliRunner
from rich.console import Console

from sidecar.cli import main
from sidecar.cli.show import show
from sidecar.explaining import Explanation, explain
from sidecar.explaining_markdown import markdown
from sidecar.v1 import session_service_pb2 as admin_pb
from tests.edges.test_explain import RUN


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
