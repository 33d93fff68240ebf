"""This package's two clients behind one face, for the driver."""

import asyncio
import gc
import threading
from collections.abc import Coroutine
from contextlib import suppress
from time import monotonic
from typing import Any, Final, TypeAlias, TypeVar

from sidecar.client import AsyncClient, Client, Directive

T = TypeVar("T")

# What is told to end does so in milliseconds, on a core of its own.
_ENDS_WITHIN_S: Final = 5.0


class Blocking:
    """`Client`, as agents that block use it."""

    def __init__(self, address: str, options: dict[str, Any]) -> None:
        self._before = set(threading.enumerate())
        self._client: Client | None = Client(address, **options)

    def turn(self, report: dict[str, Any]) -> Directive:
        """Reports a turn."""
        return self._used.turn(**report)

    def wait_for_operator(self) -> Directive:
        """Waits for a person."""
        return self._used.wait_for_operator()

    def close(self, goodbye: dict[str, Any]) -> bool:
        """Says goodbye; whether it was heard."""
        return self._used.close(**goodbye)

    def give_ups(self) -> dict[str, int]:
        """Counts by reason."""
        return self._used.give_ups

    def let_go(self) -> int:
        """Drops the client, which the garbage collector then ends; how many of its threads are
        left."""
        self._client = None
        gc.collect()
        deadline_s = monotonic() + _ENDS_WITHIN_S
        while left := set(threading.enumerate()) - self._before:
            left_s = deadline_s - monotonic()
            if left_s <= 0:
                break
            # One that is about to start is listed, and cannot be waited for yet.
            with suppress(RuntimeError):
                left.pop().join(left_s)
        return len(left)

    @property
    def _used(self) -> Client:
        if self._client is None:
            raise LookupError("the client was let go")
        return self._client


class OnLoop:
    """`AsyncClient`, on an event loop in a thread of its own."""

    def __init__(self, address: str, options: dict[str, Any]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._client = self._wait(_entered(address, options))

    def turn(self, report: dict[str, Any]) -> Directive:
        """Reports a turn."""
        return self._wait(self._client.turn(**report))

    def wait_for_operator(self) -> Directive:
        """Waits for a person."""
        return self._wait(self._client.wait_for_operator())

    def close(self, goodbye: dict[str, Any]) -> bool:
        """Says goodbye; whether it was heard."""
        return self._wait(self._client.close(**goodbye))

    def give_ups(self) -> dict[str, int]:
        """Counts by reason."""
        return self._client.give_ups

    def let_go(self) -> int:
        """Drops the client, its tasks cancelled as at the end of a program; how many are left."""
        left = self._wait(_end_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_ENDS_WITHIN_S)
        self._loop.close()
        # A call that was cancelled is part of a cycle, and holds its connection until it is found.
        del self._client
        gc.collect()
        return left

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


DrivenClient: TypeAlias = Blocking | OnLoop
"""What the driver drives."""


async def _entered(address: str, options: dict[str, Any]) -> AsyncClient:
    return await AsyncClient(address, **options).__aenter__()


async def _end_tasks() -> int:
    others = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
    # grpc.aio's own tasks end with the channel, which the client's task closes.
    for task in others:
        if task.get_name().startswith("sidecar-client"):
            task.cancel()
    return len((await asyncio.wait(others, timeout=_ENDS_WITHIN_S))[1]) if others else 0
