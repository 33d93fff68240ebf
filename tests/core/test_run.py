"""The fold: when a directive is given, which one, and what a run remembers of it."""

from dataclasses import fields, replace
from typing import Any

import pytest

from sidecar.core.breaker import State
from sidecar.core.directive import Action, Cause, Commit, Halt, Proceed, Rejection, Rotate
from sidecar.core.limits import Claims, Limits
from sidecar.core.opening import Continue, Idle, Reset
from sidecar.core.policy import Policy, Staging
from sidecar.core.reading import Severity
from sidecar.core.run import Run
from sidecar.core.run_state import RunState
from sidecar.core.turn import Progress, Turn, Usage
from sidecar.core.wording import suggest
from sidecar.presets import DEFAULT
from sidecar.signals.spin import SPIN
from tests.core.scripted import FOUNDING, STAGED, Seen, directives, fold


@pytest.mark.parametrize(
    ("why", "script", "expected"),
    [
        ("quiet turns proceed", ". . .", "..."),
        ("a warning rotates, once", "aw aw aw", "R.."),
        ("and again five turns later", "aw aw aw aw aw aw aw", "R....R."),
        ("a new episode after five quiet turns", "aw . . . . . aw", "R.....R"),
        ("four quiet turns do not end it", "aw . . . . aw", "R....R"[:5] + "R"),
        ("a first break is a nudge; the next turn commits", "ab ab", "RC"),
        ("a break after a warning commits at once", "aw ab", "RC"),
        ("a nudge counts for the run", "aw . . . . . . ab", "R......C"),
        ("a first break that has passed is not committed", "ab . .", "R.."),
        ("a commit is followed by a halt three turns later", "aw ab ab ab ab", "RC..H"),
        ("nobody is halted who has moved on", "aw ab . . . . .", "RC....."),
        ("a warning after a commit does not halt", "aw ab aw aw aw", "RC..."),
        ("a budget is not nudged: it had its notice", "mb", "C"),
        ("a notice proceeds", "mn mn", ".."),
        ("each signal is nudged for itself", "aw bb bb", "RRC"),
        ("the strongest wins", "aw aw,bb", "RR"),
        ("a final answer always proceeds", "ab$ ab", ".R"),
        ("what was not seen is said again", "aw aw<0 aw<2", "RR."),
        ("a nudge that was not seen is no nudge", "ab ab<0 ab<2", "RRC"),
        ("a commit that was not seen is said again, and does not halt",
         "aw ab ab<1 ab<2 ab<2 ab<2 ab<4", "RCCCCCC"),
        ("whoever is to end is not told to go on in another way", "ab ab ab,bw ab,bw ab", "RC..H"),
        ("nor after a halt", "ab ab ab ab ab ab ab,bw", "RC..H.."),
        ("but once that is over", "ab ab . . . . . . . . bw", "RC........R"),
        ("what a commit left unsaid is nudged yet", "ab ab,bw . . . . . . . . bb", "RC........R"),
        ("a person's word starts the nudges again", "aw ab !ab !ab", "RCRR"),
    ],
)  # fmt: skip
def test_when_a_directive_is_given(why: str, script: str, expected: str) -> None:
    assert directives(STAGED, script) == expected, why


@pytest.mark.parametrize(
    ("why", "script", "expected"),
    [
        ("a break commits without a nudge", "ab", "C"),
        ("and halts three turns later", "ab ab ab ab", "C..H"),
        ("a warning in recovery is answered as a break", "ab . !. aw", "C..C"),
    ],
)
def test_founding_presets_do_not_nudge(why: str, script: str, expected: str) -> None:
    assert directives(FOUNDING, script) == expected, why


def test_an_observed_run_is_never_halted_and_nothing_counts_as_unseen() -> None:
    assert directives(STAGED, "aw<0 ab<0 ab<0 ab<0 ab<0 ab<0", observed=True) == "RC...."


def test_a_decision_lists_breaks_before_warnings_each_in_order() -> None:
    _, decisions = fold(STAGED, "aw,bb,mn")
    readings = [(reading.signal, reading.severity) for reading in decisions[0].readings]

    assert readings == [
        ("beta", Severity.BREAK),
        ("money", Severity.WARNING),
        ("alpha", Severity.WARNING),
    ]


def test_a_notice_is_said_and_moves_nothing() -> None:
    run, decisions = fold(STAGED, "mn")

    assert decisions[0].directive == Proceed(notice="running low")
    assert run.state.breaker.state is State.HEALTHY


def test_a_rotate_names_evidence_approaches_and_suggestions() -> None:
    run = Run.start("s", STAGED)
    run, _ = run.advance(Turn(sequence=1, approach="edit the parser"))
    run, decision = run.advance(Turn(sequence=2, id="aw", approach="edit the parser"))
    directive = decision.directive

    assert isinstance(directive, Rotate)
    assert "Turn 2 repeats (alpha)." in directive.instruction
    assert directive.approaches_tried == ("edit the parser",)
    assert directive.suggestions
    assert decision.signal == "alpha"


def test_the_way_a_run_was_rotated_is_remembered() -> None:
    run = Run.start("s", STAGED)
    run, _ = run.advance(Turn(sequence=1, id="aw", approach="edit"))
    run, _ = run.advance(Turn(sequence=2, approach="rewrite"))
    run, _ = run.advance(Turn(sequence=3, approach="rewrite"))
    rotation = run.state.story.rotations[0]
    first, second = run.state.story.approaches

    assert (rotation.sequence, rotation.signal) == (1, "alpha")
    assert (rotation.previous, rotation.next) == ("edit", "rewrite")
    assert (first.first_sequence, first.last_sequence, first.outcome) == (1, 1, "rotated: alpha")
    assert (second.first_sequence, second.last_sequence, second.outcome) == (2, 3, "")


def test_a_commit_counts_what_was_gathered_and_asks_for_the_agreed_form() -> None:
    _, decisions = fold(FOUNDING, ". ab")
    directive = decisions[1].directive

    assert isinstance(directive, Commit)
    assert "2 turns" in directive.instruction
    assert "FINAL_ANSWER: <your answer>" in directive.instruction


def test_a_rest_asks_for_a_handover() -> None:
    policy = Policy(
        name="rests",
        watches=FOUNDING.watches,
        staging=FOUNDING.staging,
        on={Severity.WARNING: Action.PAUSE, Severity.BREAK: Action.REST},
    )
    _, decisions = fold(policy, "aw ab")
    paused, rested = decisions[0].directive, decisions[1].directive

    assert isinstance(paused, Rotate)
    assert paused.wait_max_s == 300.0
    assert isinstance(rested, Commit)
    assert rested.handover


def test_ask_user_waits_at_a_warning_and_stops_at_a_break() -> None:
    policy = Policy(
        name="asks",
        watches=FOUNDING.watches,
        staging=FOUNDING.staging,
        on={Severity.WARNING: Action.ASK_USER, Severity.BREAK: Action.ASK_USER},
    )
    _, decisions = fold(policy, "aw ab")

    assert isinstance(decisions[0].directive, Rotate)
    assert isinstance(decisions[1].directive, Halt)
    assert "sidecar explain --session s" in decisions[1].directive.reason


@pytest.mark.parametrize("asking", ["alpha", "beta"])
def test_what_one_of_two_signals_asks_for_is_done_whichever_comes_first(asking: str) -> None:
    policy = replace(
        FOUNDING,
        actions={
            (asking, Severity.WARNING): Action.ASK_USER,
            (asking, Severity.BREAK): Action.REST,
        },
        revision="",
    )
    _, decisions = fold(policy, "aw,bw ab,bb")
    paused, rested = decisions[0].directive, decisions[1].directive

    assert isinstance(paused, Rotate)
    assert paused.wait_max_s == 300.0
    assert isinstance(rested, Commit)
    assert rested.handover


def test_force_continue_withholds_directives_and_keeps_measuring() -> None:
    policy = Policy(name="forced", watches=FOUNDING.watches, force_continue=True)
    _, decisions = fold(policy, "aw . ab ab")

    assert [type(decision.directive) for decision in decisions] == [Proceed] * 4
    assert [decision.overridden for decision in decisions] == [True, False, True, False]
    assert decisions[3].state is State.TRIPPED


KEPT: dict[str, Any] = {
    "limits": Limits(max_turns=9),
    "claims": Claims(extra_turns=2),
    "nudged": ("loop",),
    "suggested": ("loop", "spin"),
    "committed_at": 2,
    "judged_at": 1,
}
"""What a quiet turn leaves as it is, with values that are no defaults."""
COUNTED = {"sequence", "breaker", "episodes", "totals", "story"}


@pytest.mark.parametrize("observed", [True, False])
def test_a_directive_that_nobody_was_told_applies_no_rotation(observed: bool) -> None:
    policy = STAGED if observed else replace(STAGED, force_continue=True, revision="")
    run = Run.start("s", policy, observed=observed)
    for sequence in (1, 2):
        turn = Turn(sequence=sequence, id="aw" if sequence == 2 else "", approach="one")
        run, _ = run.advance(turn)

    assert run.state.suggested
    assert run.state.story.rotations == ()


def test_a_person_who_speaks_changes_the_state_from_the_one_that_was_shown() -> None:
    run, _ = fold(STAGED, "aw ab")
    after, decision = run.advance(Turn(sequence=3, user_input=True))

    assert run.state.breaker.state is State.TRIPPED
    assert decision.state_before is State.TRIPPED
    assert decision.state is after.state.breaker.state is not State.TRIPPED


def test_a_quiet_turn_keeps_of_the_state_what_it_does_not_count() -> None:
    assert {field.name for field in fields(RunState)} == KEPT.keys() | COUNTED
    run = Run.start("s", DEFAULT)
    run = replace(run, state=replace(run.state, sequence=3, **KEPT))

    after, _ = run.advance(Turn(sequence=4))

    assert {name: getattr(after.state, name) for name in KEPT} == KEPT


def test_suggestions_do_not_repeat_while_others_remain() -> None:
    ways = SPIN.words.suggestions
    given = [suggest(ways, rotates=rotates) for rotates in range(3)]

    assert given[0] + given[1] == ways
    assert given[2] == given[0]


def test_a_rejected_turn_uses_up_its_sequence_and_nothing_else() -> None:
    run, _ = fold(STAGED, "aw")
    after, decision = run.reject(2, Rejection(reason="TOOL_CALLS_MAX"))

    assert after.state.sequence == 2
    assert after.detectors == run.detectors
    assert after.state.totals == run.state.totals
    assert decision.rejection == Rejection(reason="TOOL_CALLS_MAX")
    assert decision.directive == Proceed()


def test_continue_starts_the_raised_signals_again_and_leaves_the_others() -> None:
    run, _ = fold(STAGED, ". aw ab")
    after, decision = run.obey(Continue(reason="go on"), 9)

    assert decision.cause is Cause.OPERATOR
    assert (decision.state_before, decision.state) == (State.TRIPPED, State.RECOVERY)
    assert after.detectors.tracks[0].states == (Seen(), Seen(turns=3))
    assert after.detectors.shared == (Seen(turns=3),)


def test_after_a_continue_what_was_quiet_since_it_tripped_the_run_counts_anew() -> None:
    tripped, _ = fold(STAGED, "ab . . . . . . .")
    after, decision = tripped.obey(Continue(reason="go on"), 9)

    assert (tripped.state.breaker.state, tripped.state.episodes) == (State.TRIPPED, ())
    assert decision.state is State.RECOVERY
    assert after.detectors.tracks[0].states[0] == Seen()
    assert after.detectors.tracks[0].memory == tripped.detectors.tracks[0].memory


def test_continue_raises_a_limit_and_leaves_none_where_none_was() -> None:
    run = Run.start("s", STAGED, limits=Limits(max_turns=10))
    after, _ = run.obey(Continue(extra_turns=5, extra_input_tokens=100), 1)

    assert after.state.limits == Limits(max_turns=15)


def test_reset_starts_everything_again_but_the_budgets() -> None:
    run, _ = fold(STAGED, "aw ab")
    after, decision = run.obey(Reset(reason="fresh context"), 3)

    assert decision.state is State.RECOVERY
    assert after.detectors.tracks[0].states == (Seen(), Seen())
    assert after.detectors.shared == (Seen(turns=2),)


def test_idle_halts() -> None:
    run, _ = fold(STAGED, "aw")
    after, decision = run.obey(Idle(waited_s=300), 2)

    assert after == run
    assert decision.cause is Cause.IDLE
    assert isinstance(decision.directive, Halt)
    assert "300 s" in decision.directive.reason


def test_a_successor_recovers_and_keeps_strikes_approaches_and_budgets() -> None:
    run, _ = fold(STAGED, "aw ab")
    run, _ = run.advance(Turn(sequence=3, approach="edit"))
    after = run.successor("next", STAGED)
    _, decision = after.advance(Turn(sequence=1, id="ab"))

    assert after.state.breaker.state is State.RECOVERY
    assert after.state.sequence == 0
    assert after.detectors.shared == (Seen(turns=3),)
    assert after.state.story.names == ("edit",)
    assert isinstance(decision.directive, Commit)


def test_lost_turns_are_counted_and_start_what_needs_consecutive_turns_again() -> None:
    run, _ = fold(STAGED, "aw aw")
    after = run.skip_to(7)

    assert after.state.sequence == 6
    assert after.state.totals.turns_missing == 4
    assert after.detectors.tracks[0].states == (Seen(), Seen())
    assert after.detectors.shared == (Seen(turns=2),)


def test_lost_turns_are_none_of_the_quiet_ones_that_end_a_recovery() -> None:
    run, _ = Run.start("s", STAGED).obey(Reset(), 1)
    run, _ = fold(STAGED, ".", run=run)
    _, decisions = fold(STAGED, ". .", run=run.skip_to(7))

    assert [decision.state for decision in decisions] == [State.RECOVERY, State.HEALTHY]


def test_lost_turns_are_none_of_those_in_a_row_that_end_a_trip() -> None:
    run, _ = fold(STAGED, "aw ab")
    for sequence in (3, 4):
        run, _ = run.advance(Turn(sequence=sequence, progress=Progress(files_changed=1)))
    states = []
    run = run.skip_to(9)
    for sequence in (9, 10, 11):
        run, decision = run.advance(Turn(sequence=sequence, progress=Progress(files_changed=1)))
        states.append(decision.state)

    assert states == [State.TRIPPED, State.TRIPPED, State.RECOVERY]


def test_progress_before_lost_turns_does_not_end_a_trip() -> None:
    run, _ = fold(STAGED, "aw ab")
    run, _ = run.advance(Turn(sequence=3, progress=Progress(files_changed=1)))
    _, decisions = fold(STAGED, ". . . .", run=run.skip_to(9))

    assert {decision.state for decision in decisions} == {State.TRIPPED}


def test_lost_turns_are_none_of_the_quiet_ones_that_end_an_episode() -> None:
    run, _ = fold(STAGED, "aw . . . .")
    after, _ = fold(STAGED, ". . . .", run=run.skip_to(9))
    over, _ = fold(STAGED, ".", run=after)

    assert [episode.quiet for episode in run.state.episodes] == [4]
    assert [episode.quiet for episode in after.state.episodes] == [4]
    assert over.state.episodes == ()


@pytest.mark.parametrize("cost_usd", [1.7e308, float("inf"), float("nan"), -1.0, 1.1e9])
def test_a_cost_that_was_mistaken_is_not_summed(cost_usd: float) -> None:
    run = Run.start("s", STAGED)
    for sequence, spent in enumerate((0.5, cost_usd, cost_usd, 0.25), 1):
        run, _ = run.advance(Turn(sequence=sequence, usage=Usage(cost_usd=spent)))

    assert run.state.totals.cost_usd == 0.75


def test_a_decision_id_is_the_same_everywhere_and_differs_by_what_it_answers() -> None:
    run, decisions = fold(STAGED, ". .")
    _, again = fold(STAGED, ". .")
    _, other = run.obey(Continue(), 5)
    _, another = run.obey(Continue(), 6)
    ids = [decision.decision_id for decision in (*decisions, other, another)]

    assert [decision.decision_id for decision in again] == ids[:2]
    assert len(set(ids)) == 4
    assert all(len(text) == 16 and int(text, 16) >= 0 for text in ids)


def test_a_policy_s_revision_changes_with_what_it_decides_and_not_with_its_name() -> None:
    renamed = Policy(name="other", watches=STAGED.watches, patience=STAGED.patience)
    calmer = Policy(
        name="staged",
        watches=STAGED.watches,
        patience=STAGED.patience,
        staging=Staging(repeat_after=6),
    )

    assert renamed.revision == STAGED.revision
    assert calmer.revision != STAGED.revision


@pytest.mark.parametrize("turns", range(8))
def test_a_run_read_back_decides_as_if_it_had_never_been_written(turns: int) -> None:
    script = "aw . bw ab@x ab ab ab . mb".split()
    run, _ = fold(STAGED, " ".join(script[:turns]))
    back = Run.decode("s", STAGED, run.encode(), observed=False)

    assert back == run
    assert fold(STAGED, " ".join(script[turns:]), run=back) == fold(
        STAGED, " ".join(script[turns:]), run=run
    )
