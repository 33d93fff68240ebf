"""What was answered to the latest turns, so that a turn sent twice gets the same decision again."""

from collections.abc import Iterable

from sidecar.core.breaker import State
from sidecar.core.directive import Cause, Decision, decision_id
from sidecar.core.value import replace

CONTENT_BYTES = 8
_STATES = tuple(State)
_STATE_INDEX = {state: index for index, state in enumerate(_STATES)}


class Answered:
    """A ring over the last turns of one session.

    Nearly every decision is a plain proceed, which is rebuilt from two states; only the others are
    kept. So 256 turns cost 10 bytes each instead of a kilobyte. What no agent is told, the readings
    below every threshold, is the journal's to keep.
    """

    __slots__ = (
        "_contents",
        "_last",
        "_others",
        "_revision",
        "_session_id",
        "_states",
        "kept_max",
    )

    def __init__(self, kept_max: int, *, session_id: str, revision: str) -> None:
        """Empty; `revision` is that of the session's policy."""
        self.kept_max = kept_max
        self._session_id = session_id
        self._revision = revision
        self._last = 0
        self._contents = bytearray()
        self._states = bytearray()
        self._others: dict[int, Decision] = {}

    def remember(self, content: bytes, decision: Decision) -> None:
        """Keep the answer to the next turn. A gap in the sequence forgets what was before it."""
        sequence = decision.sequence
        if sequence != self._last + 1:
            self._contents.clear()
            self._states.clear()
            self._others.clear()
        self._last = sequence
        self._contents += content
        self._states.append(
            _STATE_INDEX[decision.state_before] * len(_STATES) + _STATE_INDEX[decision.state]
        )
        if not decision.is_plain or decision.policy_revision != self._revision:
            self._others[sequence] = replace(decision, below=())
        if len(self._states) > self.kept_max:
            del self._contents[:CONTENT_BYTES]
            del self._states[:1]
            self._others.pop(sequence - self.kept_max, None)

    def put_right(self, decision: Decision) -> None:
        """Keep this decision as the answer to its turn, in place of one that was not sent."""
        if 0 <= decision.sequence - self._first < len(self._states):
            self._others[decision.sequence] = replace(decision, below=())

    def find(self, sequence: int) -> tuple[bytes, Decision] | None:
        """The content and the decision of a turn; None when it is kept no more."""
        at = sequence - self._first
        if not 0 <= at < len(self._states):
            return None
        content = bytes(self._contents[at * CONTENT_BYTES : (at + 1) * CONTENT_BYTES])
        before, after = divmod(self._states[at], len(_STATES))
        return content, self._others.get(sequence) or Decision(
            decision_id=decision_id(self._session_id, sequence, Cause.TURN, self._revision),
            sequence=sequence,
            cause=Cause.TURN,
            state=_STATES[after],
            state_before=_STATES[before],
            policy_revision=self._revision,
        )

    def preceded_by(self, earlier: Iterable[tuple[bytes, Decision]]) -> "Answered":
        """These answers after earlier ones, given in the order of their turns."""
        joined = Answered(self.kept_max, session_id=self._session_id, revision=self._revision)
        for content, decision in earlier:
            if not self._states or decision.sequence < self._first:
                joined.remember(content, decision)
        for sequence in range(self._first, self._last + 1):
            found = self.find(sequence)
            if found is not None:
                joined.remember(*found)
        return joined

    @property
    def _first(self) -> int:
        return self._last - len(self._states) + 1
