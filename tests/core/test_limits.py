"""What is left of a run's limits."""

import pytest

from sidecar.core.limits import Limits
from sidecar.core.story import Totals


@pytest.mark.parametrize(
    ("why", "limits", "left"),
    [
        ("without limits nothing can be left", Limits(), None),
        ("a limit of time is not in the totals", Limits(duration_max_s=60), None),
        ("turns", Limits(max_turns=8), 0.5),
        ("input tokens", Limits(input_tokens_max=1_000), 0.75),
        ("cost", Limits(cost_usd_max=2.0), 0.875),
        ("the limit nearest to its end counts", Limits(max_turns=8, cost_usd_max=2.0), 0.5),
        ("a limit that was passed has nothing left", Limits(max_turns=3), 0.0),
    ],
)
def test_left(why: str, limits: Limits, left: float | None) -> None:
    totals = Totals(turns=4, input_tokens=250, cost_usd=0.25)
    assert limits.left(totals) == left, why
