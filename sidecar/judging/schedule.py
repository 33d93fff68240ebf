"""Which runs are judged, and when: beside their decisions, never on the path of one.

A run is judged every so many turns once it is long, or something is wrong with it, until it is told
to end. A verdict that came is a command of its session, journalled like any other, so that a replay
hears it at the same place. Nothing waits for it, and whatever goes wrong, the run goes on as if
nobody had been asked.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from sidecar.config.models import JudgeSettings
from sidecar.core.breaker import State
from sidecar.core.run_digest import TURNS_MAX, RunDigest, digest_of
from sidecar.core.run_state import RunState
from sidecar.core.texts import TurnTexts
from sidecar.core.turn import Turn
from sidecar.judging.judge import CITED_MIN, Judge
from sidecar.kept_texts import KeptTexts
from sidecar.ports import Journal, Recorder
from sidecar.refusal import Refusal
from sidecar.sessions.session import Session
from sidecar.sessions.sessions import Sessions
from sidecar.signals.circling import CIRCLING

logger = logging.getLogger(__name__)

AT_A_TIME: Final = 2
"""Runs judged at once. One whose turn it is not is judged after a later one of its own turns."""

ENTRIES_PER_TURN: Final = 2
"""Read of a journal for each turn that is to be shown: commands stand between them."""

FAILED: Final = "failed"
"""The model gave no verdict."""
BOUNDED: Final = "bounded"
"""The model was not asked: a bound was met."""
STALE: Final = "stale"
"""Something was done to the run meanwhile, or it is over."""


def is_due(state: RunState, asked_at: int, settings: JudgeSettings) -> bool:
    """Whether a run is to be judged; a judge was last asked after the turn `asked_at` (0: never),
    whether or not a verdict came of it."""
    if state.sequence - max(asked_at, state.judged_at) < settings.every_turns:
        return False
    is_troubled = bool(state.episodes) or state.breaker.state is not State.HEALTHY
    return is_troubled or state.sequence >= settings.from_turn


class Judging:
    """Has runs judged whose policies watch for it."""

    def __init__(
        self,
        sessions: Sessions,
        judge: Judge,
        *,
        settings: JudgeSettings,
        journal: Journal,
        texts: KeptTexts,
        timeout_s: float,
        recorder: Recorder,
    ) -> None:
        """Judge these sessions from now on; `journal` is where their turns are read."""
        self._sessions = sessions
        self._judge = judge
        self._settings = settings
        self._journal = journal
        self._texts = texts
        self._timeout_s = timeout_s
        self._recorder = recorder
        self._asked_at: OrderedDict[str, int] = OrderedDict()
        """Sequence after which a judge was last asked; of as many sessions as are held."""
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._unwatch = sessions.watch(self._on_change)

    async def settled(self) -> None:
        """Wait for the verdicts under way."""
        await asyncio.gather(*self._under_way.values())

    async def close(self) -> None:
        """Ask no more, and give up what is under way."""
        self._unwatch()
        tasks = tuple(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_change(self, session: Session) -> None:
        """Called on every change of a session, between a turn and its answer: so it only looks."""
        if session.closing is not None:
            self._asked_at.pop(session.id, None)
            return
        asked_at = self._asked_at.get(session.id, 0)
        if not is_due(session.run.state, asked_at, self._settings) or not _listens(session):
            return
        if session.ended_by:
            # Nothing more would come of a verdict, and an answer has still to be paid for.
            return
        if session.id in self._under_way or len(self._under_way) >= AT_A_TIME:
            return
        self._asked_at[session.id] = session.last_sequence
        self._asked_at.move_to_end(session.id)
        while len(self._asked_at) > self._sessions.bounds.sessions_max:
            self._asked_at.popitem(last=False)
        self._under_way[session.id] = asyncio.create_task(
            self._judged(session, _not_turns(session))
        )

    async def _judged(self, session: Session, others: int) -> None:
        try:
            self._recorder.judged(await self._outcome(session, others))
        except Exception:
            # Nobody waits for this task, so nobody else would say it.
            logger.exception("a run could not be judged")
            self._recorder.lost("verdict", "fault")
        finally:
            del self._under_way[session.id]

    async def _outcome(self, session: Session, others: int) -> str:
        """Ask, and have the run hear the verdict if nothing but turns came meanwhile; what came of
        it, for the metrics."""
        texts = self._texts.by_sequence(session.id)
        digest = await asyncio.to_thread(self._digest, session.id, texts)
        if len(digest.turns) < CITED_MIN:
            return FAILED  # the journal has lost them
        try:
            judgement = await self._judge.judge(
                digest, session_id=session.id, timeout_s=self._timeout_s
            )
        except Refusal:
            return BOUNDED
        if judgement.verdict is None:
            return FAILED
        if not self._sessions.in_memory(session.id):
            return STALE
        # Perhaps it was let go and came back meanwhile.
        session = self._sessions.get(session.id)
        if _not_turns(session) != others:
            # Over, continued or reset: what was judged is not what goes on.
            return STALE
        self._sessions.command(session, judgement.verdict)
        return judgement.verdict.finding.value

    def _digest(self, session_id: str, texts: Mapping[int, TurnTexts]) -> RunDigest:
        entries = self._journal.read(session_id, last=ENTRIES_PER_TURN * TURNS_MAX)
        turns = [entry.event for entry in entries if isinstance(entry.event, Turn)]
        return digest_of(turns, texts)


def _listens(session: Session) -> bool:
    return any(watch.signal is CIRCLING for watch in session.facts.policy.watches)


def _not_turns(session: Session) -> int:
    """What was done to a session, its turns apart: it grows with every command, and with the
    goodbye."""
    return session.entries - session.last_sequence
