"""token_overflow: what was spent, and how full the context window is."""

from typing import Any

import pytest

from sidecar.core.limits import Limits
from sidecar.core.turn import Turn, Usage
from sidecar.signals.token_overflow import (
    ACTORS_MAX,
    TOKEN_OVERFLOW,
    TokenOverflowState,
    TokenOverflowThresholds,
)
from tests.signals.tables import check_signal, fold, turns

NAN, INF = float("nan"), float("inf")
GAIA = TokenOverflowThresholds(
    input_tokens_max=120_000,
    budget_warning_ratio=None,
    window_notice_ratio=None,
    window_warning_ratio=None,
    window_break_turns=None,
)


@pytest.mark.parametrize(
    ("why", "input_tokens", "readings"),
    [
        ("exactly the limit breaks, 80 % is a notice", [79, 1, 19, 1], ".nnb"),
        ("what is over stays over", [100, 0, 5], "bbb"),
        ("a turn without usage is quiet and adds nothing", [100, None, 0], "b.b"),
        ("a negative amount is none", [90, -50, 10], "n.b"),
        ("nor is what is no number", [90, NAN, INF, 10], "n..b"),
        ("nor is what no counter can hold", [90, 10**400, 10], "n.b"),
    ],
)
def test_input_tokens(why: str, input_tokens: list[Any], readings: str) -> None:
    limits = Limits(input_tokens_max=100)
    check_signal(TOKEN_OVERFLOW, turns(input_tokens=input_tokens), readings, limits=limits)


@pytest.mark.parametrize(
    ("why", "cost_usd", "readings"),
    [
        ("ten times 0.1 is exactly 1", [0.1] * 10, ".......nnb"),
        ("a negative, infinite or absurd cost is none", [0.9, -1, NAN, INF, 1e12, 0.1], "n....b"),
    ],
)
def test_cost(why: str, cost_usd: list[float], readings: str) -> None:
    check_signal(TOKEN_OVERFLOW, turns(cost_usd=cost_usd), readings, limits=Limits(cost_usd_max=1))


def test_without_limits_spending_is_quiet() -> None:
    run = turns(input_tokens=[10**12] * 5, cost_usd=[1e6] * 5)
    check_signal(TOKEN_OVERFLOW, run, ".....")


def test_gaia_breaks_at_120_000_without_a_warning_and_knows_no_window() -> None:
    run = turns(
        input_tokens=[60_000, 59_999, 1], context_tokens=[200] * 3, context_window=[200] * 3
    )
    check_signal(TOKEN_OVERFLOW, run, "..b", GAIA)
    assert fold(TOKEN_OVERFLOW, run, GAIA)[-1].value == 120_000


def test_the_runs_limits_replace_the_presets() -> None:
    run = turns(input_tokens=[60_000, 60_000])
    check_signal(TOKEN_OVERFLOW, run, "bb", GAIA, Limits(input_tokens_max=50_000))
    check_signal(TOKEN_OVERFLOW, run, ".b", GAIA, Limits(max_turns=50))


@pytest.mark.parametrize(
    ("why", "percent", "readings"),
    [
        ("80 % is a notice, 95 % a warning", [79, 80, 94, 95], ".nnw"),
        ("the fifth turn in a row breaks", [95, 96, 97, 98, 99, 99], "wwwwbb"),
        ("one turn below starts the row again", [95, 95, 95, 95, 94, 95], "wwwwnw"),
        ("and all of it", [95, 95, 95, 95, 94, 95, 95, 95, 95, 95], "wwwwnwwwwb"),
        ("an unmeasured turn holds the row", [95, 95, None, 95, 95, 95], "ww.wwb"),
        ("fuller than full is full", [120], "w"),
        ("to half is no compaction", [96, 48, 96], "w.w"),
        ("an agent that compacts gets a notice only", [96, 47, *[96] * 6], "w.nnnnnn"),
        ("an empty context is a compaction too", [96, 0, 96], "w.n"),
        ("also where the row was about to break", [*[96] * 4, 40, 96], "wwww.n"),
        ("negative, infinite and absent levels are none", [-1, INF, NAN, None], "...."),
    ],
)
def test_the_context_window(why: str, percent: list[Any], readings: str) -> None:
    run = turns(context_tokens=percent, context_window=[100] * len(percent))
    check_signal(TOKEN_OVERFLOW, run, readings)


@pytest.mark.parametrize("window", [None, 0, -5, NAN, INF])
def test_a_level_without_a_window_is_quiet(window: Any) -> None:
    check_signal(
        TOKEN_OVERFLOW, turns(context_tokens=[10] * 6, context_window=[window] * 6), "......"
    )


@pytest.mark.parametrize(
    ("why", "notice", "warning", "break_turns", "readings"),
    [
        ("a notice alone", 0.8, None, 5, "nnn"),
        ("a warning alone", None, 0.95, 3, ".ww"),
        ("both, never a break", 0.8, 0.95, None, "nww"),
        ("neither", None, None, 5, "..."),
    ],
)
def test_each_window_threshold_can_be_switched_off(
    why: str,
    notice: float | None,
    warning: float | None,
    break_turns: int | None,
    readings: str,
) -> None:
    window = TokenOverflowThresholds(
        window_notice_ratio=notice,
        window_warning_ratio=warning,
        window_break_turns=break_turns,
    )
    run = turns(context_tokens=[90, 95, 99], context_window=[100] * 3)
    check_signal(TOKEN_OVERFLOW, run, readings, window)


def test_without_the_warning_an_agent_that_compacts_still_gets_its_notice() -> None:
    alone = TokenOverflowThresholds(window_notice_ratio=None)
    run = turns(context_tokens=[95, 10, 95], context_window=[100] * 3)
    check_signal(TOKEN_OVERFLOW, run, "w.n", alone)


def test_a_compaction_is_seen_without_a_window() -> None:
    run = turns(context_tokens=[90, 40, 96], context_window=[None, None, 100])
    check_signal(TOKEN_OVERFLOW, run, "..n")


def test_each_actor_has_its_own_window_and_the_sums_are_the_runs() -> None:
    run = turns(
        actor=["", "scout", "", "scout"],
        context_tokens=[96, 20, 96, 20],
        context_window=[100] * 4,
        input_tokens=[30, 30, 30, 30],
    )
    check_signal(TOKEN_OVERFLOW, run, "w.w.")
    check_signal(TOKEN_OVERFLOW, run, "w.wb", limits=Limits(input_tokens_max=120))


def test_an_actor_is_remembered_while_another_takes_turns() -> None:
    run = turns(
        actor=["", "scout", "scout", "", ""],
        context_tokens=[96, 20, 20, 40, 96],
        context_window=[100] * 5,
    )
    check_signal(TOKEN_OVERFLOW, run, "w...n")


def test_the_least_recent_actor_is_forgotten() -> None:
    actors = [f"actor {number}" for number in range(ACTORS_MAX + 1)]
    state = TokenOverflowState()
    for sequence, actor in enumerate(actors, start=1):
        usage = Usage(context_tokens=10, context_window=100)
        turn = Turn(sequence=sequence, actor=actor, usage=usage)
        state, _ = TOKEN_OVERFLOW.step(state, turn, TOKEN_OVERFLOW.defaults)
    assert len(state.contexts) == ACTORS_MAX
    assert len({context.actor for context in state.contexts}) == ACTORS_MAX


def test_a_warning_outweighs_a_notice_and_a_break_both() -> None:
    run = turns(input_tokens=[85, 10, 5], context_tokens=[96] * 3, context_window=[100] * 3)
    readings = check_signal(TOKEN_OVERFLOW, run, "wwb", limits=Limits(input_tokens_max=100))
    assert "context window" in readings[1].summary
    assert "input tokens" in readings[2].summary


def test_the_worse_of_tokens_and_cost_is_read() -> None:
    run = turns(input_tokens=[85], cost_usd=[1.0])
    limits = Limits(input_tokens_max=100, cost_usd_max=1.0)
    assert "dollars" in check_signal(TOKEN_OVERFLOW, run, "b", limits=limits)[0].summary


def test_of_two_that_are_equally_bad_tokens_are_read() -> None:
    run = turns(input_tokens=[100], cost_usd=[1.0])
    limits = Limits(input_tokens_max=100, cost_usd_max=1.0)
    assert "tokens" in check_signal(TOKEN_OVERFLOW, run, "b", limits=limits)[0].summary


def test_the_row_is_named_from_its_own_start() -> None:
    run = turns(context_tokens=[95, 90, 95, None, 95], context_window=[100] * 5)
    readings = fold(TOKEN_OVERFLOW, run, TokenOverflowThresholds())
    assert readings[2].summary.endswith("in turn 3")
    assert readings[4].summary.endswith("in 2 turns in a row (3 to 5)")


def test_the_summaries_name_numbers_and_turns() -> None:
    run = turns(context_tokens=[1_920] * 5, context_window=[2_000] * 5, cost_usd=[0.25] * 5)
    readings = fold(TOKEN_OVERFLOW, run, TokenOverflowThresholds())
    assert readings[0].summary == (
        "the context window was 96 % full (1,920 of 2,000 tokens) in turn 1"
    )
    assert readings[4].summary.endswith("in 5 turns in a row (1 to 5)")
    readings = fold(TOKEN_OVERFLOW, run, TokenOverflowThresholds(cost_usd_max=1.0))
    assert readings[3].summary == "the run has used 1 of its 1 US dollars by turn 4"
    readings = fold(
        TOKEN_OVERFLOW,
        turns(input_tokens=[96_000]),
        TokenOverflowThresholds(input_tokens_max=120_000),
    )
    assert readings[0].summary == "the run has used 96,000 of its 120,000 input tokens by turn 1"


@pytest.mark.parametrize(
    "wrong", [{"window_warning_ratio": 95}, {"window_break_turns": 0}, {"budget_warning_ratio": 0}]
)
def test_thresholds_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        TokenOverflowThresholds(**wrong)
