"""Sessions as the store has them."""

from collections.abc import Sequence

from sidecar.core.directive import Decision
from sidecar.core.opening import is_answer
from sidecar.policies import Policies
from sidecar.ports import Journal, SnapshotStore
from sidecar.sessions.answered import CONTENT_BYTES
from sidecar.sessions.restoring import Unusable, restore
from sidecar.sessions.session import Session


class Archive:
    """Reads sessions back. Any thread may ask, and is kept waiting where the store waits."""

    def __init__(
        self,
        *,
        policies: Policies,
        journal: Journal,
        snapshots: SnapshotStore,
        decisions_kept_max: int,
    ) -> None:
        self._policies = policies
        self._journal = journal
        self._snapshots = snapshots
        self._decisions_kept_max = decisions_kept_max

    def recent(self, limit: int, *, since_s: float) -> Sequence[str]:
        """Ids of the latest active sessions, the latest first: those active since then, in seconds
        since the epoch, and those that were never closed."""
        return [
            kept.session_id
            for kept in self._snapshots.recent(limit)
            if not kept.closed or kept.active_s >= since_s
        ]

    def session(self, session_id: str) -> Session | Unusable | None:
        """The session as it was left, or why it cannot come back; None where it is not known."""
        return restore(
            session_id,
            policies=self._policies,
            journal=self._journal,
            snapshots=self._snapshots,
            decisions_kept_max=self._decisions_kept_max,
        )

    def answers(self, session_id: str) -> Sequence[tuple[bytes, Decision]]:
        """Content and answer of the session's latest turns, in their order: those that it is to
        keep, and at least as many entries more for commands that stand between them."""
        answers: list[tuple[bytes, Decision]] = []
        for entry in self._journal.read(session_id, last=2 * self._decisions_kept_max):
            if entry.decision is None:
                continue
            if len(entry.content) == CONTENT_BYTES:
                answers.append((entry.content, entry.decision))
            elif answers and is_answer(entry.event):
                answers[-1] = (answers[-1][0], entry.decision)
        return answers
