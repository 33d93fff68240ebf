"""The turns in the title, and the panel of a run that is tripped: what is kept of it, and the limit
that it had then."""

import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.adapters.convert import history_out, session_out
from sidecar.adapters.run_file import read_lines
from sidecar.explaining.explanation import explain
from sidecar.policies import Policies
from sidecar.presets import PRESETS, preset
from sidecar.replaying.recorded import Replay
from sidecar.v1 import session_service_pb2 as pb

CALL = {"name": "ls", "outcome": "OUTCOME_ERROR", "result_text": "ls: cannot access 'x'"}
OPEN = {"open": {"session_id": "s", "limits": {"max_turns": "12"}}}
LOOPING = [{"turn": {"sequence": number, "tool_calls": [CALL]}} for number in range(1, 8)]


def ran(tmp_path: Path, *lines: object) -> pb.GetSessionResponse:
    """The session of these lines, with all that its journal has."""
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    replay = Replay(str(path), Policies(by_name={name: preset(name) for name in PRESETS}))
    list(replay.run(read_lines(str(path))))
    assert replay.session is not None
    return history_out(session_out(replay.session), replay.entries)


def trip(found: pb.GetSessionResponse) -> dict[str, str]:
    """The facts of the panel."""
    panels = {panel.title: dict(panel.facts) for panel in explain(found).panels}
    return panels.get("CIRCUIT BREAKER: TRIPPED", {})


def test_a_tripped_run_whose_trip_is_not_kept_has_the_panel_of_the_first_turn_that_is(
    tmp_path: Path,
) -> None:
    found = ran(tmp_path, OPEN, *LOOPING)
    whole = trip(found)
    del found.turns[:6]
    kept = trip(found)

    assert kept["Trip"] == ("no record of it was found: this is turn 7, the first found after it")
    assert (kept["Iteration"], kept["Way on 1"]) == ("7 / 12", whole["Way on 1"])
    assert kept["Signal"] == "spin (same error 7x)"
    assert "Trip" not in whole


def test_where_no_turn_is_kept_its_panel_is_of_the_last_directive(tmp_path: Path) -> None:
    found = ran(tmp_path, OPEN, *LOOPING)
    del found.turns[:]
    kept, at = trip(found), found.session.last_directive.sequence

    assert kept["Trip"] == f"no record of it was found: this is the last directive, of turn {at}"
    assert kept["Iteration"] == f"{at} / 12"
    assert "FORCE CONTINUE" in kept["Override"]


def test_a_run_that_goes_on_has_no_panel_of_a_trip_that_is_not_kept(tmp_path: Path) -> None:
    done = {"command": {"continue": {"reason": "I looked"}}}
    found = ran(tmp_path, OPEN, *LOOPING, done, {"turn": {"output_lines": 1}})
    del found.turns[:7]

    assert trip(found) == {}


def test_a_turn_stands_beside_the_limit_that_it_had(tmp_path: Path) -> None:
    before = {"command": {"continue": {"reason": "more", "extra_turns": "20"}}}
    after = {"command": {"continue": {"reason": "more", "extra_turns": "300"}}}
    found = ran(tmp_path, OPEN, before, *LOOPING, after)
    panels = {panel.title: dict(panel.facts) for panel in explain(found).panels}

    assert found.session.limits.max_turns == 332
    assert {facts["Iteration"].split(" / ")[1] for facts in panels.values()} == {"32"}


@pytest.mark.parametrize(
    ("why", "facts", "rejected", "said"),
    [
        ("all counted", {"last_sequence": 2, "totals": {"turns": 2}}, 0, "2 turns"),
        (
            "it goes on from another",
            {"last_sequence": 2, "totals": {"turns": 7}, "previous_session_id": "old"},
            0,
            "7 turns, 5 of them inherited",
        ),
        (
            "some are lost",
            {"last_sequence": 6, "totals": {"turns": 2, "turns_missing": 4}},
            0,
            "6 turns, 4 of them missing",
        ),
        (
            "one was rejected",
            {"last_sequence": 2, "totals": {"turns": 1}},
            1,
            "2 turns, 1 of them rejected",
        ),
        (
            "all of it",
            {
                "last_sequence": 6,
                "totals": {"turns": 8, "turns_missing": 2},
                "previous_session_id": "old",
            },
            1,
            "11 turns, 5 of them inherited, 2 missing, 1 rejected",
        ),
    ],
)
def test_the_title_has_the_turns_that_the_list_of_sessions_has_and_those_inherited(
    why: str, facts: dict[str, Any], rejected: int, said: str
) -> None:
    turns = [pb.TurnRecord(decision={"rejection": {"reason": "X_MAX"}})] * rejected
    found = pb.GetSessionResponse(session=pb.Session(policy="default", **facts), turns=turns)

    assert explain(found).title.startswith(f": policy default, {said}, "), why
