"""What a sidecar does about its store while it runs.

It tells how the store fares, lists what was kept of the sessions before the start once it can be
read, and has what is held saved again where the store lost it.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from sidecar.adapters.calls.recall import Recall
from sidecar.health import Health
from sidecar.ports import Clock, Recorder, Store
from sidecar.sessions.sessions import Sessions

logger = logging.getLogger(__name__)

SAVE_AGAIN_S: Final = 0.005
"""In one sweep, while agents wait."""


class StoreWatch:
    """The eye on one store, from start to stop."""

    def __init__(
        self,
        store: Store,
        *,
        sessions: Sessions,
        recall: Recall,
        health: Health,
        recorder: Recorder,
        clock: Clock,
        on_replaced: Callable[[], None],
    ) -> None:
        """`on_replaced` is called when the store has begun anew."""
        self._store = store
        self._sessions = sessions
        self._recall = recall
        self._component = health.component("store")
        self._recorder = recorder
        self._clock = clock
        self._on_replaced = on_replaced
        self._works = asyncio.Event()
        self._faults = 0
        self._replaced = 0
        self._unsaved = False
        """Whether some of what the store lost is still to be saved again."""

    def report(self) -> None:
        """Tell `health` how the store fares."""
        status = self._store.status()
        if status.faults != self._faults:
            # What was mended before anybody looked has happened all the same.
            self._faults = status.faults
            self._component.recoverable(status.last_fault)
        match status.state:
            case "ok":
                self._component.ok()
                self._works.set()
            case "recoverable" | "permanent":
                # The store tries on in both cases, so to the outside nothing here is permanent.
                self._component.recoverable(status.detail)

    def save_again(self) -> None:
        """Snapshot what is held once more where the store lost it, some of it in each sweep."""
        status = self._store.status()
        if status.replaced != self._replaced:
            self._replaced, self._unsaved = status.replaced, True
            self._sessions.nothing_is_saved()
            self._on_replaced()
        if self._unsaved:
            self._unsaved = self._sessions.save_all(SAVE_AGAIN_S) > 0

    async def bring_back(self) -> None:
        """List the sessions of before the start, once the store works. Never raises."""
        try:
            await self._works.wait()
            listed, left = await self._recall.bring_back(now_s=self._clock.now_s())
            if listed:
                logger.info("%d sessions of before the start are listed", listed)
            if left:
                logger.warning(
                    "%d sessions of before the start are not listed: their policy is not "
                    "configured any more, or another version of the sidecar has kept them",
                    left,
                )
        except Exception:
            # Agents that return are served all the same, each by a look of its own.
            logger.exception("sessions of before the start are not all listed")
            self._recorder.lost("listing", "fault")

    def closing(self) -> None:
        """Closed is what it shall be from here on, and no fault that a sweep reports."""
        self._component.stopping()
