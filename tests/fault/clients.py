"""Both clients behind one face, so that every fault is tried on both."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from sidecar.client import AsyncClient, Client, Directive
from tests.fault.servers import PATIENCE_S

T = TypeVar("T")


class Run(Protocol):
    """A client, as an agent that blocks sees it."""

    def turn(self, **report: Any) -> Directive: ...

    def wait_for_operator(self) -> Directive: ...

    def wait_until_settled(self, timeout_s: float) -> bool: ...

    def close(self, **goodbye: Any) -> bool: ...

    @property
    def give_ups(self) -> dict[str, int]: ...

    @property
    def session_id(self) -> str: ...


class LoopThread:
    """An event loop of its own, on which an asynchronous client lives."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="agent's loop")
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(3 * PATIENCE_S)

    def stop(self) -> None:
        left = self.run(self._left())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()
        assert not left, left

    async def _left(self) -> set[asyncio.Task[Any]]:
        others = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
        assert not {task for task in others if task.get_name().startswith("sidecar")}, others
        # grpc.aio needs a moment for its own.
        return (await asyncio.wait(others, timeout=PATIENCE_S))[1] if others else set()


class AsyncRun:
    """An AsyncClient on a loop of its own."""

    def __init__(self, address: str, **options: Any) -> None:
        self._loop = LoopThread()
        self._client = self._loop.run(_made(address, options))
        self._is_closed = False

    def turn(self, **report: Any) -> Directive:
        return self._loop.run(self._client.turn(**report))

    def wait_for_operator(self) -> Directive:
        return self._loop.run(self._client.wait_for_operator())

    def wait_until_settled(self, timeout_s: float) -> bool:
        return self._loop.run(self._client.wait_until_settled(timeout_s))

    def close(self, **goodbye: Any) -> bool:
        """Closes the client and its loop; a task that is left behind is an AssertionError."""
        if self._is_closed:
            return False
        self._is_closed = True
        heard = self._loop.run(self._client.close(**goodbye))
        self._loop.stop()
        return heard

    @property
    def give_ups(self) -> dict[str, int]:
        return self._client.give_ups

    @property
    def session_id(self) -> str:
        return self._client.session_id


async def _made(address: str, options: dict[str, Any]) -> AsyncClient:
    return await AsyncClient(address, **options).__aenter__()


FLAVOURS = {"blocking": Client, "asynchronous": AsyncRun}
