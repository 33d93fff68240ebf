"""The client for agents on an event loop."""

from __future__ import annotations

import logging
import os
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from sidecar.client.directive import Directive, Reason
from sidecar.client.give_ups import GiveUps
from sidecar.client.interruption import is_from_signal
from sidecar.client.report import ClientOptions, RunOutcome, TurnReport
from sidecar.client.saying import say
from sidecar.client.synchronous import drop_in, outcome_of
from sidecar.client.unnoticed import unnoticed

if TYPE_CHECKING:
    from sidecar.client.tasks import TaskLink


class AsyncClient:
    """As `Client`, with coroutines. Connects from the first report on, or from `async with`.

    A coroutine that is cancelled raises CancelledError as usual; what answers its turn is handed
    over with the next report. For one event loop at a time, and not for several threads.
    """

    def __init__(self, /, address: str | None = None, **options: Unpack[ClientOptions]) -> None:
        """As for `Client`."""
        self._give_ups = GiveUps()
        self._process = os.getpid()
        self._task_link: TaskLink | None = None
        try:
            # Not before: an import that fails must not be the agent's failure.
            from sidecar.client.tasks import TaskLink

            self._task_link = TaskLink(address, options, self._give_ups)
            # Not at exit: no loop runs any more.
            finalizer = weakref.finalize(self, drop_in, self._process, self._task_link)
            finalizer.atexit = False
        except Exception as error:  # the agent must not notice
            if is_from_signal(error):
                raise
            say(logging.WARNING, "cannot watch this run", error=error)

    @property
    def _link(self) -> TaskLink | None:
        # Tasks do not live on in the child of a fork, and grpc's objects are of no use there.
        return self._task_link if os.getpid() == self._process else None

    def __repr__(self) -> str:
        return f"AsyncClient({self._task_link!r}, give_ups={self.give_ups})"

    async def turn(self, /, **report: Unpack[TurnReport]) -> Directive:
        """Reports the turn that has just ended; returns what to do now."""
        with unnoticed(self._give_ups, "a turn was not reported"):
            if (link := self._link) is not None:
                return await link.turn(report)
            self._give_ups.count(Reason.INTERNAL)
        return Directive(fail_open_reason=Reason.INTERNAL)

    async def wait_for_operator(self) -> Directive:
        """As `Client.wait_for_operator`."""
        with unnoticed(self._give_ups, "a person was not waited for"):
            if (link := self._link) is not None:
                return await link.wait_for_operator()
        return Directive()

    async def wait_until_settled(self, timeout_s: float) -> bool:
        """As `Client.wait_until_settled`."""
        with unnoticed(self._give_ups, "nothing was waited for"):
            if (link := self._link) is not None:
                return await link.wait_until_settled(timeout_s)
        return False

    async def close(
        self,
        *,
        outcome: RunOutcome | None = None,
        final_answer: str = "",
        timeout_s: float | None = None,
    ) -> bool:
        """As `Client.close`; no task is left behind."""
        with unnoticed(self._give_ups, "the session was not closed"):
            if (link := self._link) is not None:
                return await link.close(outcome, final_answer, timeout_s)
        return False

    @property
    def give_ups(self) -> dict[str, int]:
        """As `Client.give_ups`."""
        return self._give_ups.by_reason()

    @property
    def session_id(self) -> str:
        """As `Client.session_id`."""
        return "" if self._task_link is None else self._task_link.session_id

    async def __aenter__(self) -> Self:
        with unnoticed(self._give_ups, "connecting was put off"):
            if (link := self._link) is not None:
                link.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close(outcome=outcome_of(error))
