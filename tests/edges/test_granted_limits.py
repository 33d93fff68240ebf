"""The limits that a run is given: out of what it asks for, its policy and the operator's."""

from dataclasses import replace

import pytest

from sidecar.config.changes import asked
from sidecar.core.limits import Limits
from sidecar.core.opening import Continue, Opening
from sidecar.core.policy import Policy
from sidecar.core.run import Run
from sidecar.core.turn import Turn, Usage
from sidecar.policies import Policies
from sidecar.presets import DEFAULT
from sidecar.sessions.beginning import begun

BUDGETED = asked(
    DEFAULT,
    ("max_turns.turns_max=3", "token_overflow.cost_usd_max=0.5", "max_turns.warning_ratio=off"),
    where="test",
)


def run_of(own: Limits, ceiling: Limits) -> Run:
    policies = Policies(by_name={"default": BUDGETED}, ceiling=ceiling)
    return begun(Opening(session_id="s", limits=own), policies)[1]


@pytest.mark.parametrize(
    ("own", "ceiling", "given"),
    [
        pytest.param(None, None, 3, id="the policy's"),
        pytest.param(None, 40, 3, id="a ceiling raises none"),
        pytest.param(None, 2, 2, id="a ceiling lowers it"),
        pytest.param(10, None, 10, id="the agent's own"),
        pytest.param(10, 5, 5, id="the agent's own below the ceiling"),
    ],
)
def test_what_a_policy_s_thresholds_allow_is_the_limit_of_a_run_that_asks_for_none(
    own: int | None, ceiling: int | None, given: int
) -> None:
    run = run_of(Limits(max_turns=own), Limits(max_turns=ceiling))
    directives = []
    for sequence in range(1, given + 1):
        run, decision = run.advance(Turn(sequence=sequence))
        directives.append(decision.signal)

    assert run.state.limits.max_turns == given
    assert directives == [""] * (given - 1) + ["max_turns"]


def test_a_ceiling_on_cost_raises_none_that_a_threshold_sets() -> None:
    run = run_of(Limits(), Limits(cost_usd_max=9.0))
    _, decision = run.advance(Turn(sequence=1, usage=Usage(cost_usd=0.6)))

    assert run.state.limits.cost_usd_max == 0.5
    assert decision.signal == "token_overflow"


def test_an_operator_can_extend_what_a_threshold_sets() -> None:
    run = run_of(Limits(), Limits())
    run, _ = run.obey(Continue(extra_turns=2), 1)
    for sequence in range(1, 6):
        run, decision = run.advance(Turn(sequence=sequence))
        assert decision.signal == ("max_turns" if sequence == 5 else "")


def turns_of_successor(
    before: Policy,
    after: Policy,
    *,
    asked_before: int | None = None,
    asked_after: int | None = None,
    ceilings: tuple[int | None, int | None] = (None, None),
    extra: int = 0,
) -> int | None:
    """The turns that a run gets which goes on from one under another policy."""
    first, second = (
        Policies(by_name={"default": policy}, ceiling=Limits(max_turns=ceiling))
        for policy, ceiling in zip((before, after), ceilings, strict=True)
    )
    own = Limits(max_turns=asked_before)
    _, previous = begun(Opening(session_id="before", limits=own), first)
    previous, _ = previous.obey(Continue(extra_turns=extra), 1)
    opening = Opening(
        session_id="s", previous_session_id="before", limits=Limits(max_turns=asked_after)
    )
    return begun(opening, second, previous)[1].state.limits.max_turns


SMALL = replace(DEFAULT, limits=Limits(max_turns=5), revision="")


def test_a_successor_has_the_limits_of_its_own_policy_and_of_the_operator_now() -> None:
    assert turns_of_successor(DEFAULT, SMALL) == 5
    assert turns_of_successor(DEFAULT, SMALL, ceilings=(40, 40)) == 5
    assert turns_of_successor(SMALL, DEFAULT) is None
    assert turns_of_successor(DEFAULT, DEFAULT, ceilings=(100, 6)) == 6


def test_a_successor_has_asked_for_what_its_predecessor_did() -> None:
    assert turns_of_successor(DEFAULT, SMALL, asked_before=8) == 8
    assert turns_of_successor(DEFAULT, SMALL, asked_before=8, ceilings=(None, 6)) == 6
    assert turns_of_successor(DEFAULT, SMALL, asked_before=8, asked_after=7) == 7


def test_a_successor_has_what_operators_granted_its_predecessor_on_top() -> None:
    assert turns_of_successor(SMALL, SMALL, extra=10) == 15
    assert turns_of_successor(DEFAULT, SMALL, asked_before=8, extra=10) == 18
    assert turns_of_successor(DEFAULT, DEFAULT, ceilings=(50, 50), extra=10) == 60
    assert turns_of_successor(DEFAULT, SMALL, extra=10) == 5, "there was no limit to extend"
