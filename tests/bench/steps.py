"""What a step in the reference agent's interpreter costs, once that is running."""

import asyncio
import time
from statistics import median

from tests.codeagent.containment import made

ROUNDS = 300


def warm_step_cost() -> tuple[float, str]:
    """Milliseconds of a step that does next to nothing, the median of many; and how the
    interpreter is contained."""
    return asyncio.run(_cost())


async def _cost() -> tuple[float, str]:
    async with made() as interpreter:
        await interpreter.step("x = 0")
        taken = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            await interpreter.step("x += 1")
            taken.append(time.perf_counter() - began)
        return 1e3 * median(taken), interpreter.way
