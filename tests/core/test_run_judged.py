"""What a judge's verdicts do to a run: they nudge and commit, and alone never halt."""

from dataclasses import replace

import pytest

from sidecar.core.breaker import State
from sidecar.core.directive import Action, Cause, Decision, Proceed, Rotate
from sidecar.core.opening import Continue, Finding, Reset, Verdict
from sidecar.core.policy import Policy
from sidecar.core.reading import Severity
from sidecar.core.run import Run
from sidecar.presets import preset, watching_judges
from tests.core.scripted import FOUNDING, LETTERS, STAGED, fold

CIRCLES = Verdict(stuck=True, confidence=0.9, finding=Finding.CIRCLING, since=1, cited=(1, 2))


def directed(policy: Policy, script: str) -> tuple[str, Run, list[Decision]]:
    """As `fold`, with `J` for a verdict that finds the run circling, each state encoded between."""
    run, decisions = Run.start("s", policy), list[Decision]()
    for number, word in enumerate(script.split(), start=1):
        if word == "J":
            run, _ = run.obey(CIRCLES, number)
        else:
            run, more = fold(policy, word, run=run)
            decisions += more
        run = Run.decode("s", policy, run.encode(), observed=False)
    return "".join(LETTERS[type(each.directive).__name__] for each in decisions), run, decisions


@pytest.mark.parametrize(
    ("why", "script", "expected"),
    [
        ("a verdict speaks with the next turn, once", ". J . . . .", ".R..."),
        ("the second commits", ". J . . . . J .", ".R...C"),
        ("what was not seen is said again", ". J . .<1 .<3", ".RR."),
        ("a final answer proceeds", ". J .$", ".."),
    ],
)  # fmt: skip
def test_when_a_verdict_leads_to_a_directive(why: str, script: str, expected: str) -> None:
    found, _, _ = directed(watching_judges(STAGED), script)
    assert found == expected, why


@pytest.mark.parametrize("policy", [STAGED, FOUNDING])
def test_verdicts_alone_never_halt_however_many_there_are(policy: Policy) -> None:
    found, _, _ = directed(watching_judges(policy), "J . " * 30)
    assert found.startswith("RC")
    assert "H" not in found


@pytest.mark.parametrize("action", [Action.STOP, Action.ASK_USER])
def test_a_policy_that_stops_at_a_break_commits_where_only_a_judge_says_so(action: Action) -> None:
    policy = replace(FOUNDING, on={**FOUNDING.on, Severity.BREAK: action}, revision="")
    found, _, _ = directed(watching_judges(policy), "J . J . . . . J . . . .")
    assert found[:2] == "RC"
    assert "H" not in found


@pytest.mark.parametrize("action", [Action.PAUSE, Action.ASK_USER])
def test_a_policy_that_waits_at_a_warning_does_not_wait_for_a_judge_s(action: Action) -> None:
    policy = replace(STAGED, on={**STAGED.on, Severity.WARNING: action}, revision="")
    _, _, (decision,) = directed(watching_judges(policy), "J .")
    assert isinstance(decision.directive, Rotate)
    assert decision.directive.wait_max_s is None


def test_a_judge_s_commit_is_not_the_one_whose_grace_ends_in_a_halt() -> None:
    # alpha's first break comes long after the judge's commit, and gets a commit of its own.
    found, run, _ = directed(watching_judges(FOUNDING), "J . J . . . . ab")
    assert found == "RC...C"
    assert run.state.committed_at == run.state.sequence
    found, _, _ = directed(watching_judges(FOUNDING), "ab J ab J ab ab")
    assert found == "C.CH", "and where a rule breaks, its own grace stands"


def directives_after(run: Run) -> str:
    _, (decision,) = fold(run.policy, ".", run=run)
    return LETTERS[type(decision.directive).__name__]


def test_a_verdict_is_an_event_of_its_own_that_tells_the_agent_nothing() -> None:
    run, _ = fold(watching_judges(STAGED), ". .")
    heard, decision = run.obey(CIRCLES, 3)
    assert (decision.cause, decision.sequence, decision.directive) == (Cause.JUDGE, 2, Proceed())
    assert heard.state == replace(run.state, judged_at=2)


def test_a_policy_that_does_not_watch_for_it_hears_nothing() -> None:
    run, _ = fold(STAGED, ".")
    heard, _ = run.obey(CIRCLES, 2)
    assert heard.detectors == run.detectors
    assert directives_after(heard) == directives_after(run) == "."


@pytest.mark.parametrize("command", [Continue(reason="go on"), Reset(reason="anew")])
def test_an_operator_s_word_starts_the_row_again(command: Continue | Reset) -> None:
    policy = watching_judges(STAGED)
    run, _ = Run.start("s", policy).obey(CIRCLES, 1)
    run, _ = fold(policy, ".", run=run)
    run, _ = run.obey(command, 2)
    run, _ = fold(policy, ".", run=run)
    run, _ = run.obey(CIRCLES, 3)
    _, (decision,) = fold(policy, ".", run=run)
    assert [reading.severity for reading in decision.readings] == [Severity.WARNING]


def test_lost_turns_start_the_row_again() -> None:
    policy = watching_judges(STAGED)
    run, _ = Run.start("s", policy).obey(CIRCLES, 1)
    _, (decision,) = fold(policy, ".", run=run.skip_to(9))
    assert decision.readings == ()


def test_the_breaker_follows_as_for_any_signal() -> None:
    _, _, decisions = directed(watching_judges(STAGED), "J . J .")
    assert [decision.state for decision in decisions] == [State.WARNING, State.TRIPPED]


def test_watching_judges_changes_the_revision_and_nothing_else() -> None:
    policy = watching_judges(preset("gaia"))
    assert policy.revision != preset("gaia").revision
    assert policy.watches[:-1] == preset("gaia").watches
    assert policy.advisory == {"circling"}
