"""What a forced commit adds to the time that the model takes."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Any

from sidecar.adapters.anthropic_model import AnthropicModel, AnthropicSettings
from sidecar.commit import ForceCommit
from sidecar.core.answers.answer import Source
from sidecar.ports import ModelRequest, Purpose
from sidecar.testing import FakeAnthropicServer, Say

ROUNDS = 30
TURNS = 500
TIMEOUT_S = 20.0
RESULT = "a.py: 7: return None\n" * 90

HISTORY: list[dict[str, Any]] = [{"role": "user", "content": "Where is it?"}]
for _turn in range(TURNS):
    _call = {"type": "tool_use", "id": f"t{_turn}", "name": "Grep", "input": {"pattern": "None"}}
    _result = {"type": "tool_result", "tool_use_id": f"t{_turn}", "content": RESULT}
    HISTORY += [{"role": "assistant", "content": [_call]}, {"role": "user", "content": [_result]}]


def forced_commit_cost() -> float:
    """Milliseconds that a forced commit over a history of a megabyte adds to a bare call of the
    same model over loopback, both in turn; the medians compared."""
    return asyncio.run(_cost())


async def _cost() -> float:
    with FakeAnthropicServer(lambda _: Say(text="FINAL_ANSWER: a.py")) as server:
        settings = AnthropicSettings(base_url=server.base_url, api_key=server.key)
        model = AnthropicModel(settings)
        force_commit = ForceCommit(model)

        async def commit() -> None:
            committed = await force_commit.commit(HISTORY, timeout_s=TIMEOUT_S)
            assert committed.source is Source.MODEL

        await commit()
        sent = server.requests[-1]
        request = ModelRequest(
            messages=sent["messages"],
            output_tokens_max=sent["max_tokens"],
            timeout_s=TIMEOUT_S,
            purpose=Purpose.COMMIT,
        )
        bare, whole = [], []
        for _ in range(ROUNDS):
            bare.append(await _timed(lambda: model.ask(request)))
            whole.append(await _timed(commit))
        await model.close()
        return 1e3 * (median(whole) - median(bare))


async def _timed(call: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await call()
    return time.perf_counter() - began
