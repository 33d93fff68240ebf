"""What a number may be, and when it is too much."""

from typing import Any

import pytest

from sidecar.core.bounds import (
    COST_MAX_USD,
    COUNT_MAX,
    budget_severity,
    counted_cost,
    is_count,
    occupancy,
    require_at_least,
    require_share,
)
from sidecar.core.reading import Severity
from sidecar.core.turn import Turn, Usage

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("value", [0, 1, COUNT_MAX])
def test_these_are_counts(value: int) -> None:
    assert is_count(value)


@pytest.mark.parametrize("value", [None, -1, COUNT_MAX + 1, NAN, INF, 10**400])
def test_these_are_none(value: Any) -> None:
    assert not is_count(value)


@pytest.mark.parametrize(
    ("cost_usd", "counted"),
    [(None, 0), (0.0, 0), (0.5, 0.5), (COST_MAX_USD, COST_MAX_USD), (1.1 * COST_MAX_USD, 0),
     (-1.0, 0), (NAN, 0), (INF, 0)],
)  # fmt: skip
def test_a_cost_counts_between_nothing_and_what_no_turn_costs(
    cost_usd: float | None, counted: float
) -> None:
    assert counted_cost(cost_usd) == counted


@pytest.mark.parametrize(
    ("tokens", "window", "share"),
    [
        (50, 100, 0.5),
        (0, 100, 0.0),
        (150, 100, 1.5),
        (None, 100, None),
        (50, None, None),
        (50, 0, None),
        (-1, 100, None),
        (50, -100, None),
        (NAN, 100, None),
        (10**400, 1, None),
        (1, 10**400, None),
    ],
)
def test_occupancy_is_known_where_both_are(tokens: Any, window: Any, share: float | None) -> None:
    usage = Usage(context_tokens=tokens, context_window=window)
    assert occupancy(Turn(sequence=1, usage=usage)) == share


@pytest.mark.parametrize(
    ("spent", "limit", "severity"),
    [
        (79, 100, Severity.NONE),
        (80, 100, Severity.WARNING),
        (28, 35, Severity.WARNING),
        (99, 100, Severity.WARNING),
        (100, 100, Severity.BREAK),
        (101, 100, Severity.BREAK),
        (10**9, None, Severity.NONE),
        (0, 0, Severity.BREAK),
        (-5, 100, Severity.NONE),
        (5, NAN, Severity.NONE),
        (5, INF, Severity.NONE),
    ],
)
def test_a_budget_warns_from_a_share_on_and_breaks_at_its_limit(
    spent: float, limit: float | None, severity: Severity
) -> None:
    assert budget_severity(spent, limit, 0.8) is severity


def test_a_budget_without_a_share_only_breaks() -> None:
    assert budget_severity(99, 100, None) is Severity.NONE
    assert budget_severity(100, 100, None) is Severity.BREAK


def test_none_is_never_and_passes() -> None:
    require_at_least(1, turns=None, others=1)
    require_share(ratio=None, other=1.0, third=0.001)


@pytest.mark.parametrize("value", [0, -1, NAN])
def test_a_threshold_below_its_least_is_named_with_what_would_be_right(value: float) -> None:
    with pytest.raises(ValueError, match=rf"^turns is {value}: it must be at least 1$"):
        require_at_least(1, turns=value)


@pytest.mark.parametrize("value", [0, -0.1, 1.001, 80, NAN])
def test_a_share_out_of_range_is_named_with_what_would_be_right(value: float) -> None:
    with pytest.raises(ValueError, match=rf"^ratio is {value}: it must be above 0 and at most 1$"):
        require_share(ratio=value)
