"""What the metrics say of what happened."""

import math
from dataclasses import replace
from typing import Any

import pytest

from sidecar.core.breaker import State
from sidecar.core.directive import Cause, Commit, Halt, Rejection, Strength
from sidecar.core.opening import Closing, Continue, Idle, Reset, RunOutcome, Verdict
from sidecar.core.policy import Policy
from sidecar.core.reading import Reading, Severity
from sidecar.core.turn import Outcome, ToolCall, Usage
from sidecar.ports import Rejected, Spent
from tests.edges.telemetry_samples import (
    POLICY,
    World,
    decision,
    everything,
    facts,
    model_call,
    observed,
    rotate,
    turn,
)

pytestmark = pytest.mark.usefixtures("no_exporter")


@pytest.fixture
def world() -> World:
    return World()


def test_a_turn_counts_for_its_agent_model_and_mode(world: World) -> None:
    world.decide()
    world.decide(session=observed(facts("run-2")))
    assert world.series("sidecar_turns_total") == {
        ("coder", "enforce", "opus"): 1,
        ("coder", "observe", "opus"): 1,
    }


def test_tokens_and_cost_add_up(world: World) -> None:
    world.decide()
    world.decide()
    assert world.series("sidecar_tokens_total") == {
        ("coder", "opus", "input"): 2_000,
        ("coder", "opus", "output"): 100,
        ("coder", "opus", "cache_read"): 1_600,
        ("coder", "opus", "cache_write"): 200,
    }
    assert world.series("sidecar_cost_usd_total") == {("coder", "opus"): 0.5}


def test_model_calls_count_apart_from_the_agents(world: World) -> None:
    now_s = world.clock.now_s()
    world.telemetry.asked(model_call(now_s))
    world.telemetry.asked(model_call(now_s, outcome="timeout", spent=None))
    named = ("claude-haiku-4-5",)
    assert world.series("sidecar_model_calls_total") == {
        (*named, "end", "commit"): 1,
        (*named, "timeout", "commit"): 1,
    }
    assert world.series("sidecar_model_tokens_total") == {
        (*named, "commit", "input"): 1_000,
        (*named, "commit", "output"): 50,
        (*named, "commit", "cache_read"): 800,
        (*named, "commit", "cache_write"): 100,
    }
    assert world.series("sidecar_model_cost_usd_total") == {(*named, "commit"): 0.25}
    assert world.series("sidecar_model_call_duration_seconds_sum") == {(): 4}
    assert world.series("sidecar_tokens_total") == {}


def test_a_cost_that_is_not_known_adds_nothing(world: World) -> None:
    spent = Spent(input_tokens=7, cost_usd=None)
    world.telemetry.asked(model_call(world.clock.now_s(), spent=spent))
    assert world.series("sidecar_model_cost_usd_total") == {}


def test_forced_commits_count_by_source_and_reviews_by_verdict(world: World) -> None:
    for source, signal in (("MODEL", "loop"), ("MODEL", "loop"), ("NONE", "")):
        world.telemetry.committed(source, signal)
    for verdict in ("PASS", "FAIL", "error", "error"):
        world.telemetry.reviewed(verdict)
    assert world.series("sidecar_forced_commits_total") == {
        ("loop", "model"): 2,
        ("none", "none"): 1,
    }
    assert world.series("sidecar_reviews_total") == {("pass",): 1, ("fail",): 1, ("error",): 2}


def test_runs_that_were_to_be_judged_count_by_what_came_of_it(world: World) -> None:
    for verdict in ("circling", "progressing", "circling", "failed"):
        world.telemetry.judged(verdict)
    assert world.series("sidecar_judge_verdicts_total") == {
        ("circling",): 2,
        ("progressing",): 1,
        ("failed",): 1,
    }


def test_what_is_absent_or_no_amount_adds_nothing(world: World) -> None:
    world.decide(usage=Usage(), start_s=None, end_s=None)
    world.decide(usage=Usage(input_tokens=-5, output_tokens=0, cost_usd=math.nan))
    world.decide(usage=Usage(cost_usd=math.inf, context_tokens=5, context_window=0))
    world.decide(start_s=9.0, end_s=3.0)
    world.decide(start_s=math.nan, end_s=3.0)
    assert world.series("sidecar_turns_total") == {("coder", "enforce", "opus"): 5}
    assert world.series("sidecar_tokens_total")[("coder", "opus", "input")] == 2_000
    assert world.series("sidecar_cost_usd_total") == {("coder", "opus"): 0.5}
    assert world.series("sidecar_turn_duration_seconds_count") == {(): 0}


def test_tool_calls_count_by_tool_and_outcome(world: World) -> None:
    calls = [
        ToolCall(name="Bash", call=b"1", outcome=outcome)
        for outcome in (Outcome.OK, Outcome.ERROR, Outcome.ERROR, Outcome.DENIED)
    ]
    world.decide(tool_calls=tuple(calls))
    assert world.series("sidecar_tool_calls_total") == {
        ("ok", "Bash"): 1,
        ("error", "Bash"): 2,
        ("denied", "Bash"): 1,
    }


def test_a_decision_counts_by_directive_signal_cause_mode_and_policy(world: World) -> None:
    world.decide()
    world.decide(rotate())
    world.decide(rotate(directive=Halt(reason="enough"), cause=Cause.IDLE))
    assert world.series("sidecar_decisions_total") == {
        ("turn", "proceed", "enforce", "default", "none"): 1,
        ("turn", "rotate", "enforce", "default", "loop"): 1,
        ("idle", "halt", "enforce", "default", "loop"): 1,
    }


def test_a_notice_is_not_a_warning(world: World) -> None:
    severities = [
        (Severity.BREAK, False),
        (Severity.WARNING, False),
        (Severity.WARNING, True),
    ]
    readings = tuple(
        Reading(severity=severity, notice=notice, signal="stall") for severity, notice in severities
    )
    world.decide(decision(readings=readings))
    assert world.series("sidecar_readings_total") == {
        ("break", "stall"): 1,
        ("warning", "stall"): 1,
        ("notice", "stall"): 1,
    }


def test_a_change_of_state_counts_and_its_absence_does_not(world: World) -> None:
    world.decide()
    world.decide(decision(state_before=State.WARNING, state=State.TRIPPED))
    assert world.series("sidecar_state_changes_total") == {("tripped", "warning"): 1}


def test_a_rotate_counts_by_what_became_of_the_pattern(world: World) -> None:
    for number, made in enumerate([rotate(), decision(), decision(), decision(), rotate()], 1):
        world.decide(made, sequence=number)
    assert world.series("sidecar_rotations_total") == {("ended", "loop"): 1}
    world.close(turns=5)
    world.close(turns=5)
    assert world.series("sidecar_rotations_total") == {
        ("ended", "loop"): 1,
        ("run_over", "loop"): 1,
    }


def test_a_rotate_that_was_not_sent_achieved_nothing(world: World) -> None:
    session = observed(facts())
    for number, made in enumerate([rotate(), decision(), decision(), decision()], 1):
        world.decide(made, session, sequence=number)
    world.close(session, turns=4)
    assert world.series("sidecar_rotations_total") == {}


def test_nor_does_one_whose_caller_could_not_wait(world: World) -> None:
    world.decide(rotate(), sequence=1)
    world.telemetry.commanded(facts(), Idle(waited_s=0), decision(cause=Cause.IDLE))
    for number in range(2, 5):
        world.decide(sequence=number)
    assert world.series("sidecar_rotations_total") == {}


def test_one_whose_wait_is_over_achieved_something(world: World) -> None:
    world.decide(rotate(), sequence=1)
    world.telemetry.commanded(facts(), Idle(waited_s=3), decision(cause=Cause.IDLE))
    for number in range(2, 5):
        world.decide(sequence=number)
    assert world.series("sidecar_rotations_total") == {("ended", "loop"): 1}


def test_a_withheld_directive_counts(world: World) -> None:
    world.decide(decision(overridden=True))
    world.decide()
    assert world.series("sidecar_directives_withheld_total") == {(): 1}


def test_the_decision_duration_is_from_arrival_and_never_negative(world: World) -> None:
    received_s = world.clock.now_s()
    world.clock.advance(0.003)
    world.telemetry.decided(facts(), turn(), decision(), received_s=received_s)
    world.telemetry.decided(facts(), turn(), decision(), received_s=received_s + 60)
    counts = world.series("sidecar_decision_duration_seconds_bucket")
    assert counts[("0.00025",)] == 1
    assert counts[("0.005",)] == 2
    total_s = world.series("sidecar_decision_duration_seconds_sum")[()]
    assert total_s == pytest.approx(0.003, abs=1e-6)


def test_a_rejected_turn_is_a_decision_and_no_turn(world: World) -> None:
    rejected = Rejected(sequence=1, rejection=Rejection(reason="MEASUREMENT_INVALID"))
    world.telemetry.rejected(facts(), rejected, decision())
    assert world.series("sidecar_turns_rejected_total") == {("MEASUREMENT_INVALID",): 1}
    assert world.series("sidecar_decisions_total") == {
        ("turn", "proceed", "enforce", "default", "none"): 1
    }
    assert world.series("sidecar_turns_total") == {}


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (Continue(), "continue"),
        (Reset(), "reset"),
        (Idle(), "idle"),
        (Verdict(stuck=True), "verdict"),
    ],
)
def test_a_command_counts_by_its_name(world: World, command: Any, name: str) -> None:
    world.telemetry.commanded(facts(), command, decision(cause=Cause.OPERATOR))
    assert world.series("sidecar_commands_total") == {(name,): 1}


def test_an_opening_is_new_resumed_or_continued(world: World) -> None:
    world.telemetry.opened(facts("a"), resumed=False)
    world.telemetry.opened(facts("a"), resumed=True)
    world.telemetry.opened(facts("b", previous_session_id="a"), resumed=False)
    world.telemetry.opened(facts("b", previous_session_id="a"), resumed=True)
    assert world.series("sidecar_sessions_opened_total") == {
        ("coder", "new"): 1,
        ("coder", "resumed"): 2,
        ("coder", "continued"): 1,
    }


def test_an_opening_whose_previous_session_is_not_held_is_counted_and_logged_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("b", "c"):
        orphan = replace(facts(name, previous_session_id="a"), previous_missing=True)
        world.telemetry.opened(orphan, resumed=False)
    assert world.series("sidecar_sessions_opened_total") == {("coder", "orphaned"): 2}
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "session 'b' was to go on from 'a', which is not held"
    ]


def test_a_closed_run_counts_by_outcome_answer_and_the_strongest_directive_sent(
    world: World,
) -> None:
    world.close(
        facts(),
        Closing(outcome=RunOutcome.SUCCEEDED, has_final_answer=True),
        turns=2,
        opened_s=world.clock.now_s() - 30,
        strongest=Strength.COMMIT,
    )
    assert world.series("sidecar_runs_total") == {
        ("coder", "yes", "commit", "succeeded", "default"): 1
    }
    assert world.series("sidecar_session_turns_sum") == {(): 2}
    assert world.series("sidecar_session_duration_seconds_sum") == {(): 30}


def test_a_run_that_is_closed_before_its_opening_by_a_clock_set_back_took_no_time(
    world: World,
) -> None:
    world.close(opened_s=world.clock.now_s() + 5)
    assert world.series("sidecar_session_duration_seconds_sum") == {(): 0}


def test_what_is_left_of_the_budget_counts_where_a_decision_comes_with_it(world: World) -> None:
    for left in (0.25, 0.0, None):
        world.telemetry.decided(
            facts(),
            turn(),
            rotate(directive=Commit(instruction="answer")),
            received_s=world.clock.now_s(),
            budget_left=left,
        )
    assert world.series("sidecar_commit_budget_left_ratio_count") == {(): 2}
    assert world.series("sidecar_commit_budget_left_ratio_sum") == {(): 0.25}


def test_sessions_are_set_by_state_and_a_state_without_any_is_0(world: World) -> None:
    world.telemetry.sessions({"tripped": 2, "healthy": 5}, held=9, streams=6)
    world.telemetry.sessions({"healthy": 4}, held=7, streams=3)
    assert world.series("sidecar_sessions") == {
        ("healthy",): 4,
        ("warning",): 0,
        ("tripped",): 0,
        ("recovery",): 0,
    }
    assert world.series("sidecar_sessions_held") == {(): 7}
    assert world.series("sidecar_streams") == {(): 3}


def test_losses_refusals_gaps_and_give_ups_count_by_reason(world: World) -> None:
    everything(world.telemetry, world.clock.now_s())
    lost = world.series("sidecar_lost_total")
    assert lost[("queue_full", "journal")] == 4
    assert lost[("too_large", "snapshot")] == 1
    assert world.series("sidecar_refused_total") == {("STREAMS_MAX",): 1}
    assert world.series("sidecar_turns_missing_total") == {(): 7}
    assert world.series("sidecar_sessions_detached_total") == {("expired",): 1}
    given_up = world.series("sidecar_client_fail_open_total")
    assert (given_up[("timeout",)], given_up[("internal",)]) == (5, 1)
    assert world.series("sidecar_agent_fail_open_total") == {("coder",): 5}


def test_what_a_rate_needs_is_0_before_it_happens(world: World) -> None:
    assert world.series("sidecar_client_fail_open_total") == dict.fromkeys(
        [("connect",), ("timeout",), ("stream",), ("rejected",), ("draining",), ("internal",)], 0
    )
    assert world.series("sidecar_lost_total") == dict.fromkeys(
        [("queue_full", "span"), ("export_failed", "span"), ("shutdown", "span")], 0
    )


def test_a_policy_that_is_replaced_is_gone(world: World) -> None:
    world.telemetry.configured([POLICY], {"sessions_max": 10})
    world.telemetry.configured([Policy(name="other", watches=(), revision="f" * 12)], {})
    assert world.series("sidecar_policy_info") == {("other", "f" * 12): 1}
    assert world.series("sidecar_bound") == {("sessions_max",): 10}


def test_the_time_since_the_start_grows_whatever_the_wall_clock_does(world: World) -> None:
    began = world.series("sidecar_uptime_seconds")[()]
    world.clock.advance(90)
    world.clock.set_now_s(0)
    assert world.series("sidecar_uptime_seconds") == {(): began + 90}


def test_health_is_read_when_it_is_scraped(world: World) -> None:
    exporter = world.health.component("exporter")
    assert world.series("sidecar_component_status")[("exporter", "starting")] == 1
    exporter.recoverable("down")
    world.health.accepting()
    assert world.series("sidecar_component_status") == {
        ("exporter", "starting"): 0,
        ("exporter", "ok"): 0,
        ("exporter", "recoverable"): 1,
        ("exporter", "permanent"): 0,
        ("exporter", "stopping"): 0,
    }
    assert world.series("sidecar_ready") == {(): 1}
    world.health.draining()
    assert world.series("sidecar_ready") == {(): 0}
