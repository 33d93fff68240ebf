"""Turns that are under way at the same time take their stages side by side.

A turn is received, read, decided on and answered. Four turns taken through that one after the other
bring the code of each stage to the processor's caches four times; stage by stage, once. With 64
agents that is a third of what a turn costs (docs/performance.md).
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Cohort:
    """The turns under way: each, by `with`, from when it is received until it is answered."""

    def __init__(self) -> None:
        """With nobody in it."""
        self._size = 0
        self._lagging = 0

    def __enter__(self) -> None:
        """One more turn is under way."""
        self._size += 1

    def __exit__(self, *_: object) -> None:
        """A turn is answered, or never will be."""
        self._size -= 1

    async def abreast(self) -> None:
        """Let the others take their stage first. Who is alone goes on at once: a round of the event
        loop, three times a turn, would add a quarter of a millisecond to its answer. And so do all
        while somebody lags, who makes each round a long one."""
        if self._size > 1 and not self._lagging:
            await asyncio.sleep(0)

    @contextmanager
    def lagging(self) -> Iterator[None]:
        """A turn takes many rounds of the event loop for a stage; nobody waits for it."""
        self._lagging += 1
        try:
            yield
        finally:
            self._lagging -= 1
