"""A run cannot cost more than was allowed."""

from pathlib import Path

import pytest

from sidecar.codeagent.agent import CodeAgent, Surroundings
from sidecar.codeagent.bounded_model import BoundedModel, purse_by_day
from sidecar.codeagent.result import StopReason
from sidecar.models.purse import Allowance, PurseBounds
from sidecar.testing.fake_model import FakeModel
from sidecar.testing.model_script import Say

pytestmark = pytest.mark.process

WIDE = Allowance(calls_max=1_000, tokens_max=1_000_000, cost_usd_max=100.0)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.mark.parametrize(
    "session",
    [
        Allowance(calls_max=3, tokens_max=1_000_000, cost_usd_max=100.0),
        Allowance(calls_max=1_000, tokens_max=45, cost_usd_max=100.0),
    ],
)
async def test_a_run_ends_where_its_allowance_does_and_tools_count(
    session: Allowance, tmp_path: Path
) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(PNG)
    inner = FakeModel(lambda _: Say(text="```python\nprint(describe_image('a.png'))\n```"))
    model = BoundedModel(inner, purse_by_day(PurseBounds(all=WIDE, session=session)))
    result = await CodeAgent(Surroundings(model=model)).run("?", files=[picture])
    assert len(inner.requests) == 3
    assert result.outcome.stop_reason is StopReason.ERROR
    assert "SESSION_MODEL" in result.outcome.error
    assert result.outcome.input_tokens == 30
    # What was refused here was never asked, so it is known what the run has cost.
    assert result.outcome.cost_usd is not None
