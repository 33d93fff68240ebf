"""Each mind's script, folded without a server, gets exactly the directives it is made for."""

from pathlib import Path

import pytest

from sidecar.client import Directive, Kind, TurnReport
from sidecar.demo.cast import MINDS, cast
from sidecar.demo.measuring import Measured, report, spend
from sidecar.demo.mind import Mind, Result, Seen
from sidecar.demo.minds.filler import FILLER
from sidecar.demo.minds.patient import PASSES, PATIENT, PAUSES_S
from sidecar.demo.record import Ending
from tests.edges.demo_runs import folded, played, unwatched

# Each runs tests and programs as processes of their own.
pytestmark = pytest.mark.process

MINDS_BY_NAME = {mind.name: mind for mind in MINDS}

DIRECTIVES = {
    "steady": [],
    "patient": [],
    "between": [],
    "looper": [(Kind.ROTATE, 4, "loop"), (Kind.COMMIT, 5, "loop")],
    "spinner": [(Kind.ROTATE, 5, "spin")],
    "reader": [(Kind.ROTATE, 14, "stall")],
    "filler": [(Kind.ROTATE, 11, "token_overflow")],
    "boaster": [(Kind.ROTATE, 4, "divergence"), (Kind.COMMIT, 6, "divergence")],
}

TROUBLED = [mind for mind in MINDS if mind.trouble is not None]


def named(mind: Mind) -> str:
    return mind.name


@pytest.mark.parametrize("name", DIRECTIVES)
def test_a_mind_gets_the_directives_it_is_made_for(name: str, tmp_path: Path) -> None:
    record = played(MINDS_BY_NAME[name], tmp_path, folded())
    assert [(told.kind, told.turn, told.signal) for told in record.told] == DIRECTIVES[name]
    assert record.ending is Ending.ANSWERED
    assert record.answer
    assert record.complaint == ""


@pytest.mark.parametrize("mind", MINDS[:3], ids=named)
def test_the_first_three_minds_raise_no_signal_at_all(mind: Mind, tmp_path: Path) -> None:
    assert mind.trouble is None
    assert played(mind, tmp_path, folded()).readings == 0


@pytest.mark.parametrize("mind", TROUBLED, ids=named)
def test_a_troubled_mind_takes_all_its_turns_when_nobody_tells_it(
    mind: Mind, tmp_path: Path
) -> None:
    record = played(mind, tmp_path, unwatched)
    assert mind.trouble is not None
    assert record.turns == mind.trouble.turns_unwatched
    assert record.turns_saved is None


@pytest.mark.parametrize("mind", TROUBLED, ids=named)
def test_telling_a_troubled_mind_saves_turns(mind: Mind, tmp_path: Path) -> None:
    record = played(mind, tmp_path, folded())
    assert record.turns_saved is not None
    assert record.tokens_saved is not None
    assert record.turns_saved >= 5
    assert record.tokens_saved == record.turns_saved * record.last_turn_tokens


def test_the_filler_finds_the_same_with_a_search_as_by_reading_it_all(tmp_path: Path) -> None:
    told = played(FILLER, tmp_path / "told", folded())
    assert told.answer == played(FILLER, tmp_path / "untold", unwatched).answer


def test_the_filler_begins_with_a_fresh_context_once_it_was_told(tmp_path: Path) -> None:
    levels, fold = [], folded()

    def tell(report: TurnReport) -> Directive:
        levels.append(report["context_tokens"] or 0)
        return fold(report)

    played(FILLER, tmp_path, tell)
    assert levels[10] > 0.95 * FILLER.window_tokens
    assert max(levels[11:]) < 0.5 * FILLER.window_tokens


def test_the_patient_mind_may_look_at_each_pass_eight_times() -> None:
    looks = [f"still running: pass {done} of {PASSES}" for done in range(1, PASSES + 1)] * 8
    answers = ["the program", "started: pass 1", *sorted(looks), "exit code 0", '{"a": 1}', ""]
    script, tell, tokens = PATIENT.script(1.0), folded(), 0
    move = next(script)
    for answer in answers[:-1]:
        turn = Measured(move=move, results=(Result(text=answer),), durations_s=(0.0,))
        spent = spend(tokens, turn, window=PATIENT.window_tokens)
        directive = tell(report(turn, spent, PATIENT))
        assert not directive.readings
        tokens = spent.context
        move = script.send(Seen(results=turn.results, directive=directive))
    assert move.final_answer == "The index holds 1 words; `a` is the most frequent."


def test_the_patient_mind_waits_longer_for_what_does_not_change() -> None:
    script = PATIENT.script(50.0)
    unchanged = Seen(results=(Result(text="still running: pass 1"),), directive=Directive())
    pauses_s = [next(script).pause_s]
    pauses_s += [script.send(unchanged).pause_s for _ in range(10)]
    assert pauses_s[:3] == [0.0, 0.0, PAUSES_S[0]]
    assert pauses_s == sorted(pauses_s)
    assert sum(pauses_s[-8:]) > 10


def test_a_fleet_has_the_minds_in_turn_under_names_of_their_own() -> None:
    parts = list(cast(18))
    assert [part.role for part in parts] == [*MINDS, *MINDS, *MINDS[:2]]
    assert len({part.name for part in parts}) == 18
    assert [part.name for part in parts[::8]] == ["steady", "steady-2", "steady-3"]
